"""K actions per turn from the frozen reference policy, scored (PivotRL Eq. 4).

Sampling and verification are apart: stored samples can be verified again by another
verifier without a token being generated. Candidates are sampled in the order they come,
which is trajectory by trajectory, so that a sampler can share prefixes.

Departures from the paper: (1) the strict reward is scored beside the functional one, on
the same samples, so the miss rate is free; (2) a truncated or failed sample has reward
0 and stays among the K.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

from tqdm.auto import tqdm

from pivotlab.engines.protocol import Sample, Sampler, Sampling
from pivotlab.records import Candidate, TurnProfile, Verdict
from pivotlab.rendering import Renderer
from pivotlab.verifiers.protocol import Verifier

#: Turns handed to the sampler at once.
BATCH = 256
#: Called after every batch with its candidates and their samples, e.g. to store them.
OnBatch = Callable[[Sequence[Candidate], list[list[Sample]]], None]


def seed_of(uid: str, seed: int = 0) -> int:
    """The sampling seed of a turn: depends on its uid and the run's seed only."""
    digest = hashlib.blake2b(f"{seed}:{uid}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1


def sample_turns(
    candidates: Sequence[Candidate],
    sampler: Sampler,
    renderer: Renderer,
    k: int,
    sampling: Sampling,
    seed: int = 0,
    on_batch: OnBatch | None = None,
) -> list[list[Sample]]:
    """K samples at every candidate, in order.

    Args:
        candidates: turns, those of one trajectory next to each other.
        sampler: the frozen reference policy.
        renderer: of its tokenizer; its end of turn is added to the stop tokens.
        k: samples per turn [K].
        sampling: keep the temperature of training.
        seed: of the run; see `seed_of`.
        on_batch: gets every finished batch.
    """
    stops = tuple(sorted({*sampling.stop_ids, renderer.end_of_turn}))
    stopping = Sampling(
        sampling.max_new_tokens, sampling.temperature, stops, sampling.log_probs
    )
    samples: list[list[Sample]] = []
    with tqdm(total=len(candidates), desc="turns", unit="turn", leave=False) as bar:
        for first in range(0, len(candidates), BATCH):
            batch = candidates[first : first + BATCH]
            prompts = [renderer.prompt_ids(c.prefix, c.tools) for c in batch]
            seeds = [seed_of(c.uid, seed) for c in batch]
            drawn = sampler.sample(prompts, k, stopping, seeds)
            if on_batch is not None:
                on_batch(batch, drawn)
            samples += drawn
            bar.update(len(batch))
    return samples


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
        provenance={
            "verifier": f"{verifier.name}/{verifier.version}",
            **(provenance or {}),
        },
    )


def judge(
    verifier: Verifier, candidate: Candidate, sample: Sample, renderer: Renderer
) -> Verdict:
    """The verdict on one sample; cut-off and failed ones are not read."""
    if sample.failure:
        return Verdict(0.0, "no_sample", sample.failure)
    if sample.truncated:
        return Verdict(0.0, "truncated")
    return verifier.verify(candidate, renderer.action(sample.token_ids))


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
    provenance: dict[str, Any] | None = None,
) -> list[TurnProfile]:
    """mu and sigma2 of every candidate, in order (Eq. 4)."""
    samples = sample_turns(candidates, sampler, renderer, k, sampling, seed)
    facts = {"k": k, "temperature": sampling.temperature, "seed": seed}
    facts |= provenance or {}
    return [
        verify_turn(c, drawn, renderer, verifier, strict, facts)
        for c, drawn in zip(candidates, samples, strict=True)
    ]
