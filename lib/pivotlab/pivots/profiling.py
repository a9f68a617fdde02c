"""K actions per turn from the frozen reference policy, scored (PivotRL Eq. 4).

Sampling and verification are apart: stored samples can be verified again by another
verifier without a token being generated. Turns of one trajectory are sampled in one
batch, so that a sampler can share their prefixes.

Departures from the paper: (1) the strict reward is scored beside the functional one, on
the same samples, so the miss rate is free; (2) a truncated or failed sample has reward
0 and stays among the K.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from itertools import groupby
from time import perf_counter
from typing import Any

from tqdm.auto import tqdm

from pivotlab.engines.protocol import Sample, Sampler, Sampling
from pivotlab.pivots.selection import LAMBDA_DIFF, turn_class
from pivotlab.pivots.store import ProfileStore, SampleTable, turn_key
from pivotlab.records import Candidate, TurnProfile, Verdict
from pivotlab.rendering import Renderer
from pivotlab.verifiers.protocol import Verifier, judged

#: Turns handed to a sampler at once, and lost at most when a run is killed: one
#: trajectory at first, then twice as many as long as a batch takes less than `PACE`
#: seconds, up to `BATCH`.
BATCH = 64
PACE = 20.0


@dataclass
class TurnSampler:
    """Draws samples at candidate turns, or takes those that a table already holds.

    Attributes:
        sampler: the frozen reference policy; None where all samples must be stored.
        renderer: of its tokenizer; its end of turn is among the stop tokens.
        sampling: keep the temperature of training.
        seed: of the run; see `seed_of`.
        table: where samples are looked up and put.
    """

    sampler: Sampler | None
    renderer: Renderer
    sampling: Sampling
    seed: int
    table: SampleTable

    def draw(self, candidates: Sequence[Candidate], k: int) -> list[list[Sample]]:
        """Samples 0 to k - 1 of every candidate, in order; only missing ones are new.

        Raises:
            KeyError: samples are missing and there is no sampler.
        """
        prompts = [self.renderer.prompt_ids(c.prefix, c.tools) for c in candidates]
        turns = [turn_key(c.uid, p) for c, p in zip(candidates, prompts, strict=True)]
        held = [self.table.count(turn) for turn in turns]
        for first in sorted({h for h in held if h < k} if self.sampler else ()):
            short = [i for i, h in enumerate(held) if h == first]
            drawn = self.sampler.sample(
                [prompts[i] for i in short],
                k - first,
                replace(self.sampling, first_sample=first),
                [seed_of(candidates[i].uid, self.seed) for i in short],
            )
            self.table.add([turns[i] for i in short], first, drawn)
        return [self.table.samples(turn, k) for turn in turns]

    def holding(self) -> AbstractContextManager[None]:
        """Let the sampler keep prompts between draws inside, where it can."""
        hold = getattr(self.sampler, "holding", nullcontext)
        return hold()


def turn_sampler(
    sampler: Sampler | None,
    renderer: Renderer,
    sampling: Sampling,
    seed: int,
    store: ProfileStore | None,
) -> TurnSampler:
    """A `TurnSampler` that stops at the end of a turn and uses the store's table."""
    stops = tuple(sorted({*sampling.stop_ids, renderer.end_of_turn}))
    sampling = replace(sampling, stop_ids=stops)
    table = SampleTable()
    if store is not None:
        table = store.open(renderer.fingerprint(), sampling, seed)
    return TurnSampler(sampler, renderer, sampling, seed, table)


def profile(
    candidates: Sequence[Candidate],
    sampler: Sampler,
    renderer: Renderer,
    verifier: Verifier,
    *,
    k: int,
    sampling: Sampling,
    strict: Verifier | None = None,
    seed: int = 0,
    store: ProfileStore | None = None,
    provenance: dict[str, Any] | None = None,
) -> list[TurnProfile]:
    """mu and sigma2 of every candidate, in order (Eq. 4).

    Args:
        candidates: D_cand; turns of one trajectory next to each other.
        sampler: the frozen reference policy.
        renderer: of its tokenizer.
        verifier: the functional reward.
        k: samples per turn [K].
        sampling: keep the temperature of training; the end of turn is added to the
            stop tokens.
        strict: scored beside the verifier on the same samples.
        seed: of the run; samples depend on it, the turn's uid and their index only.
        store: keeps samples, so that a killed run goes on where it was.
        provenance: further facts to keep in every profile.
    """
    turns = turn_sampler(sampler, renderer, sampling, seed, store)
    facts = describe(turns, verifier, strict) | {"k": k} | (provenance or {})
    return _profiles(candidates, turns, verifier, strict, k, facts)


