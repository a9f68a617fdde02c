"""Who answers a teacher's questions: a chat endpoint, or the student itself.

Both are an `Ask`: text in, text out. A call that fails raises `OSError` or
`ValueError`, which a `PromptedTeacher` counts and skips; an endpoint that cannot be
used at all raises `EndpointError`, because training on without it would teach nothing.
"""

from __future__ import annotations

import itertools
import threading
from typing import Any

import httpx
from tenacity import Retrying, retry_if_exception, stop_after_attempt
from tenacity import wait_exponential as wait
from transformers import PreTrainedModel

from pivotlab.engines.endpoint import EndpointError, may_pass_later
from pivotlab.engines.local import LocalSampler
from pivotlab.engines.noise import derive_seed
from pivotlab.engines.protocol import Sampling
from pivotlab.records import Message
from pivotlab.rendering import Renderer


class EndpointAsk:
    """Asks `{base_url}/chat/completions` of an OpenAI-compatible server.

    Safe to call from several threads.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        api_key: str = "none",
        attempts: int = 4,
        timeout: float = 600.0,
        first_wait: float = 0.5,
        **options: Any,
    ):
        """
        Args:
            base_url: up to and including the version, e.g. "http://localhost:8000/v1".
            model: name under which the server serves it.
            api_key: sent as a bearer token.
            attempts: tries of one question.
            timeout: seconds one try may take.
            first_wait: seconds before the second try; doubles after every try.
            options: further fields of the request, e.g. `temperature=0.6`.
        """
        self.base_url, self.model = base_url.rstrip("/"), model
        self._options = options
        self._answered = threading.Event()
        self._client = httpx.Client(
            timeout=timeout, headers={"Authorization": f"Bearer {api_key}"}
        )
        self._retrying = Retrying(
            retry=retry_if_exception(may_pass_later),
            stop=stop_after_attempt(attempts),
            wait=wait(multiplier=first_wait, max=30.0),
            reraise=True,
        )

    def __call__(self, question: str) -> str:
        """The answer's text.

        Raises:
            EndpointError: the server refuses the model or the key, or has never been
                reached at all.
            ConnectionError: it answered before and does not now, in time or at all.
            ValueError: the answer is not a chat completion with text.
        """
        try:
            answer = self._retrying(self._post, question)
        except httpx.HTTPStatusError as error:
            status = error.response.status_code
            if status in (401, 403, 404):
                raise EndpointError(
                    f"{self.base_url} answered {status} for model {self.model!r}: "
                    f"{error.response.text[:200]}; check the served model name and key"
                ) from None
            raise ConnectionError(f"{self.base_url} answered {status}") from None
        except httpx.ConnectError as error:
            if self._answered.is_set():
                raise ConnectionError(str(error)) from None
            raise EndpointError(
                f"no server answers at {self.base_url} ({error}); start one, e.g. "
                f"`vllm serve {self.model}`, or correct the address"
            ) from None
        except httpx.HTTPError as error:
            raise ConnectionError(f"{type(error).__name__}: {error}") from None
        self._answered.set()
        return _text(answer)

    def _post(self, question: str) -> Any:
        body = {
            "model": self.model,
            "messages": [{"role": "user", "content": question}],
            **self._options,
        }
        response = self._client.post(f"{self.base_url}/chat/completions", json=body)
        response.raise_for_status()
        return response.json()


def _text(answer: Any) -> str:
    try:
        content = answer["choices"][0]["message"]["content"]
    except (KeyError, IndexError, TypeError):
        raise ValueError("the answer holds no choices[0].message.content") from None
    if not isinstance(content, str):
        raise ValueError(f"the answer's content is {type(content).__name__}, not text")
    return content


class StudentAsk:
    """The student answers as its own teacher (M = student), with its live weights."""

    def __init__(
        self,
        model: PreTrainedModel,
        renderer: Renderer,
        sampling: Sampling,
        seed: int = 0,
    ):
        """
        Args:
            model: the policy being trained.
            renderer: of its tokenizer.
            sampling: of the answers; the end of turn is added to its stop ids.
            seed: question number i of a run draws its noise from (seed, i).
        """
        self._sampler, self._renderer = LocalSampler(model), renderer
        stops = (*sampling.stop_ids, renderer.end_of_turn)
        self._sampling = Sampling(sampling.max_new_tokens, sampling.temperature, stops)
        self._seed, self._number = seed, itertools.count()

    def __call__(self, question: str) -> str:
        """The answer's text; cut off where it does not end in time."""
        prompt = self._renderer.prompt_ids([Message("user", question)])
        seed = derive_seed(self._seed, next(self._number))
        ((sample,),) = self._sampler.sample([prompt], 1, self._sampling, [seed])
        return self._renderer.action(sample.token_ids).content
