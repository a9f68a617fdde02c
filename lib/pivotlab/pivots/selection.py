"""Which profiled turns are trained on (PivotRL Eq. 5), and what the profile says.

Both inequalities of Eq. 5 are strict: sigma2 > 0 and mu < lambda_diff.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np

from pivotlab.intervals import Interval, wilson
from pivotlab.records import Candidate, TurnProfile

#: The paper prints no cut-off; 0.6 for its first domain is outside evidence.
LAMBDA_DIFF = 0.6

TurnClass = Literal["all_fail", "pivot", "easy_mixed", "all_pass"]


def turn_class(profile: TurnProfile, lambda_diff: float) -> TurnClass:
    """What kind of turn this is at this K.

    `all_fail` and `all_pass` have no variance and so no signal (Prop. 3.1), `pivot` is
    in D_adv, `easy_mixed` has signal but mu >= lambda_diff.
    """
    if len(set(profile.rewards)) == 1:
        return "all_fail" if profile.rewards[0] < 1.0 else "all_pass"
    return "pivot" if profile.mu < lambda_diff else "easy_mixed"


def select(
    candidates: Sequence[Candidate],
    profiles: Mapping[str, TurnProfile],
    rule: str,
    lambda_diff: float = LAMBDA_DIFF,
    n: int | None = None,
    seed: int = 0,
) -> list[Candidate]:
    """The turns to train on, in the order of `candidates`.

    Args:
        candidates: D_cand.
        profiles: by candidate uid; not read by rule "random".
        rule: "pivots" = D_adv of Eq. 5, "mixed" = any variance, "random" = no filter.
        lambda_diff: difficulty cut-off.
        n: keep so many, drawn without replacement; all if None.
        seed: of the draw.

    Raises:
        ValueError: unknown rule, or fewer than `n` turns qualify.
        KeyError: a candidate has no profile.
    """
    wanted = {"pivots": {"pivot"}, "mixed": {"pivot", "easy_mixed"}, "random": None}
    if rule not in wanted:
        raise ValueError(f"unknown rule {rule!r}; choose one of {', '.join(wanted)}")
    classes = wanted[rule]
    kept = [
        c
        for c in candidates
        if classes is None or turn_class(profiles[c.uid], lambda_diff) in classes
    ]
    if n is None:
        return kept
    if len(kept) < n:
        raise ValueError(
            f"rule {rule!r} keeps {len(kept)} of {len(candidates)} turns, fewer than "
            f"the {n} asked for; profile more trajectories or ask for fewer"
        )
    chosen = np.random.default_rng(seed).choice(len(kept), n, replace=False)
    return [kept[i] for i in sorted(chosen)]


def zero_signal(profiles: Sequence[TurnProfile]) -> Interval:
    """Share of turns whose samples all got the same reward, with a Wilson interval.

    The paper reports 71 % on its own data.
    """
    zero = sum(len(set(p.rewards)) == 1 for p in profiles)
    return wilson(zero, len(profiles))


def class_shares(
    profiles: Sequence[TurnProfile], lambda_diff: float = LAMBDA_DIFF
) -> dict[TurnClass, float]:
    """Share of every class; sums to 1."""
    names: tuple[TurnClass, ...] = ("all_fail", "pivot", "easy_mixed", "all_pass")
    found = [turn_class(p, lambda_diff) for p in profiles]
    return {name: found.count(name) / len(found) for name in names}


def miss_rate(profiles: Sequence[TurnProfile]) -> Interval:
    """Pr[strict = 0 | functional = 1] over all samples, with a Wilson interval.

    Raises:
        ValueError: no sample was accepted, so the rate is undefined.
    """
    pairs = [
        (functional, strict)
        for p in profiles
        for functional, strict in zip(p.rewards, p.strict_rewards, strict=True)
    ]
    accepted = [strict for functional, strict in pairs if functional >= 1.0]
    if not accepted:
        raise ValueError("no sample was accepted: the miss rate is undefined")
    return wilson(sum(s < 1.0 for s in accepted), len(accepted))
