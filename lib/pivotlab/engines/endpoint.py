"""Sampling through an OpenAI-compatible completions endpoint, token ids in and out.

Works with `vllm serve`, `transformers serve` and others that take token-id prompts.
Where a server does not return token ids, the returned text is encoded with the given
tokenizer, which can differ from the sampled ids; the report counts such samples.

Departures from `protocol.Sampler`: a server draws its own noise, so samples repeat for
a seed only as far as the server keeps that promise, and may depend on its batching.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol, runtime_checkable

import httpx

from pivotlab.engines.endpoint_client import EndpointClient
from pivotlab.engines.protocol import Sample, Sampling


@runtime_checkable
class Encoder(Protocol):
    """The one thing needed of a tokenizer."""

    def encode(self, text: str, *, add_special_tokens: bool) -> list[int]: ...


class EndpointSampler(EndpointClient):
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
        concurrency: int = 16,
        **client: Any,
    ):
        """
        Args:
            base_url: up to and including the version, e.g. "http://localhost:8000/v1".
            model: name under which the server serves it.
            tokenizer: the served model's own; only used where the server hides ids.
            concurrency: requests in flight at most.
            client: key, tries and waits, as for `EndpointClient`.
        """
        super().__init__(base_url, model, **client)
        self.tokenizer, self.concurrency = tokenizer, concurrency

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
            answer = self.post("completions", body)
            samples = [self._sample(choice, sampling) for choice in answer["choices"]]
        except httpx.HTTPStatusError as error:
            return self._failed(n, f"HTTP {error.response.status_code}")
        except (httpx.HTTPError, KeyError, TypeError, ValueError) as error:
            return self._failed(n, f"{type(error).__name__}: {error}")
        missing = n - len(samples)
        return samples[:n] + self._failed(missing, "the server returned fewer samples")

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
