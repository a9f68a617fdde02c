"""Our records around mistakes as rows of panels, by the rules of `own_panels`."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from pivotlab.experiments.figures.own_panels import (
    PERCENT,
    at_step,
    empty_rows,
    last_common_step,
    ordered,
    success_bars,
)
from pivotlab.experiments.figures.panels import rows_of
from pivotlab.experiments.own_records import OwnRecords
from pivotlab.experiments.summaries import over_seeds, success_rows

NOT_RECORDED = "not recorded"
#: The recovery budgets, arm -> row.
K_ARMS = {f"K={k}": f"K = {k}" for k in range(4)}
#: Columns of recovery_replay that compare an arm with the base, mistake by mistake.
VERDICTS = ("better", "worse", "same")


def recovery_lines(curve: pd.DataFrame, labels: Mapping[str, str]) -> pd.DataFrame:
    """Recovered within n turns: mean over seeds, with their range."""
    own = curve[curve["arm"].isin(labels)]
    if own.empty:
        return empty_rows()
    grouped = own.groupby(["arm", "turns"])["recovered"]
    table = grouped.agg(mean="mean", lo="min", hi="max", seeds="size").reset_index()
    table.loc[table["arm"] == "base", "seeds"] = np.nan
    table["row"] = table["turns"]
    table["column"] = table["arm"].map(dict(labels))
    order = table["arm"].map({arm: place for place, arm in enumerate(labels)})
    table = table.assign(place=order).sort_values(["place", "turns"], kind="stable")
    return rows_of(table, "mean", PERCENT)


def recovery_bars(
    replays: pd.DataFrame, labels: Mapping[str, str], steps: int
) -> pd.DataFrame:
    """Share of the base's mistakes recovered from, plays as the cases."""
    own = at_step(replays, list(labels), steps)
    if own.empty:
        return empty_rows()
    own = own.assign(n=own["mistakes"] * own["repeats"])
    table = over_seeds(own, "rate", ("arm",))
    if (table["seeds"] == 1).all():
        # Plays of one mistake belong together: its bootstrap, not Wilson over plays.
        ends = own.set_index("arm")[["lo", "hi"]]
        table[["lo", "hi"]] = ends.loc[table["arm"]].to_numpy()
    return ordered({"recovered": table}, labels, replays, steps)


def verdict_bars(
    replays: pd.DataFrame, labels: Mapping[str, str], steps: int
) -> pd.DataFrame:
    """Mistakes from which an arm recovers more often, less often or as often as the
    base: mean count over seeds, with their range."""
    own = at_step(replays, list(labels), steps)
    if own.empty:
        return empty_rows()
    parts = {}
    for column in VERDICTS:
        grouped = own.groupby("arm")[column]
        table = grouped.agg(mean="mean", lo="min", hi="max", seeds="size")
        table["n"] = own.groupby("arm")["mistakes"].max()
        parts[column] = table.reset_index()
    return ordered(parts, labels, replays, steps, scale=1.0)


def k_bars(own: OwnRecords, decoding: str) -> pd.DataFrame:
    """Success and recovery of the arms K=0 to K=3, each at its last common step."""
    arms, replays = own.table("pivotopd_arms"), own.table("recovery_replay")
    won, recovered = (last_common_step(t, list(K_ARMS)) for t in (arms, replays))
    parts = [
        success_bars(arms, K_ARMS, decoding, {"success": {}}, won),
        recovery_bars(replays, K_ARMS, recovered),
    ]
    parts = [p for p in parts if len(p)]
    return pd.concat(parts, ignore_index=True) if parts else empty_rows()


def oracle_pivot_rows(own: OwnRecords) -> pd.DataFrame:
    """Failures of the base that hold an oracle pivot: those that are replayed.

    How many failures there were in all stands in no record.
    """
    found = own.table("counterfactual").groupby("model", sort=True)["trajectories"]
    rows = []
    for model, count in found.max().items():
        missing = {"column": "failures", "mean": np.nan, "note": NOT_RECORDED}
        rows.append({"row": model} | missing)
        rows.append({"row": model, "column": "with an oracle pivot", "mean": count})
    return rows_of(pd.DataFrame(rows), "mean") if rows else empty_rows()


def before_after_rows(own: OwnRecords, arm: str, decoding: str) -> pd.DataFrame:
    """The base and one arm: episodes lost, and what is likely at the base's mistakes.

    Probabilities are means over mistakes; those of the base have no interval.
    """
    arms, replays = own.table("pivotopd_arms"), own.table("recovery_replay")
    steps = last_common_step(arms, [arm])
    if not steps:
        return empty_rows()
    games = success_rows(arms)
    games = games[games["decoding"] == decoding]
    games = games.assign(lost=1 - games["success"])
    odds = replays.assign(n=replays["mistakes"])
    rows = []
    for name, table, column in (
        ("failure rate", games, "lost"),
        ("failures after a pivot", odds.iloc[:0], "p_mistake"),
        ("probability of the mistake", odds, "p_mistake"),
        ("probability of the oracle action", odds, "p_gold"),
    ):
        means = over_seeds(at_step(table, ["base", arm], steps), column, ("arm",))
        if table is odds:
            means.loc[means["arm"] == "base", ["lo", "hi"]] = np.nan
        rows.append(_before_after(name, means, arm))
    return rows_of(pd.concat(rows, ignore_index=True), "mean", PERCENT)


def _before_after(name: str, means: pd.DataFrame, arm: str) -> pd.DataFrame:
    """One category, the columns before (the base) and after (the arm)."""
    blank = pd.DataFrame(columns=["arm", "mean", "lo", "hi", "seeds", "n"])
    table = (blank if means.empty else means).set_index("arm").reindex(["base", arm])
    table.loc["base", "seeds"] = np.nan
    numbers = table.astype(float).assign(row=name, column=["before", "after"])
    return numbers.assign(note=np.where(numbers["mean"].isna(), NOT_RECORDED, ""))
