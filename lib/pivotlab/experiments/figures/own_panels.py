"""Our own records as rows of panels: means over seeds with intervals, in percent.

Intervals are Student's t over seed means, or Wilson over games and questions where
there is one seed; bootstrap intervals are taken from the records as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from pivotlab.experiments.figures.papers import ROWS, rows_of
from pivotlab.experiments.own_records import OwnRecords
from pivotlab.experiments.summaries import over_seeds, retention_rows, success_rows

#: Shares are recorded in [0, 1] and shown in percent.
PERCENT = 100.0
#: Arm -> what it is called beside the paper's rows.
PIVOTRL_ARMS = {
    "base": "base",
    "sft": "SFT",
    "exact/random": "random turns + exact",
    "functional/random": "random turns + functional",
    "exact/pivots": "pivots + exact",
    "functional/pivots": "pivots + functional (PivotRL)",
    "placebo": "pivots + coin (placebo)",
}
PIVOTOPD_ARMS = {
    "base": "base",
    "grpo": "GRPO",
    "opsd": "standard OPD (OPSD)",
    "random turns": "random turns",
    "no action named": "no action named",
    "reverse-KL recovery": "reverse-KL recovery",
    "recovery": "recovery only",
    "prevention": "preventive only",
    "full": "PivotOPD",
}


def _empty() -> pd.DataFrame:
    return pd.DataFrame(columns=list(ROWS))


def last_common_step(rows: pd.DataFrame, arms: Sequence[str]) -> int:
    """The longest training at which every arm present was evaluated; 0 without any.

    The arm "base" is not trained and does not count.
    """
    trained = rows[rows["arm"].isin(arms) & (rows["arm"] != "base")]
    marks = [set(own["steps"].astype(int)) for _, own in trained.groupby("arm")]
    common = set.intersection(*marks) if marks else set()
    return max(common, default=0)


def after(steps: int) -> str:
    """How a title says it: nothing where there is no training to speak of."""
    return f", {steps} steps" if steps else ""


def at_step(rows: pd.DataFrame, arms: Sequence[str], steps: int) -> pd.DataFrame:
    """Rows of the arms at one length, and of the base."""
    wanted = rows["arm"].isin(arms)
    here = (rows["arm"] == "base") | (rows["steps"] == steps)
    return rows[wanted & here]


def success_bars(
    arms: pd.DataFrame,
    labels: Mapping[str, str],
    decoding: str,
    columns: Mapping[str, Mapping[str, object]],
    steps: int,
) -> pd.DataFrame:
    """Success of arms at one length.

    Args:
        arms: the table pivotrl_arms or pivotopd_arms.
        labels: arm -> row, in the order drawn.
        columns: column -> arguments of `summaries.success_rows`.
    """
    parts = []
    for column, chosen in columns.items():
        if arms.empty:
            continue
        rows = success_rows(arms, **chosen)
        rows = at_step(rows[rows["decoding"] == decoding], list(labels), steps)
        if len(rows):
            table = over_seeds(rows, "success", ("arm",))
            parts.append(table.assign(column=column))
    return _ordered(parts, labels)


def _ordered(parts: Sequence[pd.DataFrame], labels: Mapping[str, str]) -> pd.DataFrame:
    if not parts:
        return _empty()
    table = pd.concat(parts, ignore_index=True)
    table["place"] = [list(labels).index(arm) for arm in table["arm"]]
    table = table.sort_values("place", kind="stable")
    table["row"] = table["arm"].map(dict(labels))
    return rows_of(table, "mean", PERCENT)


def retention_changes(
    retention: pd.DataFrame, labels: Mapping[str, str], decoding: str, steps: int
) -> pd.DataFrame:
    """Change of accuracy per unrelated skill against the base, in points.

    The base's own error is not part of the interval.
    """
    parts = []
    for skill in sorted(set(retention["skill"])):
        rows = retention_rows(retention[retention["skill"] == skill])
        rows = rows[rows["decoding"] == decoding]
        rows = at_step(rows, ["base", *labels], steps)
        if rows.empty:
            continue
        table = over_seeds(rows, "accuracy", ("arm",)).set_index("arm")
        trained = table.drop(index="base", errors="ignore")
        if "base" not in table.index or trained.empty:
            continue
        for end in ("mean", "lo", "hi"):
            trained[end] = trained[end] - table.loc["base", "mean"]
        parts.append(trained.reset_index().assign(column=skill))
    changes = _ordered(parts, labels)
    return changes.rename(columns={"row": "column", "column": "row"})


def curve_lines(
    rows: pd.DataFrame, value: str, labels: Mapping[str, str], scale: float = PERCENT
) -> pd.DataFrame:
    """A share against steps, one line an arm.

    Args:
        rows: arm, seed, steps, n and `value`; of the base, step 0 alone, from which
            every line starts.
    """
    own = rows[rows["arm"].isin([*labels, "base"])].dropna(subset=value)
    if own.empty:
        return _empty()
    table = over_seeds(own, value, ("arm", "steps"))
    start = table[table["arm"] == "base"]
    parts = []
    for arm, label in labels.items():
        line = table[table["arm"] == arm]
        if len(line):
            line = pd.concat([start, line]).sort_values("steps")
            parts.append(line.assign(row=line["steps"], column=label))
    return rows_of(pd.concat(parts), "mean", scale) if parts else _empty()


def silence_lines(training: pd.DataFrame, labels: Mapping[str, str]) -> pd.DataFrame:
    """Reward std within a group against steps: mean over seeds, with their range."""
    own = training[training["arm"].isin(labels)].dropna(subset="reward_std")
    if own.empty:
        return _empty()
    grouped = own.groupby(["arm", "steps"])["reward_std"]
    table = grouped.agg(mean="mean", lo="min", hi="max", seeds="size").reset_index()
    table["row"], table["column"] = table["steps"], table["arm"].map(dict(labels))
    return rows_of(table, "mean")


def cost_lines(costs: pd.DataFrame, decoding: str) -> pd.DataFrame:
    """Success against rollout turns (thousands), mean over seeds; e2e_vs_pivot."""
    own = costs[costs["decoding"] == decoding]
    if own.empty:
        return _empty()
    table = over_seeds(own, "success", ("method", "steps"))
    turns = own.groupby(["method", "steps"])["rollout_turns"].mean()
    keys = zip(table["method"], table["steps"], strict=True)
    table["row"] = [turns[key] / 1000 for key in keys]
    table = table.rename(columns={"method": "column"}).sort_values(["column", "row"])
    return rows_of(table, "mean", PERCENT)


def recovery_lines(curve: pd.DataFrame, labels: Mapping[str, str]) -> pd.DataFrame:
    """Recovered within n turns: mean over seeds, with their range."""
    own = curve[curve["arm"].isin(labels)]
    if own.empty:
        return _empty()
    grouped = own.groupby(["arm", "turns"])["recovered"]
    table = grouped.agg(mean="mean", lo="min", hi="max", seeds="size").reset_index()
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
        return _empty()
    own = own.assign(n=own["mistakes"] * own["repeats"])
    table = over_seeds(own, "rate", ("arm",)).assign(column="recovered")
    if (table["seeds"] == 1).all():
        # Plays of one mistake belong together: its bootstrap, not Wilson over plays.
        ends = own.set_index("arm")[["lo", "hi"]]
        table[["lo", "hi"]] = ends.loc[table["arm"]].to_numpy()
    return _ordered([table], labels)


def simple_bars(
    table: pd.DataFrame, row: str, columns: Mapping[str, str], n: str
) -> pd.DataFrame:
    """Shares of a table as they are; interval columns end in _lo and _hi.

    Args:
        row: column that names the rows.
        columns: column of the table -> column of the panel.
        n: column that counts the cases.
    """
    parts = []
    for column, label in columns.items():
        ends = {e: table.get(f"{column}_{e}", table.get(e)) for e in ("lo", "hi")}
        part = table.assign(row=table[row], column=label, n=table[n], **ends)
        parts.append(rows_of(part, column, PERCENT))
    return pd.concat(parts, ignore_index=True) if len(table) else _empty()


def method_grid(own: OwnRecords) -> pd.DataFrame:
    """Success per method and environment, mean over seeds; the table methods.

    Raises:
        ValueError: a method has two rows for one environment and seed.
    """
    table = own.table("methods")
    if table.empty:
        return _empty()
    keys = ["environment", "method", "seed"]
    if table.duplicated(keys).any():
        raise ValueError(f"methods.csv has several rows for one {', '.join(keys)}")
    means = over_seeds(table, "success", ("method", "environment"))
    means["row"], means["column"] = means["method"], means["environment"]
    return rows_of(means, "mean", PERCENT)


def k_bars(own: OwnRecords, decoding: str) -> pd.DataFrame:
    """Success and recovery of the arms K=0 to K=3 at their last common step."""
    labels = {f"K={k}": f"K={k}" for k in range(4)}
    arms, replays = own.table("pivotopd_arms"), own.table("recovery_replay")
    steps = last_common_step(arms, list(labels))
    parts = [
        success_bars(arms, labels, decoding, {"success": {}}, steps),
        recovery_bars(replays, labels, steps),
    ]
    parts = [p for p in parts if len(p)]
    return pd.concat(parts, ignore_index=True) if parts else _empty()


def overhead_rows(own: OwnRecords) -> pd.DataFrame:
    """Step time over GRPO's in percent, teacher calls apart; the table overhead."""
    table = own.table("overhead")
    if table.empty:
        return _empty()
    rows = table.assign(
        row=[f"K={k:.0f}" for k in table["k"]],
        column="over GRPO",
        share=table["ratio"] - 1,
        n=table["steps"],
    )
    return rows_of(rows, "share", PERCENT)


def silent_rows(own: OwnRecords) -> pd.DataFrame:
    """Share of turns whose samples all agree; the table zero_signal."""
    table = own.table("zero_signal")
    if table.empty:
        return _empty()
    names = [
        f"{m}, K = {k:.0f}" for m, k in zip(table["model"], table["k"], strict=True)
    ]
    return rows_of(table.assign(row=names, column="silent"), "zero_share", PERCENT)
