"""Figures of mistakes and of what repairs them.

Intervals: bootstrap over mistakes where plays of one mistake belong together, Wilson
over games otherwise, Student's t over seeds where there are several.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pivotlab.experiments.figures.comparison import look
from pivotlab.experiments.plotting import COLORS, GREY, figure, panel_letters
from pivotlab.experiments.summaries import last_steps, over_seeds, success_rows
from pivotlab.intervals import t_mean

#: Colour of a turn by what it did to L.
STEPS = {
    "nearer": (COLORS["green"], "one turn nearer"),
    "idle": (GREY, "no nearer"),
    "mistake": (COLORS["red"], "mistake: L grew"),
}


def remaining_path(table: pd.DataFrame) -> Figure:
    """L after every turn of one episode, coloured by what the turn did to it."""
    fig, ax = figure(ratio=0.36)
    path = [table["before"].iloc[0], *table["after"]]
    ax.plot(range(len(path)), path, color=GREY, marker="")
    for kind, (color, label) in STEPS.items():
        own = table[table["kind"] == kind]
        ax.plot(own["turn"] + 1, own["after"], "o", color=color, label=label)
    for row in table[table["kind"] == "mistake"].itertuples():
        ax.annotate(row.action, (row.turn + 1, row.after), fontsize=6, rotation=30)
    ax.set(xlabel="turns taken", ylabel="L, turns still needed", ylim=(0, None))
    ax.margins(y=0.25)
    ax.legend()
    return fig


def first_mistakes_figure(diagnosis: pd.DataFrame) -> Figure:
    """Where failed episodes go wrong first, and how much is wasted after it."""
    fig, axes = figure(columns=2, ratio=0.36)
    failed = diagnosis[~diagnosis["won"]]
    found = failed.dropna(subset="first_pivot")
    most = int(diagnosis["turns"].max())
    axes[0].hist(found["first_pivot"].astype(int), np.arange(most + 1) - 0.5)
    axes[0].set(xlabel="turn of the first mistake", ylabel="failed episodes")
    axes[0].set_title(f"{len(found)} of {len(failed)} failures have one")
    kinds = sorted(diagnosis["task_type"].unique())
    places = np.arange(len(kinds))
    for shift, (label, part) in enumerate(
        (("failed", failed), ("with a mistake", found))
    ):
        counts = [int((part["task_type"] == kind).sum()) for kind in kinds]
        axes[1].barh(places + 0.4 * shift, counts, 0.38, label=label)
    axes[1].set_yticks(places + 0.2, [k.replace("_", " ")[:24] for k in kinds])
    axes[1].set(xlabel="episodes")
    axes[1].set_title("by kind of task")
    axes[1].legend()
    panel_letters(axes)
    return fig


def counterfactual_bars(table: pd.DataFrame, reported: Mapping[str, float]) -> Figure:
    """Success per intervention; the paper's values as open marks, never mixed in.

    Args:
        table: of `evaluation.recovery.counterfactual_table`.
        reported: the paper's success per intervention, as shares.
    """
    fig, ax = figure(ratio=0.4)
    places = np.arange(len(table))[::-1]
    error = [table["success"] - table["lo"], table["hi"] - table["success"]]
    ax.barh(places, table["success"], 0.6, color=COLORS["sky"])
    ax.errorbar(table["success"], places, xerr=error, fmt="none", ecolor="black")
    theirs = [reported.get(name, np.nan) for name in table["intervention"]]
    label = "PivotOPD paper (other model and game)"
    ax.plot(theirs, places, "D", mfc="none", color=COLORS["red"], label=label)
    names = [
        f"{row.intervention} (n = {row.trajectories})" for row in table.itertuples()
    ]
    ax.set_yticks(places, names)
    ax.set(xlim=(0, 1), xlabel="success, 95 % bootstrap over mistakes")
    ax.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0))
    return fig


def side_by_side(tables: Mapping[str, pd.DataFrame], shown: int = 12) -> Figure:
    """The same mistake replayed under several policies, turn by turn.

    Args:
        tables: policy -> `turn_table` of its continuation.
        shown: turns printed of each.
    """
    rows = min(shown, max(len(t) for t in tables.values()))
    fig, axes = figure(columns=len(tables), ratio=0.12 + 0.075 * rows, squeeze=False)
    for ax, (name, table) in zip(axes[0], tables.items(), strict=True):
        ax.set(xlim=(0, 1), ylim=(rows, -0.6))
        ax.axis("off")
        last = table["after"].iloc[-1]
        end = f"done in {len(table)} turns" if last == 0 else f"not done, L = {last:g}"
        ax.set_title(f"{name}: {end}")
        for place, row in enumerate(table.head(rows).itertuples()):
            _print_turn(ax, place, row)
    return fig


def _print_turn(ax: Axes, place: int, row) -> None:
    color = STEPS[row.kind][0]
    ax.text(0.0, place, f"L {row.before:g}→{row.after:g}", color=color, fontsize=6)
    ax.text(0.17, place, row.action, color=color, weight="bold", fontsize=7)
    seen = textwrap.shorten(row.observation, 62, placeholder=" …")
    ax.text(0.17, place + 0.42, seen, color=GREY, fontsize=5.5)


def success_by_arm(records: pd.DataFrame, arms: Sequence[str], decoding: str) -> Figure:
    """Final success of every arm, mean over seeds, with intervals.

    Args:
        records: the table pivotopd_arms, as text or numbers.
    """
    final = last_steps(records)
    rows = success_rows(final)
    table = over_seeds(rows[rows["decoding"] == decoding], "success", ("arm",))
    table = table.set_index("arm").loc[list(arms)]
    fig, ax = figure("column", ratio=0.75)
    places = np.arange(len(arms))[::-1]
    error = [table["mean"] - table["lo"], table["hi"] - table["mean"]]
    ax.barh(places, table["mean"], 0.6, color=COLORS["sky"])
    ax.errorbar(table["mean"], places, xerr=error, fmt="none", ecolor="black")
    ax.set_yticks(places, arms)
    ax.set(xlim=(0, 1), xlabel=f"game success, {decoding}")
    return fig


def recovery_curves(curves: pd.DataFrame, arms: Sequence[str]) -> Figure:
    """Share of the base's mistakes recovered within n turns, mean over seeds, with a
    t band over seeds where there are several."""
    fig, ax = figure("column", ratio=0.8)
    typed = curves.astype({"turns": int, "recovered": float})
    for arm in arms:
        own = typed[typed["arm"] == arm].groupby("turns")["recovered"]
        seeds, style = own.size().iloc[0], look(arm, arms)
        label = f"{arm} (seeds: {seeds})"
        ax.plot(own.mean(), label=label, **{**style, "marker": ""})
        if seeds > 1:
            _, lo, hi = np.clip(np.stack(own.agg(t_mean)), 0, 1).T
            band = {"color": style["color"], "alpha": 0.13, "linewidth": 0}
            ax.fill_between(list(own.groups), lo, hi, **band)
    ax.set(xlabel="turns after the mistake", ylabel="recovered", ylim=(0, 1))
    ax.legend(fontsize=6)
    return fig


def overhead_bars(table: pd.DataFrame) -> Figure:
    """Seconds of a step over GRPO's, teacher apart; rows of `overhead`."""
    fig, ax = figure("column", ratio=0.6)
    typed = table.astype(float)
    ax.bar(typed["k"], typed["ratio"] - 1, 0.5, color=COLORS["sky"])
    for k, limit in ((1, 0.12), (2, 0.30)):
        ax.hlines(limit, k - 0.4, k + 0.4, color=COLORS["red"], linestyle="--")
    ax.set(xlabel="recovery turns K", ylabel="step time over GRPO (share)")
    ax.set_xticks(typed["k"])
    return fig