def reverify(
    candidates: Sequence[Candidate],
    renderer: Renderer,
    verifier: Verifier,
    *,
    k: int,
    sampling: Sampling,
    store: ProfileStore,
    strict: Verifier | None = None,
    seed: int = 0,
    provenance: dict[str, Any] | None = None,
) -> list[TurnProfile]:
    """Profiles of stored samples under another verifier; never generates.

    Raises:
        KeyError: a turn has fewer than `k` stored samples under these settings.
    """
    turns = turn_sampler(None, renderer, sampling, seed, store)
    facts = describe(turns, verifier, strict) | {"k": k} | (provenance or {})
    return _profiles(candidates, turns, verifier, strict, k, facts)


def _profiles(
    candidates: Sequence[Candidate],
    turns: TurnSampler,
    verifier: Verifier,
    strict: Verifier | None,
    k: int,
    facts: dict[str, Any],
) -> list[TurnProfile]:
    profiles: list[TurnProfile] = []
    with progress(len(candidates)) as bar:
        for batch in by_trajectory(candidates):
            for candidate, samples in zip(batch, turns.draw(batch, k), strict=True):
                judged = verify_turn(
                    candidate, samples, turns.renderer, verifier, strict, facts
                )
                profiles.append(judged)
            show(bar, profiles, len(batch))
    return profiles


def verify_turn(
    candidate: Candidate,
    samples: Sequence[Sample],
    renderer: Renderer,
    verifier: Verifier,
    strict: Verifier | None = None,
    provenance: dict[str, Any] | None = None,
) -> TurnProfile:
    """Verdicts of one turn's samples as its profile."""
    verdicts = [judge(verifier, candidate, s, renderer) for s in samples]
    beside = [judge(strict, candidate, s, renderer) for s in samples] if strict else []
    return TurnProfile(
        uid=candidate.uid,
        rewards=tuple(v.reward for v in verdicts),
        categories=tuple(v.category for v in verdicts),
        truncated=tuple(s.truncated for s in samples),
        strict_rewards=tuple(v.reward for v in beside),
        provenance=provenance or {},
    )


def judge(
    verifier: Verifier, candidate: Candidate, sample: Sample, renderer: Renderer
) -> Verdict:
    """The verdict on one sample; cut-off and failed ones are not read."""
    if sample.failure:
        return Verdict(0.0, "no_sample", sample.failure)
    if sample.truncated:
        return Verdict(0.0, "truncated")
    action = renderer.action(sample.token_ids, candidate.tools)
    return judged(verifier, candidate, action)


def describe(
    turns: TurnSampler, verifier: Verifier, strict: Verifier | None
) -> dict[str, Any]:
    """Where a profile comes from: sampling, template, seed and verifiers."""
    facts = {
        "temperature": turns.sampling.temperature,
        "max_new_tokens": turns.sampling.max_new_tokens,
        "template": turns.renderer.fingerprint()["template"],
        "seed": turns.seed,
        "verifier": f"{verifier.name}/{verifier.version}",
    }
    return facts | ({"strict": f"{strict.name}/{strict.version}"} if strict else {})


def seed_of(uid: str, seed: int = 0) -> int:
    """The sampling seed of a turn: depends on its uid and the run's seed only."""
    word = hashlib.blake2b(f"{seed}:{uid}".encode(), digest_size=8).digest()
    return int.from_bytes(word, "big") >> 1


def by_trajectory(candidates: Sequence[Candidate]) -> Iterator[list[Candidate]]:
    """Batches that tear no trajectory apart, as large as their pace allows.

    A batch is at work from when it is handed out until the next one is asked for.
    """
    batch: list[Candidate] = []
    least = 1
    for _, turns in groupby(candidates, key=lambda c: c.trajectory_uid):
        batch += turns
        if len(batch) >= least:
            began = perf_counter()
            yield batch
            fast = perf_counter() - began < PACE
            least = min(BATCH, 2 * least) if fast else max(1, least // 2)
            batch = []
    if batch:
        yield batch


def progress(turns: int) -> tqdm:
    """A bar in turns, with turns per second and the expected end."""
    return tqdm(total=turns, desc="profiling", unit="turn", leave=False)


def show(bar: tqdm, profiles: Sequence[TurnProfile], new: int) -> None:
    """Advance by `new` turns and show the share of pivots among all so far."""
    pivots = sum(turn_class(p, LAMBDA_DIFF) == "pivot" for p in profiles)
    bar.set_postfix(pivots=f"{pivots / len(profiles):.0%}", refresh=False)
    bar.update(new)
