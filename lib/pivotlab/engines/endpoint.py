"""Sampling through an OpenAI-compatible completions endpoint, token ids in and out.

Works with `vllm serve`, `transformers serve` and others that take token-id prompts.
Where a server does not return token ids, the returned text is encoded with the given
tokenizer, which can differ from the sampled ids; the report counts such samples.

Departures from `protocol.Sampler`: a server draws its own noise, so samples repeat for
a seed only as far as the server keeps that promise, and may depend on its batching.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol, runtime_checkable

import httpx
from tenacity import Retrying, retry_if_exception, stop_after_attempt
from tenacity import wait_exponential as wait

from pivotlab.engines.protocol import Sample, Sampling

#: Answers that a later try may change: throttled, or the server is not ready.
RETRIED_STATUS = frozenset({408, 409, 429, 500, 502, 503, 504})


@runtime_checkable
class Encoder(Protocol):
    """The one thing needed of a tokenizer."""

    def encode(self, text: str, *, add_special_tokens: bool) -> list[int]: ...


class EndpointError(RuntimeError):
    """The endpoint cannot be used at all; the message names it and the way out."""


class EndpointSampler:
    """Samples from `{base_url}/completions` with bounded concurrency and retries.

    A request that still fails after its retries gives `n` samples whose `failure` says
    why, so that K stays the denominator; an endpoint that refuses the connection or the
    model raises `EndpointError` at once.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        tokenizer: Encoder,
        *,
        api_key: str = "none",
        concurrency: int = 16,
        attempts: int = 4,
        timeout: float = 600.0,
        first_wait: float = 0.5,
    ):
        """
        Args:
            base_url: up to and including the version, e.g. "http://localhost:8000/v1".
            model: name under which the server serves it.
            tokenizer: the served model's own; only used where the server hides ids.
            api_key: sent as a bearer token.
            concurrency: requests in flight at most.
            attempts: tries of one request.
            timeout: seconds one try may take.
            first_wait: seconds before the second try; doubles after every try.
        """
        self.base_url = base_url.rstrip("/")
        self.model = model
        self.tokenizer = tokenizer
        self.concurrency = concurrency
        self.report: Counter[str] = Counter()
        self._client = httpx.Client(
            timeout=timeout, headers={"Authorization": f"Bearer {api_key}"}
        )
        self._retrying = Retrying(
            retry=retry_if_exception(may_pass_later),
            stop=stop_after_attempt(attempts),
            wait=wait(multiplier=first_wait, max=30.0),
            reraise=True,
        )

    def sample(
        self,
        prompts: Sequence[Sequence[int]],
        n: int,
        sampling: Sampling,
        seeds: Sequence[int],
    ) -> list[list[Sample]]:
        """See `protocol.Sampler`.

        Raises:
            EndpointError: no connection, or the server does not know the model.
        """
        bodies = [
            self._body(prompt, n, sampling, seed)
            for prompt, seed in zip(prompts, seeds, strict=True)
        ]
        with ThreadPoolExecutor(self.concurrency) as pool:
            return list(pool.map(lambda b: self._samples(b, n, sampling), bodies))

    def _body(
        self, prompt: Sequence[int], n: int, sampling: Sampling, seed: int
    ) -> dict[str, Any]:
        body = {
            "model": self.model,
            "prompt": list(prompt),
            "n": n,
            "max_tokens": sampling.max_new_tokens,
            "temperature": sampling.temperature,
            "top_p": 1.0,
            # Servers take 32 or 64 bit seeds; 31 bits pass everywhere.
            "seed": (seed + sampling.first_sample) % 2**31,
            "stop_token_ids": list(sampling.stop_ids),
            "return_token_ids": True,
            "skip_special_tokens": False,
        }
        return {**body, "logprobs": 0} if sampling.log_probs else body

    def _samples(
        self, body: dict[str, Any], n: int, sampling: Sampling
    ) -> list[Sample]:
        try:
            answer = self._retrying(self._post, body)
            samples = [self._sample(choice, sampling) for choice in answer["choices"]]
        except httpx.HTTPStatusError as error:
            if error.response.status_code in (401, 403, 404):
                raise EndpointError(self._refusal(error.response)) from None
            return self._failed(n, f"HTTP {error.response.status_code}")
        except httpx.ConnectError as error:
            raise EndpointError(
                f"no server answers at {self.base_url} ({error}); start one, e.g. "
                f"`vllm serve {self.model}`, or correct the address"
            ) from None
        except (httpx.HTTPError, KeyError, TypeError, ValueError) as error:
            return self._failed(n, f"{type(error).__name__}: {error}")
        missing = n - len(samples)
        return samples[:n] + self._failed(missing, "the server returned fewer samples")

    def _post(self, body: dict[str, Any]) -> dict[str, Any]:
        self.report["requests"] += 1
        response = self._client.post(f"{self.base_url}/completions", json=body)
        response.raise_for_status()
        return response.json()

    def _sample(self, choice: dict[str, Any], sampling: Sampling) -> Sample:
        ids = choice.get("token_ids")
        if ids is None:
            self.report["samples_re_encoded"] += 1
            ids = self.tokenizer.encode(choice["text"], add_special_tokens=False)
        truncated = choice.get("finish_reason") == "length"
        stops = sampling.stop_ids
        if not truncated and stops and (not ids or ids[-1] not in stops):
            # Servers cut the stop token off the text; a sample of ours keeps it.
            reason = choice.get("stop_reason")
            ids = [*ids, reason if reason in stops else stops[0]]
        self.report["samples"] += 1
        log_probs = (choice.get("logprobs") or {}).get("token_logprobs") or ()
        return Sample(tuple(ids), truncated, tuple(log_probs[: len(ids)]))

    def _failed(self, n: int, why: str) -> list[Sample]:
        if n > 0:
            self.report["samples_failed"] += n
        return [Sample((), True, (), why)] * n

    def _refusal(self, response: httpx.Response) -> str:
        return (
            f"{self.base_url} answered {response.status_code} for model "
            f"{self.model!r}: {response.text[:200]}; check the served model name "
            f"({self.base_url}/models lists them) and the API key"
        )


def may_pass_later(error: BaseException) -> bool:
    """Whether a request that failed so is worth another try."""
    if isinstance(error, httpx.HTTPStatusError):
        return error.response.status_code in RETRIED_STATUS
    return isinstance(error, httpx.TransportError)
