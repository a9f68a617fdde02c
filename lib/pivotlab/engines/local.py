"""Sampling with a transformers model in this process, every prefix token paid for once.

The prompts of one call share whatever prefix they have in common: the turns of a
trajectory become one pass over its tokens, and every turn samples from its own position
of that one cache. Samples of all turns and trajectories decode together.

Nothing is kept between two calls, so `sample` always follows the live weights of a
model in training. Sample j of a prompt depends on its seed and j only (`noise`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields

import numpy as np
import torch
from transformers import PreTrainedModel

from pivotlab.engines.decoder import Decoder
from pivotlab.engines.forked_decode import ForkedDecode
from pivotlab.engines.noise import draw, uniform
from pivotlab.engines.prefix_plan import Ids, deepest, plan_prefixes
from pivotlab.engines.prefix_store import PrefixStore
from pivotlab.engines.protocol import Sample, Sampling
from pivotlab.engines.shared_decode import SharedDecode, decode_order

#: Most samples that decode together; more do not make a matrix product faster.
MOST_ROWS = 1024


@dataclass
class SamplerReport:
    """What the sampler has done so far: prompts, then tokens, then prompts again.

    `reused` counts prompt tokens whose keys and values another prompt had paid for;
    `fallbacks` counts prompts that had to be copied once per sample (`ForkedDecode`).
    """

    prompts: int = 0
    prefilled: int = 0
    reused: int = 0
    decoded: int = 0
    fallbacks: int = 0

    def __str__(self) -> str:
        return ", ".join(f"{f.name} {getattr(self, f.name):,}" for f in fields(self))


class LocalSampler:
    """Samples from a causal language model of transformers.

    Example:
        >>> sampler = LocalSampler(model)
        >>> sampler.sample([[1, 2, 3]], 8, Sampling(stop_ids=(2,)), seeds=[0])
    """

    def __init__(self, model: PreTrainedModel, cache_mb: int = 1024):
        """
        Args:
            model: on any device, in any float type.
            cache_mb: memory for keys and values, MiB; half for prompts, half for
                samples. A single prompt or its n samples may exceed it.

        Raises:
            ValueError: see `Decoder`.
        """
        self.model = model
        self.decoder = Decoder(model)
        self.cache_bytes = cache_mb * 2**20
        self.report = SamplerReport()
        self._held: dict[Ids, PrefixStore] | None = None

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
            raise ValueError(f"{len(prompts)} prompts, but {len(seeds)} seeds")
        if not all(len(p) for p in prompts):
            raise ValueError("an empty prompt can't be continued; give a token or more")
        given = [tuple(p) for p in prompts]
        results: list[list[Sample]] = [[] for _ in prompts]
        with evaluating(self.model):
            for rows, part in self._continuations(given, n, sampling):
                drawn = self._decode(part, [seeds[i] for i in rows], n, sampling)
                for k, i in enumerate(rows):
                    results[i] = drawn[k * n : (k + 1) * n]
        return results

    @contextmanager
    def holding(self) -> Iterator[None]:
        """Keep computed prompts between the calls inside, for topping up samples.

        The weights must not change inside. Takes up to twice the memory for prompts.
        """
        self._held = {}
        try:
            yield
        finally:
            self._held = None

    def _continuations(
        self, prompts: list[Ids], n: int, sampling: Sampling
    ) -> Iterator[tuple[list[int], SharedDecode | ForkedDecode]]:
        """Batches of prompts (indices) with their samples ready to decode."""
        self.report.prompts += len(prompts)
        size = max(1, self._most_rows(prompts, n, sampling) // n)
        if not self.decoder.lean:
            for wave in self._waves(prompts, range(len(prompts))):
                self._count_forks([prompts[i] for i in wave])
                for rows in batches(wave, size):
                    chosen = [prompts[i] for i in rows]
                    yield rows, ForkedDecode(self.decoder, chosen, n)
            return
        for store, rows in self._stores(prompts):
            places = [store.index[prompts[i]] for i in rows]
            for part in batches(decode_order(store, places), size):
                shared = SharedDecode(store, [places[k] for k in part], n)
                yield [rows[k] for k in part], shared

    def _stores(self, prompts: list[Ids]) -> Iterator[tuple[PrefixStore, list[int]]]:
        """Computed prompts, each store with the indices of those it holds."""
        held, known = self._held or {}, {}
        for i, prompt in enumerate(prompts):
            known.setdefault(id(held.get(prompt)), []).append(i)
        unknown = known.pop(id(None), [])
        for rows in known.values():
            self.report.reused += sum(len(prompts[i]) for i in rows)
            yield held[prompts[rows[0]]], rows
        for wave in self._waves(prompts, unknown):
            plan = plan_prefixes(list(dict.fromkeys(prompts[i] for i in wave)))
            self.report.prefilled += plan.computed
            self.report.reused += sum(len(prompts[i]) for i in wave) - plan.computed
            store = PrefixStore(self.decoder, plan)
            self._hold(store)
            yield store, wave

    def _hold(self, store: PrefixStore) -> None:
        """Remember a store inside `holding`, while all together fit the memory."""
        if self._held is None:
            return
        others = {id(s): s.plan.computed for s in self._held.values()}
        tokens = sum(others.values()) + store.plan.computed
        if tokens * self._token_bytes() <= self.cache_bytes // 2:
            self._held.update(dict.fromkeys(store.plan.prompts, store))

    def _waves(self, prompts: list[Ids], rows: Iterable[int]) -> Iterator[list[int]]:
        """Prompt indices, sorted so that shared prefixes meet, cut to the memory."""
        most = max(1, self.cache_bytes // 2 // self._token_bytes())
        wave: list[int] = []
        held, leaf = 0, ()
        for i in sorted(rows, key=lambda i: prompts[i], reverse=True):
            if leaf[: len(prompts[i])] != prompts[i]:
                leaf = prompts[i]
                if wave and held + len(leaf) > most:
                    yield wave
                    wave, held = [], 0
                held += len(leaf)
            wave.append(i)
        if wave:
            yield wave

    def _most_rows(self, prompts: list[Ids], n: int, sampling: Sampling) -> int:
        held = sampling.max_new_tokens
        if not self.decoder.lean:
            held += max(map(len, prompts), default=0)
        # Logits, probabilities and their sums exist once per row for a moment.
        logits = 16 * self.decoder.config.vocab_size
        fitting = self.cache_bytes // 2 // (held * self._token_bytes() + logits)
        return min(MOST_ROWS, fitting)

    def _token_bytes(self) -> int:
        d = self.decoder
        layers, width = d.config.num_hidden_layers, d.kv_heads * d.head_dim
        return 2 * layers * width * d.model.dtype.itemsize

    def _count_forks(self, prompts: list[Ids]) -> None:
        computed = sum(map(len, deepest(prompts)))
        self.report.fallbacks += len(prompts)
        self.report.prefilled += computed
        self.report.reused += sum(map(len, prompts)) - computed

    def _decode(
        self,
        part: SharedDecode | ForkedDecode,
        seeds: list[int],
        n: int,
        sampling: Sampling,
    ) -> list[Sample]:
        """Draw tokens until every sample has stopped or is full."""
        batch, steps = len(seeds) * n, sampling.max_new_tokens
        noise = sample_noise(seeds, n, steps, sampling.first_sample)
        tokens = np.zeros((batch, steps), dtype=np.int64)
        scores = np.zeros((batch, steps), dtype=np.float32)
        lengths = np.full(batch, steps)
        stopped = np.zeros(batch, dtype=bool)
        rows = np.arange(batch)
        logits = part.first_logits()
        for step in range(steps):
            picked, picked_scores = draw(
                logits, sampling.temperature, noise[rows, step]
            )
            tokens[rows, step] = picked.cpu().numpy()
            scores[rows, step] = picked_scores.cpu().numpy()
            ended = np.isin(tokens[rows, step], sampling.stop_ids) & ~stopped[rows]
            lengths[rows[ended]] = step + 1
            stopped[rows[ended]] = True
            alive = np.flatnonzero(~stopped[rows])
            if not len(alive) or step + 1 == steps:
                break
            if len(alive) <= 0.875 * len(rows):
                kept = torch.from_numpy(alive).to(picked.device)
                part.keep(kept)
                rows, picked = rows[alive], picked[kept]
            logits = part.step(picked)
        self.report.decoded += int(lengths.sum())
        return collect(tokens, scores, lengths, stopped, sampling.log_probs)


def batches(items: Sequence[int], size: int) -> Iterator[list[int]]:
    """Consecutive parts of at most `size` items."""
    for start in range(0, len(items), size):
        yield list(items[start : start + size])


def sample_noise(
    seeds: Sequence[int], n: int, steps: int, first: int = 0
) -> np.ndarray:
    """Uniforms "prompts*n steps": row i * n + j belongs to (seeds[i], first + j)."""
    words = np.array([seed & (2**64 - 1) for seed in seeds], dtype=np.uint64)
    noise = uniform(
        words[:, None, None],
        np.arange(first, first + n)[:, None],
        np.arange(steps)[None, None],
    )
    return np.asarray(noise).reshape(len(seeds) * n, steps)


def collect(
    tokens: np.ndarray,
    scores: np.ndarray,
    lengths: np.ndarray,
    stopped: np.ndarray,
    log_probs: bool,
) -> list[Sample]:
    """Rows of drawn tokens as samples; log-probabilities only if wanted."""
    return [
        Sample(
            tuple(tokens[i, :length].tolist()),
            truncated=not stopped[i],
            log_probs=tuple(scores[i, :length].tolist()) if log_probs else (),
        )
        for i, length in enumerate(lengths)
    ]


@contextmanager
def evaluating(model: torch.nn.Module) -> Iterator[None]:
    """Dropout off inside; every module's own mode comes back after."""
    training = [module for module in model.modules() if module.training]
    model.eval()
    try:
        yield
    finally:
        for module in training:
            module.training = True
