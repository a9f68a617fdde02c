"""Figures and tables of the comparison of arms, drawn from its record tables alone.

Points are means over seeds; intervals are Student's t over seed means where there are
two seeds or more, else the Wilson interval over games or questions. The tables come as
text (`runs.read_records`) or as numbers.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pivotlab.experiments.plotting import COLORS, DASHES, MARKERS, figure, panel_letters
from pivotlab.intervals import t_mean, wilson

#: One look per arm, the same in every figure.
_ORDER = ("black", "orange", "sky", "green", "purple", "blue", "red")
#: Rows of the retention table that are no unrelated skill.
GAME_ROWS = ("held-out turns", "following a hint")


def look(arm: str, arms: Sequence[str]) -> dict:
    """Colour, marker and dash of an arm among those drawn; no two are alike.

    Colours and markers come round again after the seventh arm, with another dash.
    """
    place = list(arms).index(arm)
    again = place // len(_ORDER)
    return {
        "color": COLORS[_ORDER[place % len(_ORDER)]],
        "marker": MARKERS[place % len(MARKERS)],
        "linestyle": DASHES[(place + again) % len(DASHES)],
    }


def over_seeds(rows: pd.DataFrame, value: str, by: Sequence[str]) -> pd.DataFrame:
    """Mean over seeds of a share, with an interval.

    Args:
        rows: columns `by`, seed, `value`, n.
        value: a share in [0, 1].

    Returns:
        `by`, mean, lo, hi, seeds, n (cases of all seeds together).
    """
    table = []
    for key, group in rows.groupby(list(by), sort=False):
        means = group[value].astype(float).to_numpy()
        n = int(group["n"].astype(int).sum())
        mean, seeds = float(means.mean()), len(means)
        if seeds > 1:
            _, lo, hi = np.clip(t_mean(means), 0, 1)
        else:
            _, lo, hi = wilson(round(mean * n), n)
        row = dict(zip(by, key, strict=True)) | {"mean": mean, "lo": lo, "hi": hi}
        table.append(row | {"seeds": seeds, "n": n})
    return pd.DataFrame(table)


def success_rows(
    arms: pd.DataFrame,
    task_type: str = "all",
    splits: Sequence[str] = ("valid_seen", "valid_unseen"),
) -> pd.DataFrame:
    """Splits taken together: one share per arm, seed, steps and decoding."""
    own = arms[(arms["task_type"] == task_type) & arms["split"].isin(splits)].copy()
    own = own.astype({"n": int, "success": float, "steps": int, "seed": int})
    own["won"] = own["success"] * own["n"]
    keys = ["arm", "seed", "steps", "decoding"]
    both = own.groupby(keys, sort=False, as_index=False)[["n", "won"]].sum()
    return both.assign(success=both["won"] / both["n"])


def retention_rows(retention: pd.DataFrame, shared: bool | None = None) -> pd.DataFrame:
    """Accuracy averaged over skills per arm, seed, steps and decoding.

    Args:
        retention: the record table; rows about the game are left out.
        shared: only the skills that share the game's tokens (True), only the others
            (False), or all (None).
    """
    own = retention[~retention["skill"].str.startswith(GAME_ROWS)].copy()
    if shared is not None:
        own = own[own["shares_game_tokens"].astype(str) == str(shared)]
    own = own.astype({"n": int, "accuracy": float, "steps": int, "seed": int})
    keys = ["arm", "seed", "steps", "decoding"]
    grouped = own.groupby(keys, sort=False, as_index=False)
    return grouped.agg(n=("n", "sum"), accuracy=("accuracy", "mean"))


def ability_rows(retention: pd.DataFrame, name: str) -> pd.DataFrame:
    """Accuracy of one row of the retention table, such as "following a hint"."""
    own = retention[retention["skill"] == name].copy()
    own = own.astype({"n": int, "accuracy": float, "steps": int, "seed": int})
    return own[["arm", "seed", "steps", "decoding", "n", "accuracy"]]


def distance_rows(distance: pd.DataFrame, states: str, direction: str) -> pd.DataFrame:
    """KL per token per arm, seed and steps, in nats."""
    own = distance[(distance["states"] == states)]
    own = own[own["direction"] == direction]
    own = own.astype({"kl": float, "steps": int, "seed": int})
    return own[["arm", "seed", "steps", "kl"]]


def curves(
    panels: Sequence[tuple[str, pd.DataFrame, str]],
    arms: Sequence[str],
    decoding: str,
) -> Figure:
    """Shares against steps, two panels a row; step 0 is the base.

    Args:
        panels: (title, rows with arm, seed, steps, decoding, n, name of the share).
        arms: drawn in this order.
        decoding: which rows.
    """
    lines = (len(panels) + 1) // 2
    fig, axes = figure(rows=lines, columns=2, ratio=0.38 * lines, squeeze=False)
    for ax, (title, rows, value) in zip(axes.flat, panels, strict=False):
        table = over_seeds(rows[rows["decoding"] == decoding], value, ("arm", "steps"))
        start = table[table["arm"] == "base"]
        for arm in arms:
            line = pd.concat([start, table[table["arm"] == arm]]).sort_values("steps")
            _curve(ax, line, arm, look(arm, arms))
        ax.set(xlabel="optimizer steps", ylabel=decoding, ylim=(0, 1.02))
        ax.set_xscale("symlog", linthresh=60)
        ticks = sorted(table["steps"].unique())
        ax.set_xticks(ticks, [str(t) for t in ticks])
        ax.minorticks_off()
        ax.set_title(title)
    axes.flat[0].legend(loc="lower right", fontsize=6)
    panel_letters(list(axes.flat)[: len(panels)])
    return fig


def _curve(ax: Axes, line: pd.DataFrame, arm: str, style: dict) -> None:
    ax.plot(line["steps"], line["mean"], label=arm, **style)
    band = {"color": style["color"], "alpha": 0.13, "linewidth": 0}
    ax.fill_between(line["steps"], line["lo"], line["hi"], **band)


def trade_off(
    success: pd.DataFrame, retention: pd.DataFrame, arms: Sequence[str], decoding: str
) -> Figure:
    """Every evaluated policy as a point: success against retention, one per step."""
    fig, ax = figure("column", ratio=0.85)
    won = success[success["decoding"] == decoding]
    kept = retention[retention["decoding"] == decoding]
    keys = ["arm", "steps"]
    both = won.groupby(keys)["success"].mean().to_frame("success")
    both = both.join(kept.groupby(keys)["accuracy"].mean()).reset_index()
    base = both[both["arm"] == "base"]
    for arm in arms:
        line = pd.concat([base, both[both["arm"] == arm]]).sort_values("steps")
        ax.plot(line["success"], line["accuracy"], label=arm, **look(arm, arms))
        last = line.iloc[-1]
        ax.annotate(
            str(int(last["steps"])), (last["success"], last["accuracy"]), fontsize=6
        )
    # A narrow axis would make a drama of half a percent.
    low = min(0.8, both["accuracy"].min() - 0.02)
    ax.set(xlabel=f"game success, {decoding}", ylabel=f"skills kept, {decoding}")
    ax.set_ylim(low, 1.01)
    ax.legend(fontsize=6, loc="lower left")
    return fig


def forgetting_against_distance(
    retention: pd.DataFrame,
    distance: pd.DataFrame,
    arms: Sequence[str],
    decoding: str,
) -> Figure:
    """Skills lost against the KL to the base on game states; every run and mark."""
    fig, ax = figure("column", ratio=0.85)
    kept = retention[retention["decoding"] == decoding]
    keys = ["arm", "seed", "steps"]
    base = kept[kept["arm"] == "base"]["accuracy"].mean()
    points = kept.merge(distance, on=keys)
    for arm in arms:
        own = points[points["arm"] == arm]
        style = {**look(arm, arms), "linestyle": "none", "alpha": 0.8}
        ax.plot(own["kl"].clip(lower=1e-5), base - own["accuracy"], label=arm, **style)
    ax.set_xscale("log")
    ax.axhline(0, color="black", linewidth=0.6, marker="", linestyle="-")
    ax.set(
        xlabel="KL to the base on game states (nats per token)",
        ylabel=f"skill accuracy lost, {decoding}",
    )
    ax.legend(fontsize=6)
    return fig


def sweep(success: pd.DataFrame, retention: pd.DataFrame, decoding: str) -> Figure:
    """Success and retention against beta (column beta), means over seeds."""
    fig, ax = figure("column", ratio=0.7)
    panels = (
        (success, "success", "game success"),
        (retention, "accuracy", "skills kept"),
    )
    for rows, value, label in panels:
        own = rows[rows["decoding"] == decoding]
        table = over_seeds(own, value, ("beta",)).sort_values("beta")
        error = [table["mean"] - table["lo"], table["hi"] - table["mean"]]
        places = np.arange(len(table))
        ax.errorbar(places, table["mean"], yerr=error, capsize=2, label=label)
    ax.set_xticks(places, [f"{b:g}" for b in table["beta"]])
    ax.set(xlabel="beta, weight of the KL to the base", ylabel=decoding, ylim=(0, 1))
    ax.legend()
    return fig


def main_table(
    arms: pd.DataFrame,
    retention: pd.DataFrame,
    distance: pd.DataFrame,
    names: Sequence[str],
    steps: int,
) -> pd.DataFrame:
    """The comparison at one length: `mean [lo, hi]` per cell, with seeds and n."""
    success, skills = success_rows(arms), retention_rows(retention)
    kl = distance_rows(distance, "game", "forward")
    rows = []
    for name in names:
        at = 0 if name == "base" else steps
        row: dict[str, object] = {"arm": name, "steps": at}
        for label, table, value in (
            ("success", success, "success"),
            ("skills", skills, "accuracy"),
        ):
            own = table[(table["arm"] == name) & (table["steps"] == at)]
            for cell in over_seeds(own, value, ("decoding",)).to_dict("records"):
                text = f"{cell['mean']:.3f} [{cell['lo']:.3f}, {cell['hi']:.3f}]"
                row[f"{label}, {cell['decoding']}"] = text
                row["seeds"], row[f"n {label}"] = cell["seeds"], cell["n"]
        near = kl[(kl["arm"] == name) & (kl["steps"] == at)]["kl"]
        row["KL, game"] = f"{near.mean():.4f}"
        rows.append(row)
    return pd.DataFrame(rows)
