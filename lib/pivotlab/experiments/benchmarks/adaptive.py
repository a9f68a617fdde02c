"""What adaptive profiling saves and what it costs in accuracy.

The measure is the set of pivots (Eq. 5) at K = `reference` samples. Rules and fixed K
read prefixes of the same samples, so their agreement with that set holds for this draw;
a re-draw would move all of them alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pivotlab.engines.protocol import Sampler, Sampling
from pivotlab.experiments.benchmarks.measure import Rows
from pivotlab.pivots.adaptive import StoppingRule, adaptive_profile
from pivotlab.pivots.profiling import profile
from pivotlab.pivots.selection import turn_class
from pivotlab.pivots.store import ProfileStore
from pivotlab.records import Candidate, TurnProfile
from pivotlab.rendering import Renderer
from pivotlab.verifiers.protocol import Verifier

#: Rollouts are counted against this fixed K.
FIXED = 16


def f1_of(found: Sequence[bool], wanted: Sequence[bool]) -> float:
    """Harmonic mean of precision and recall; 1 where both sets are empty.

    Example: two found, three wanted, two in common: 2 * 2 / (2 + 3) = 0.8.
    """
    both = sum(f and w for f, w in zip(found, wanted, strict=True))
    total = sum(found) + sum(wanted)
    return 2 * both / total if total else 1.0


def first_samples(profile: TurnProfile, k: int) -> TurnProfile:
    """The profile that the first k of its samples would have given."""
    return replace(
        profile,
        rewards=profile.rewards[:k],
        categories=profile.categories[:k],
        truncated=profile.truncated[:k],
        strict_rewards=profile.strict_rewards[:k],
    )


def adaptive_rows(
    candidates: Sequence[Candidate],
    sampler: Sampler,
    renderer: Renderer,
    verifier: Verifier,
    sampling: Sampling,
    rules: Sequence[StoppingRule],
    *,
    store: ProfileStore,
    reference: int = 64,
    seed: int = 0,
) -> Rows:
    """Rows of `adaptive.csv`: one a rule, and one a fixed K.

    Columns: k_max, first, step and error of the rule (a fixed K has first = k_max and
    no step), rollouts_share (mean samples a turn over 16), f1 against the pivots at
    K = `reference`, n turns.

    Raises:
        ValueError: a rule looks further than the reference.
    """
    far = [r.k_max for r in rules if r.k_max > reference]
    if far:
        raise ValueError(f"k_max={far[0]} exceeds reference={reference}")
    shared = {"sampling": sampling, "seed": seed, "store": store}
    whole = profile(candidates, sampler, renderer, verifier, k=reference, **shared)
    rows = []
    for k in (8, FIXED):
        cut = rules[0].lambda_diff
        fixed = [first_samples(p, k) for p in whole]
        rows.append(_row(fixed, whole, cut, k_max=k, first=k, step=0, error=0.0))
    for rule in rules:
        found = adaptive_profile(
            candidates, sampler, renderer, verifier, rule=rule, **shared
        )
        facts = {"k_max": rule.k_max, "first": rule.first, "step": rule.step}
        facts["error"] = rule.error
        rows.append(_row(found, whole, rule.lambda_diff, **facts))
    return rows


def _row(
    profiles: Sequence[TurnProfile],
    whole: Sequence[TurnProfile],
    cut: float,
    **rule: int | float,
) -> dict[str, int | float]:
    """What a rule spent and how well it finds the pivots of the whole profiles."""
    used = sum(p.k for p in profiles) / len(profiles)
    found, wanted = (
        [turn_class(p, cut) == "pivot" for p in given] for given in (profiles, whole)
    )
    return {
        **rule,
        "rollouts_share": round(used / FIXED, 4),
        "f1": round(f1_of(found, wanted), 4),
        "n": len(profiles),
    }
