"""Sampling through vLLM with prefix caching; needs the `vllm` extra.

Prompts are sorted by their token ids before they are queued. A turn's prompt extends
the previous turn's, so this is the order of trajectory, then depth, and every prompt
finds its prefix in the cache. `report()` gives the hit rate that was measured.

Departures from `protocol.Sampler`: vLLM draws its own noise, so samples repeat for a
seed on the same machine and version, and may change with batching.
"""

from __future__ import annotations

import multiprocessing
import os
from collections import Counter
from collections.abc import Sequence
from typing import Any

from pivotlab.engines.protocol import Sample, Sampling


class VllmSampler:
    """One vLLM engine in this process."""

    def __init__(self, model: str, **engine_options: Any):
        """
        Args:
            model: local path or hub id.
            **engine_options: passed to `vllm.LLM`, e.g. `max_model_len` (p99.9 of the
                data), `tensor_parallel_size`, `dtype`, `gpu_memory_utilization`.

        Raises:
            ImportError: vLLM is not installed; the message names the extra.
        """
        try:
            from vllm import LLM
        except ImportError as error:
            raise ImportError(
                "the vLLM sampler needs vLLM: pip install 'pivotlab[vllm]' on a "
                "machine with a GPU, or use the local sampler"
            ) from error
        options = {"enable_prefix_caching": True, **engine_options}
        self._engine = LLM(model=model, **options)
        self._counts: Counter[str] = Counter()

    def sample(
        self,
        prompts: Sequence[Sequence[int]],
        n: int,
        sampling: Sampling,
        seeds: Sequence[int],
    ) -> list[list[Sample]]:
        """See `protocol.Sampler`."""
        from vllm import SamplingParams

        order = sorted(range(len(prompts)), key=lambda i: tuple(prompts[i]))
        requests = [{"prompt_token_ids": list(prompts[i])} for i in order]
        settings = [
            SamplingParams(
                n=n,
                temperature=sampling.temperature,
                max_tokens=sampling.max_new_tokens,
                stop_token_ids=list(sampling.stop_ids),
                logprobs=0 if sampling.log_probs else None,
                seed=(seeds[i] + sampling.first_sample) % 2**31,
                detokenize=False,
            )
            for i in order
        ]
        outputs = self._engine.generate(requests, settings, use_tqdm=False)
        samples: list[list[Sample]] = [[] for _ in prompts]
        for i, output in zip(order, outputs, strict=True):
            self._counts["prompt_tokens"] += len(output.prompt_token_ids)
            self._counts["cached_tokens"] += output.num_cached_tokens or 0
            samples[i] = [_sample(completion) for completion in output.outputs]
        return samples

    def report(self) -> dict[str, float]:
        """Prompt tokens seen, those found in the prefix cache, and their ratio."""
        seen, cached = self._counts["prompt_tokens"], self._counts["cached_tokens"]
        return {
            "prompt_tokens": float(seen),
            "cached_tokens": float(cached),
            "hit_rate": cached / seen if seen else 0.0,
        }

    def forget(self) -> None:
        """Empty the prefix cache, so that the next call finds nothing in it."""
        self._engine.reset_prefix_cache()


def _sample(completion: Any) -> Sample:
    ids = tuple(completion.token_ids)
    log_probs = tuple(
        step[token].logprob
        for step, token in zip(completion.logprobs or (), ids, strict=False)
    )
    return Sample(ids, completion.finish_reason == "length", log_probs)


def shards(prompts: Sequence[Sequence[int]], count: int) -> list[list[int]]:
    """Prompt indices split into `count` contiguous runs of the sorted prompts.

    Contiguous in sorted order means that prompts which share a prefix share a shard,
    except at the at most `count - 1` cuts.
    """
    order = sorted(range(len(prompts)), key=lambda i: tuple(prompts[i]))
    cuts = [round(len(order) * k / count) for k in range(count + 1)]
    return [order[a:b] for a, b in zip(cuts, cuts[1:], strict=False)]


class ShardedVllmSampler:
    """One `VllmSampler` process per device; shared prefixes stay on one device."""

    def __init__(self, model: str, devices: Sequence[str], **engine_options: Any):
        """
        Args:
            model: local path or hub id.
            devices: value of CUDA_VISIBLE_DEVICES of each process, e.g. ["0", "1"] or
                ["0,1", "2,3"] with `tensor_parallel_size=2`.
            **engine_options: as for `VllmSampler`.
        """
        context = multiprocessing.get_context("spawn")
        self._pipes, self._processes = [], []
        for device in devices:
            ours, theirs = context.Pipe()
            process = context.Process(
                target=_serve, args=(theirs, model, device, engine_options), daemon=True
            )
            process.start()
            self._pipes.append(ours)
            self._processes.append(process)

    def sample(
        self,
        prompts: Sequence[Sequence[int]],
        n: int,
        sampling: Sampling,
        seeds: Sequence[int],
    ) -> list[list[Sample]]:
        """See `protocol.Sampler`.

        Raises:
            RuntimeError: an engine process died; its own output says why.
        """
        parts = shards(prompts, len(self._pipes))
        for pipe, part in zip(self._pipes, parts, strict=True):
            work = ([prompts[i] for i in part], n, sampling, [seeds[i] for i in part])
            pipe.send(("sample", work))
        samples: list[list[Sample]] = [[] for _ in prompts]
        for pipe, part in zip(self._pipes, parts, strict=True):
            for i, drawn in zip(part, self._receive(pipe), strict=True):
                samples[i] = drawn
        return samples

    def report(self) -> dict[str, float]:
        """Sums over the processes, and the hit rate of all."""
        for pipe in self._pipes:
            pipe.send(("report", ()))
        parts = [self._receive(pipe) for pipe in self._pipes]
        seen = sum(p["prompt_tokens"] for p in parts)
        cached = sum(p["cached_tokens"] for p in parts)
        rate = cached / seen if seen else 0.0
        return {"prompt_tokens": seen, "cached_tokens": cached, "hit_rate": rate}

    def close(self) -> None:
        """End the processes."""
        for pipe, process in zip(self._pipes, self._processes, strict=True):
            pipe.close()
            process.join(timeout=30)

    def _receive(self, pipe: Any) -> Any:
        try:
            return pipe.recv()
        except EOFError:
            raise RuntimeError(
                "a vLLM process ended before it answered; its log is above"
            ) from None


def _serve(pipe: Any, model: str, device: str, engine_options: dict[str, Any]) -> None:
    """Loop of one engine process: answer (method, arguments) until the pipe closes."""
    os.environ["CUDA_VISIBLE_DEVICES"] = device
    sampler = VllmSampler(model, **engine_options)
    while True:
        try:
            method, arguments = pipe.recv()
        except EOFError:
            return
        pipe.send(getattr(sampler, method)(*arguments))
