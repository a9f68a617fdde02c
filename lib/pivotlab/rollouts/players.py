"""Who takes the turns: a local model that keeps its caches, or any sampler.

A player is told the whole prompt of every turn. The cached one compares it with what
its cache row already holds and runs only what is new, so whole-history episodes pay for
each token once, and a prompt that was rewritten costs what changed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float
from torch import Tensor
from transformers import PreTrainedModel

from pivotlab.engines.decoder import Decoder, KVCache
from pivotlab.engines.noise import derive_seed, draw, uniform
from pivotlab.engines.protocol import Sample, Sampler, Sampling


@runtime_checkable
class Player(Protocol):
    """Takes one turn in each of several episodes at once."""

    def take_turns(
        self,
        episodes: Sequence[int],
        prompts: Sequence[list[int]],
        seeds: Sequence[int],
        turn: Sequence[int],
        sampling: Sampling,
    ) -> list[Sample]:
        """One sample per prompt.

        Args:
            episodes: number of each prompt's episode, for what is kept between turns.
            prompts: whole prompts, token ids.
            seeds: one per episode; with the turn it fixes the noise.
            turn: index of each episode's turn.
            sampling: how to sample; `stop_ids` end a turn.
        """
        ...

    def forget(self, episodes: Sequence[int]) -> None:
        """These episodes take no more turns."""
        ...


class SamplerPlayer:
    """Plays with any `Sampler`; what it keeps between turns is the sampler's affair."""

    def __init__(self, sampler: Sampler):
        self.sampler = sampler

    def take_turns(
        self,
        episodes: Sequence[int],
        prompts: Sequence[list[int]],
        seeds: Sequence[int],
        turn: Sequence[int],
        sampling: Sampling,
    ) -> list[Sample]:
        """One sample per prompt; the sampler's seed is derived from (seed, turn)."""
        derived = [derive_seed(s, t) for s, t in zip(seeds, turn, strict=True)]
        return [row[0] for row in self.sampler.sample(prompts, 1, sampling, derived)]

    def forget(self, episodes: Sequence[int]) -> None:
        """Nothing is kept here."""


