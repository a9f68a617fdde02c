"""Sampling with a transformers model in this process, every prefix token paid for once.

Prompts that extend each other (the turns of one trajectory) share one row of the
key-value cache; every prompt samples from its own position of it. Nothing is kept
between two calls, so `sample` always follows the live weights of a model in training.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
import torch
from transformers import PreTrainedModel

from pivotlab.engines.decoder import Decoder, KVCache
from pivotlab.engines.noise import draw, uniform
from pivotlab.engines.protocol import Sample, Sampling


@dataclass
class SamplerReport:
    """What the sampler has done so far, in tokens (in prompts for `prompts`).

    `reused` counts prompt tokens whose keys and values another prompt had paid for.
    """

    prompts: int = 0
    prefilled: int = 0
    reused: int = 0
    decoded: int = 0

    def __str__(self) -> str:
        return ", ".join(f"{f.name} {getattr(self, f.name):,}" for f in fields(self))


class LocalSampler:
    """Samples from a causal language model of transformers.

    Example:
        >>> sampler = LocalSampler(model)
        >>> sampler.sample([[1, 2, 3]], 8, Sampling(stop_ids=(2,)), seeds=[0])
    """

    def __init__(self, model: PreTrainedModel):
        self.model = model
        self.decoder = Decoder(model)
        self.report = SamplerReport()

    @torch.inference_mode()
    def sample(
        self,
        prompts: Sequence[Sequence[int]],
        n: int,
        sampling: Sampling,
        seeds: Sequence[int],
    ) -> list[list[Sample]]:
        """See `engines.protocol.Sampler`.

        Raises:
            ValueError: an empty prompt, or not one seed per prompt.
        """
        if len(seeds) != len(prompts):
            raise ValueError(f"{len(prompts)} prompts need as many seeds: {len(seeds)}")
        if not all(len(p) for p in prompts):
            raise ValueError(
                "an empty prompt can't be continued; give one token or more"
            )
        training = self.model.training
        self.model.eval()
        try:
            return self._sample([tuple(p) for p in prompts], n, sampling, seeds)
        finally:
            self.model.train(training)

    def _sample(self, prompts, n, sampling, seeds) -> list[list[Sample]]:
        order = sorted(range(len(prompts)), key=lambda i: prompts[i], reverse=True)
        rows: list[tuple[int, ...]] = []
        row_of = []
        for i in order:
            if not rows or rows[-1][: len(prompts[i])] != prompts[i]:
                rows.append(prompts[i])
            row_of.append(len(rows) - 1)
        self.report.prompts += len(prompts)
        self.report.prefilled += sum(map(len, rows))
        self.report.reused += sum(map(len, prompts)) - sum(map(len, rows))
        cache, _ = self.decoder.prefill(rows)
        ends = [len(prompts[i]) for i in order]
        cache = cache.select(row_of, [end - 1 for end in ends])
        logits = self.decoder.step(cache, torch.tensor([prompts[i][-1] for i in order]))
        noise = uniform(
            np.repeat(np.array([seeds[i] for i in order]), n)[:, None],
            np.tile(np.arange(n), len(order))[:, None],
            np.arange(sampling.max_new_tokens)[None],
        )
        drawn = self._decode(
            cache.fork(n), logits.repeat_interleave(n, 0), noise, sampling
        )
        results: list[list[Sample]] = [[] for _ in prompts]
        for k, i in enumerate(order):
            results[i] = drawn[k * n : (k + 1) * n]
        return results

    def _decode(self, cache: KVCache, logits, noise, s: Sampling) -> list[Sample]:
        tokens: list[list[int]] = [[] for _ in noise]
        log_probs: list[list[float]] = [[] for _ in noise]
        active = list(range(len(noise)))
        for step in range(s.max_new_tokens):
            picked, scores = draw(logits, s.temperature, noise[active, step])
            for row, token, score in zip(
                active, picked.tolist(), scores.tolist(), strict=True
            ):
                tokens[row].append(token)
                log_probs[row].append(score)
            self.report.decoded += len(active)
            keep = [i for i, r in enumerate(active) if tokens[r][-1] not in s.stop_ids]
            if not keep or step + 1 == s.max_new_tokens:
                break
            if len(keep) < len(active):
                cache = cache.select(keep)
                active, picked = [active[i] for i in keep], picked[keep]
            logits = self.decoder.step(cache, picked)
        return [
            Sample(tuple(t), t[-1] not in s.stop_ids, tuple(p) if s.log_probs else ())
            for t, p in zip(tokens, log_probs, strict=True)
        ]
