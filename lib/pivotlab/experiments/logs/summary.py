"""What the profile of a log says, per domain, with intervals over trajectories."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from pivotlab.experiments.figures.pivots import subsampled_zero_share
from pivotlab.intervals import bootstrap_mean
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
    (share of samples). Limits are 95 % bootstraps over trajectories; what is undefined
    is NaN.
    """
    groups: dict[str, list[Candidate]] = {}
    for candidate in candidates:
        groups.setdefault(candidate.domain, []).append(candidate)
    if len(groups) > 1:
        groups["all"] = list(candidates)
    rows = [
        {"domain": domain, **_summary(turns, profiles, lambda_diff)}
        for domain, turns in groups.items()
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


def zero_signal_rows(
    profiles: Mapping[str, TurnProfile], source: str, model: str
) -> pd.DataFrame:
    """Rows of the record `zero_signal`: the share at K = 2, 4, ... of the samples."""
    k = max(p.k for p in profiles.values())
    sizes = [2**i for i in range(1, k.bit_length()) if 2**i <= k]
    name = f"{model}, {source}"
    return subsampled_zero_share(list(profiles.values()), sizes, name)


def miss_rate_rows(
    candidates: Sequence[Candidate],
    profiles: Mapping[str, TurnProfile],
    source: str,
    model: str,
) -> list[dict[str, Any]]:
    """Rows of the record `miss_rate`, one a domain that accepted anything."""
    table = summary(candidates, profiles)
    return [
        {
            "source": f"{source}, samples of {model}",
            "verifier": f"by domain: {row['domain']}",
            "n": int(row["accepted"]),
            "miss_rate": row["miss_rate"],
            "lo": row["miss_rate_lo"],
            "hi": row["miss_rate_hi"],
        }
        for row in table.to_dict("records")
        if row["accepted"]
    ]


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
    zero = bootstrap_mean(silent, [clusters[p.uid] for p in own])
    missed = list(_accepted(own))
    nan = (float("nan"),) * 3
    miss = nan
    if missed:
        owners = [clusters[p.uid] for _, p in missed]
        miss = bootstrap_mean([value for value, _ in missed], owners)
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
