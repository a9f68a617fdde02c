"""What the profile of a log says, per domain, with intervals over trajectories."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from pivotlab.intervals import Interval, bootstrap_mean, wilson
from pivotlab.pivots.selection import LAMBDA_DIFF, class_shares
from pivotlab.records import Candidate, TurnProfile
from pivotlab.theory.group_advantage import mixed_probability

#: A K at which a turn looks constant more often than this is called small.
OFTEN = 0.5


def summary(
    candidates: Sequence[Candidate],
    profiles: Mapping[str, TurnProfile],
    lambda_diff: float = LAMBDA_DIFF,
) -> pd.DataFrame:
    """One row a domain, and `all` where there are several.

    Columns: domain, n (turns), trajectories, k, zero_signal with lo and hi, one share a
    class, accepted (samples), miss_rate with miss_rate_lo and miss_rate_hi, truncated
    (share of samples). Limits are 95 %, see `share`; what is undefined is NaN.
    """
    rows = [
        {"domain": domain, **_summary(turns, profiles, lambda_diff)}
        for domain, turns in by_domain(candidates).items()
    ]
    return pd.DataFrame(rows)


def depth_note(profiles: Sequence[TurnProfile]) -> str | None:
    """How often a turn looks constant by chance at this K: p^K + (1 - p)^K.

    p is the mean pass rate of the turns. None where that is 0 or 1: nothing says that
    another K would help.
    """
    rate, k = sum(p.mu for p in profiles) / len(profiles), profiles[0].k
    if not 0.0 < rate < 1.0:
        return None
    chance = 1.0 - mixed_probability(rate, k)
    text = f"a turn with pass rate {rate:.2f} looks constant at K = {k} in {chance:.0%}"
    return f"{text} of cases" + ("; sample more (--k)" if chance > OFTEN else "")


def share(values: Sequence[float], clusters: Sequence[str]) -> Interval:
    """A share of 0/1 values with a bootstrap over clusters, no narrower than Wilson's.

    The bootstrap knows that values of one trajectory go together, but claims certainty
    where all trajectories agree; Wilson's limits for as many values as there are
    trajectories do not.
    """
    found = bootstrap_mean(values, clusters)
    count = len(set(clusters))
    plain = wilson(round(found.value * count), count)
    return Interval(found.value, min(found.lo, plain.lo), max(found.hi, plain.hi))


def record_rows(
    candidates: Sequence[Candidate],
    profiles: Mapping[str, TurnProfile],
    source: str,
    model: str,
    **settings: Any,
) -> list[dict[str, Any]]:
    """Rows of the record `real_logs`, one a domain, with the settings that made them.

    zero_signal is a share of the n turns, accepted and truncated are shares of their
    n k samples. Their 95 % limits are Wilson's: unlike those of `summary` they take
    turns as independent, and say something where a share is 0 or 1.
    """
    rows = []
    for domain, turns in by_domain(candidates).items():
        own = [profiles[c.uid] for c in turns]
        counts = {
            "zero_signal": [len(set(p.rewards)) == 1 for p in own],
            "accepted": [r >= 1.0 for p in own for r in p.rewards],
            "truncated": [t for p in own for t in p.truncated],
        }
        row = {"source": source, "model": model, "domain": domain, "n": len(own)}
        row |= {"trajectories": len({c.trajectory_uid for c in turns}), "k": own[0].k}
        for name, values in counts.items():
            share = wilson(sum(values), len(values))
            row |= {name: share.value, f"{name}_lo": share.lo, f"{name}_hi": share.hi}
        rows.append({**row, **settings})
    return rows


def by_domain(candidates: Sequence[Candidate]) -> dict[str, list[Candidate]]:
    """Turns of every domain, and `all` where there are several."""
    groups: dict[str, list[Candidate]] = {}
    for candidate in candidates:
        groups.setdefault(candidate.domain, []).append(candidate)
    if len(groups) > 1:
        groups["all"] = list(candidates)
    return groups


def _accepted(profiles: Sequence[TurnProfile]) -> Iterator[tuple[float, TurnProfile]]:
    """(1 if exact match misses it, profile) of every accepted sample."""
    for p in profiles:
        for functional, strict in zip(p.rewards, p.strict_rewards, strict=True):
            if functional >= 1.0:
                yield float(strict < 1.0), p


def _summary(
    turns: Sequence[Candidate], profiles: Mapping[str, TurnProfile], cut: float
) -> dict[str, Any]:
    clusters = {c.uid: c.trajectory_uid for c in turns}
    own = [profiles[c.uid] for c in turns]
    silent = [float(len(set(p.rewards)) == 1) for p in own]
    zero = share(silent, [clusters[p.uid] for p in own])
    missed = list(_accepted(own))
    nan = (float("nan"),) * 3
    miss = nan
    if missed:
        owners = [clusters[p.uid] for _, p in missed]
        miss = share([value for value, _ in missed], owners)
    cut_off = [t for p in own for t in p.truncated]
    return {
        "n": len(own),
        "trajectories": len(set(clusters.values())),
        "k": own[0].k,
        **dict(zip(("zero_signal", "lo", "hi"), zero, strict=True)),
        **class_shares(own, cut),
        "accepted": len(missed),
        **dict(zip(("miss_rate", "miss_rate_lo", "miss_rate_hi"), miss, strict=True)),
        "truncated": sum(cut_off) / len(cut_off),
    }
