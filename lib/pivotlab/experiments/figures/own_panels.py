"""Our own records as rows of panels: means over seeds with intervals, in percent.

Intervals are Student's t over seed means, or Wilson over games and questions where
there is one seed; bootstrap intervals are taken from the records as they are. An arm
that is asked for and has no record keeps its row, with the reason in its note. The base
is not trained and has no seeds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from pivotlab.experiments.figures.panels import ROWS, rows_of
from pivotlab.experiments.own_records import OwnRecords
from pivotlab.experiments.summaries import over_seeds, retention_rows, success_rows

#: Shares are recorded in [0, 1] and shown in percent.
PERCENT = 100.0
NOT_RUN = "not run"
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


def empty_rows() -> pd.DataFrame:
    return pd.DataFrame(columns=list(ROWS))


def last_common_step(rows: pd.DataFrame, arms: Sequence[str]) -> int:
    """The longest training at which most arms were evaluated; 0 without any.

    The arm "base" is not trained and does not count.
    """
    trained = rows[rows["arm"].isin(arms) & (rows["arm"] != "base")]
    counts = trained.groupby("steps")["arm"].nunique()
    return int(max(counts[counts == counts.max()].index, default=0))


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
    parts = {}
    for column, chosen in columns.items():
        if arms.empty:
            continue
        rows = success_rows(arms, **chosen)
        rows = at_step(rows[rows["decoding"] == decoding], list(labels), steps)
        parts[column] = over_seeds(rows, "success", ("arm",))
    return ordered(parts, labels, arms, steps)


def ordered(
    parts: Mapping[str, pd.DataFrame],
    labels: Mapping[str, str],
    records: pd.DataFrame,
    steps: int,
    scale: float = PERCENT,
) -> pd.DataFrame:
    """Tables of means as panel rows in the order of the labels, one row a label.

    Args:
        parts: column -> rows of `summaries.over_seeds` by arm.
        records: where the arms come from; tells what was not run from what was run
            to other lengths than `steps`.
    """
    ran = set(records["arm"])
    tables = []
    for column, table in parts.items():
        if table.empty:
            table = pd.DataFrame(columns=["arm", "mean", "lo", "hi", "seeds", "n"])
        table = table.set_index("arm").reindex(list(labels)).reset_index()
        why = [f"not at {steps} steps" if arm in ran else NOT_RUN for arm in labels]
        table["note"] = np.where(table["mean"].isna(), why, "")
        table.loc[table["arm"] == "base", "seeds"] = np.nan
        tables.append(table.assign(row=table["arm"].map(dict(labels)), column=column))
    if not tables or all(table["mean"].isna().all() for table in tables):
        return empty_rows()
    rows = pd.concat(tables, ignore_index=True).sort_values(
        "row",
        key=lambda r: r.map({n: i for i, n in enumerate(labels.values())}),
        kind="stable",
    )
    return rows_of(
        rows.astype({"mean": float, "lo": float, "hi": float}), "mean", scale
    )


def retention_changes(
    retention: pd.DataFrame, labels: Mapping[str, str], decoding: str, steps: int
) -> pd.DataFrame:
    """Change of accuracy against the base, in points: per unrelated skill, and on
    average over them.

    The base's own error is not part of the interval.
    """
    skills = {
        s: retention[retention["skill"] == s] for s in retention["skill"].unique()
    }
    parts = {}
    for skill, own in [*sorted(skills.items()), ("average", retention)]:
        rows = retention_rows(own)
        rows = rows[rows["decoding"] == decoding]
        rows = at_step(rows, ["base", *labels], steps)
        if rows.empty or "base" not in set(rows["arm"]):
            continue
        table = over_seeds(rows, "accuracy", ("arm",)).set_index("arm")
        trained = table.drop(index="base")
        ends = ["mean", "lo", "hi"]
        trained[ends] = trained[ends] - table.loc["base", "mean"]
        parts[skill] = trained.reset_index()
    changes = ordered(parts, labels, retention, steps)
    changes = changes.rename(columns={"row": "column", "column": "row"})
    order = {skill: place for place, skill in enumerate(parts)}
    return changes.sort_values(
        "row", key=lambda r: r.map(order), kind="stable", ignore_index=True
    )


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
        return empty_rows()
    table = over_seeds(own, value, ("arm", "steps"))
    start = table[table["arm"] == "base"].assign(seeds=np.nan)
    parts = []
    for arm, label in labels.items():
        line = table[table["arm"] == arm]
        line = pd.concat([start, line]).sort_values("steps") if len(line) else line
        parts.append(line.assign(row=line["steps"], column=label))
    return rows_of(pd.concat(parts), "mean", scale)


def training_lines(
    training: pd.DataFrame, column: str, labels: Mapping[str, str], marks: int = 1
) -> pd.DataFrame:
    """A figure of training against steps: mean over seeds, with their range.

    Args:
        column: of the table pivotrl_training. `reward_std` is the standard deviation of
            all rewards of a batch, whatever group they belong to;
            `frac_reward_zero_std` is the share of groups whose rewards are all equal.
        marks: recorded steps of the centred running mean of every run, 1 for none; at
            the ends it takes as many as there are.
    """
    own = training[training["arm"].isin(labels)].dropna(subset=column)
    if own.empty:
        return empty_rows()
    own = own.sort_values(["arm", "seed", "steps"])
    runs = own.groupby(["arm", "seed"])[column]
    own["mean"] = runs.transform(
        lambda run: run.rolling(marks, center=True, min_periods=1).mean()
    )
    grouped = own.groupby(["arm", "steps"])["mean"]
    table = grouped.agg(mean="mean", lo="min", hi="max", seeds="size").reset_index()
    table["row"], table["column"] = table["steps"], table["arm"].map(dict(labels))
    return rows_of(table, "mean")


def cost_lines(costs: pd.DataFrame, decoding: str) -> pd.DataFrame:
    """Success against rollout turns (thousands), mean over seeds; e2e_vs_pivot."""
    own = costs[costs["decoding"] == decoding]
    if own.empty:
        return empty_rows()
    table = over_seeds(own, "success", ("method", "steps"))
    table.loc[table["steps"] == 0, "seeds"] = np.nan
    turns = own.groupby(["method", "steps"])["rollout_turns"].mean()
    keys = zip(table["method"], table["steps"], strict=True)
    table["row"] = [turns[key] / 1000 for key in keys]
    table = table.rename(columns={"method": "column"})
    # The paper's own method first, as in its figures.
    table = table.sort_values(["column", "row"], ascending=[False, True])
    return rows_of(table, "mean", PERCENT)


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
    return pd.concat(parts, ignore_index=True) if len(table) else empty_rows()


def overhead_rows(own: OwnRecords) -> pd.DataFrame:
    """Step time over GRPO's in percent, teacher calls apart; the table overhead."""
    table = own.table("overhead")
    if table.empty:
        return empty_rows()
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
        return empty_rows()
    names = [
        f"{m}, K = {k:.0f}" for m, k in zip(table["model"], table["k"], strict=True)
    ]
    return rows_of(table.assign(row=names, column="silent"), "zero_share", PERCENT)
