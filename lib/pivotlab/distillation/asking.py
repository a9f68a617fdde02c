"""Who answers a teacher's questions: a chat endpoint, or the student itself.

Both are an `Ask`: text in, text out. A call that fails raises `OSError` or
`ValueError`, which a `PromptedTeacher` counts and skips; an endpoint that cannot be
used at all raises `EndpointError`, because training on without it would teach nothing.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Mapping
from typing import Any

import httpx
from transformers import PreTrainedModel

from pivotlab.engines.endpoint_client import EndpointClient, Unreachable, chat_text
from pivotlab.engines.local import LocalSampler
from pivotlab.engines.noise import derive_seed
from pivotlab.engines.protocol import Sampling
from pivotlab.records import Message
from pivotlab.rendering import Renderer


class EndpointAsk(EndpointClient):
    """Asks `{base_url}/chat/completions` of an OpenAI-compatible server.

    Safe to call from several threads.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        request: Mapping[str, Any] | None = None,
        **client: Any,
    ):
        """
        Args:
            base_url: up to and including the version, e.g. "http://localhost:8000/v1".
            model: name under which the server serves it.
            request: further fields of every request, e.g. `{"temperature": 0.6}`.
            client: key, tries and waits, as for `EndpointClient`.
        """
        super().__init__(base_url, model, **client)
        self._request = dict(request or {})
        self._answered = threading.Event()

    def __call__(self, question: str) -> str:
        """The answer's text.

        Raises:
            EndpointError: the server refuses the model or the key, or has never been
                reached at all.
            ConnectionError: it answered before and does not now, in time or at all.
            ValueError: the answer is not a chat completion with text.
        """
        messages = [{"role": "user", "content": question}]
        try:
            answer = self.post(
                "chat/completions", {"messages": messages, **self._request}
            )
        except Unreachable as error:
            if self._answered.is_set():
                raise ConnectionError(str(error)) from None
            raise
        except httpx.HTTPStatusError as error:
            status = error.response.status_code
            raise ConnectionError(f"{self.base_url} answered {status}") from None
        except httpx.HTTPError as error:
            raise ConnectionError(f"{type(error).__name__}: {error}") from None
        self._answered.set()
        return chat_text(answer)


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
