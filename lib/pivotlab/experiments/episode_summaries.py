"""Tables of end-to-end records to tables of means: success, recovery, skills kept.

Intervals are Student's t over seed means where there are two seeds or more; with one,
Wilson over games or questions, or the record's bootstrap over mistakes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from pivotlab.experiments.summaries import (
    last_steps,
    over_seeds,
    retention_rows,
    success_rows,
)
from pivotlab.intervals import t_mean

_NONE = (np.nan, np.nan)


def final_success(
    records: pd.DataFrame, arms: Sequence[str], decoding: str
) -> pd.DataFrame:
    """Success of every arm at its last step; arm, mean, lo, hi, seeds, n."""
    rows = success_rows(last_steps(records))
    rows = rows[(rows["decoding"] == decoding) & rows["arm"].isin(arms)]
    means = over_seeds(rows, "success", ("arm",))
    return means.set_index("arm").loc[list(arms)].reset_index()


def recovery_means(curves: pd.DataFrame, arms: Sequence[str]) -> pd.DataFrame:
    """Recovered within n turns, mean over seeds with a t interval over them.

    Returns:
        arm, turns, mean, lo, hi (missing where there is one seed), seeds.
    """
    own = curves[curves["arm"].isin(arms)].astype({"turns": int, "recovered": float})
    table = []
    for arm in arms:
        for turns, rates in own[own["arm"] == arm].groupby("turns")["recovered"]:
            mean, lo, hi = t_mean(rates) if len(rates) > 1 else (rates.mean(), *_NONE)
            row = {"arm": arm, "turns": turns, "mean": mean}
            ends = np.clip([lo, hi], 0, 1)
            table.append(row | {"lo": ends[0], "hi": ends[1], "seeds": len(rates)})
    return pd.DataFrame(table)


def recovery_summary(
    replays: pd.DataFrame, retention: pd.DataFrame, arms: Sequence[str], decoding: str
) -> pd.DataFrame:
    """What each arm recovers, against the base mistake by mistake, and what it keeps.

    Args:
        replays: the table recovery_replay, one row an arm and seed.
        retention: the table pivotopd_retention; may be empty.
        arms: of these, in this order; those without records are left out.

    Returns:
        panel ("recovered", "against the base", "skills kept"), arm, part (of the second
        panel: better, same, worse), mean, lo, hi, seeds, n. "skills kept" is the change
        of mean accuracy against the base, without the base's own error.
    """
    numbers = ["rate", "lo", "hi", "mistakes", "repeats", "better", "same", "worse"]
    own = replays[replays["arm"].isin(arms)].astype(dict.fromkeys(numbers, float))
    parts = [_recovered(own)]
    if set(arms) != {"base"}:
        parts += _against_base(own[own["arm"] != "base"])
    if len(retention):
        parts.append(_kept(retention[retention["arm"].isin(arms)], decoding))
    table = pd.concat(parts, ignore_index=True)
    table["place"] = table["arm"].map(list(arms).index)
    table = table.sort_values("place", kind="stable", ignore_index=True)
    columns = ["panel", "arm", "part", "mean", "lo", "hi", "seeds", "n"]
    return table.reindex(columns=columns)


def _recovered(own: pd.DataFrame) -> pd.DataFrame:
    cases = own["mistakes"] * own["repeats"]
    table = over_seeds(own.assign(n=cases), "rate", ("arm",)).set_index("arm")
    # Plays of one mistake belong together: the record's bootstrap, not Wilson.
    alone = table.index[table["seeds"] == 1]
    ends = own.set_index("arm")[["lo", "hi"]]
    table.loc[alone, ["lo", "hi"]] = ends.loc[alone].to_numpy()
    return table.reset_index().assign(panel="recovered")


def _against_base(own: pd.DataFrame) -> list[pd.DataFrame]:
    parts = []
    for part in ("better", "same", "worse"):
        shares = own.assign(share=own[part] / own["mistakes"], n=own["mistakes"])
        table = over_seeds(shares, "share", ("arm",)).assign(lo=np.nan, hi=np.nan)
        parts.append(table.assign(panel="against the base", part=part))
    return parts


def _kept(retention: pd.DataFrame, decoding: str) -> pd.DataFrame:
    rows = retention_rows(last_steps(retention))
    rows = rows[rows["decoding"] == decoding]
    table = over_seeds(rows, "accuracy", ("arm",))
    base = table[table["arm"] == "base"]["mean"].iloc[0]
    ends = ["mean", "lo", "hi"]
    table[ends] = table[ends] - base
    return table[table["arm"] != "base"].assign(panel="skills kept")