class CachedPlayer:
    """Plays with a local model, one cache row per episode.

    Attributes:
        spent: tokens by fate: `prefilled` (given tokens run through the model),
            `reused` (given tokens found in a cache), `rewritten` (cached tokens thrown
            away because the next prompt differs), `sampled`.
    """

    def __init__(self, model: PreTrainedModel):
        self.decoder = Decoder(model)
        self.spent: Counter[str] = Counter()
        self._cache: KVCache | None = None
        self._row: dict[int, int] = {}
        self._held: dict[int, list[int]] = {}

    def take_turns(
        self,
        episodes: Sequence[int],
        prompts: Sequence[list[int]],
        seeds: Sequence[int],
        turn: Sequence[int],
        sampling: Sampling,
    ) -> list[Sample]:
        """One sample per prompt, all decoded in lock-step."""
        self._admit(episodes, prompts)
        self._cut_to_prompts(episodes, prompts)
        logits = self._read(episodes, prompts)
        samples = self._decode(episodes, logits, seeds, turn, sampling)
        for episode, prompt, sample in zip(episodes, prompts, samples, strict=True):
            # The last token of a turn was sampled but never run through the model.
            self._held[episode] = prompt + list(sample.token_ids[:-1])
            self.spent["sampled"] += len(sample.token_ids)
        return samples

    def forget(self, episodes: Sequence[int]) -> None:
        """Drop these episodes; their rows go once a quarter of the cache is unused."""
        for episode in episodes:
            self._row.pop(episode, None)
            self._held.pop(episode, None)
        if not self._row:
            self._cache = None
        elif 4 * len(self._row) < 3 * self._cache.rows:
            kept = list(self._row)
            self._cache = self._cache.select([self._row[e] for e in kept])
            self._row = {e: i for i, e in enumerate(kept)}

    def _admit(self, episodes: Sequence[int], prompts: Sequence[list[int]]) -> None:
        """Rows for new episodes; a prompt shared by several is run once and forked."""
        new = [i for i, e in enumerate(episodes) if e not in self._row]
        if not new:
            return
        shared = {tuple(prompts[i][:-1]): None for i in new}
        place = {ids: row for row, ids in enumerate(shared)}
        cache = self.decoder.cache(len(shared), max(map(len, shared)))
        filled = [row for ids, row in place.items() if ids]
        if filled:
            self.decoder.extend(cache, [ids for ids in shared if ids], filled)
        cache = cache.select([place[tuple(prompts[i][:-1])] for i in new])
        self.spent["prefilled"] += sum(map(len, shared))
        self.spent["reused"] += int(cache.lengths.sum()) - sum(map(len, shared))
        first = self._cache.rows if self._cache else 0
        self._cache = self._cache.join(cache) if self._cache else cache
        for row, i in enumerate(new, start=first):
            self._row[episodes[i]], self._held[episodes[i]] = row, prompts[i][:-1]

    def _cut_to_prompts(
        self, episodes: Sequence[int], prompts: Sequence[list[int]]
    ) -> None:
        """Cut every row to the part that its prompt begins with, short of the end."""
        for episode, prompt in zip(episodes, prompts, strict=True):
            held = self._held[episode]
            kept = common_prefix(held, prompt[:-1])
            if kept < len(held):
                self.spent["rewritten"] += len(held) - kept
                self._cache.lengths[self._row[episode]] = kept
                self._held[episode] = held[:kept]

    def _read(
        self, episodes: Sequence[int], prompts: Sequence[list[int]]
    ) -> Float[Tensor, "episodes vocab"]:
        """Run what the cache lacks of every prompt; logits of each next token."""
        held = [len(self._held[e]) for e in episodes]
        missing = [p[h:] for p, h in zip(prompts, held, strict=True)]
        self.spent["reused"] += sum(held)
        self.spent["prefilled"] += sum(map(len, missing))
        return self.decoder.extend(
            self._cache, missing, [self._row[e] for e in episodes]
        )

    def _decode(
        self,
        episodes: Sequence[int],
        logits: Float[Tensor, "episodes vocab"],
        seeds: Sequence[int],
        turn: Sequence[int],
        sampling: Sampling,
    ) -> list[Sample]:
        """Lock-step decoding; episodes whose turn has ended drop out of the batch."""
        seed_of, turn_of = np.array(seeds, dtype=object), np.array(turn)
        rows = [self._row[e] for e in episodes]
        ids: list[list[int]] = [[] for _ in episodes]
        log_probs: list[list[float]] = [[] for _ in episodes]
        active = np.arange(len(episodes))
        for step in range(sampling.max_new_tokens):
            noise = uniform(seed_of[active], turn_of[active], step)
            tokens, logs = draw(logits, sampling.temperature, noise)
            listed = tokens.tolist()
            for i, token, log in zip(active, listed, logs.tolist(), strict=True):
                ids[i].append(token)
                log_probs[i].append(log)
            going = [k for k, t in enumerate(listed) if t not in sampling.stop_ids]
            if not going or step + 1 == sampling.max_new_tokens:
                break
            active = active[going]
            playing = [rows[i] for i in active]
            logits = self.decoder.step(self._cache, tokens[going], playing)
        return [
            Sample(tuple(i), i[-1] not in sampling.stop_ids, tuple(p))
            for i, p in zip(ids, log_probs, strict=True)
        ]


def common_prefix(first: Sequence[int], second: Sequence[int]) -> int:
    """Length of the longest common prefix of two lists."""
    shorter = min(len(first), len(second))
    if first[:shorter] == second[:shorter]:
        return shorter
    return next(i for i in range(shorter) if first[i] != second[i])
