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
from matplotlib.ticker import MaxNLocator

from pivotlab.experiments.figures.comparison import WORDS
from pivotlab.experiments.figures.looks import legend_below, look, share_range, title
from pivotlab.experiments.plotting import COLORS, GREY, figure, panel_letters

#: Colour, mark and wording of a turn by what it did to L.
STEPS = {
    "nearer": (COLORS["green"], "o", "one turn nearer"),
    "idle": (GREY, "s", "no nearer"),
    "mistake": (COLORS["red"], "X", "mistake: L grew"),
}
#: What `side_by_side` prints of an observation (characters) and a continuation (rows).
SEEN, SHOWN = 62, 12


def remaining_path(table: pd.DataFrame) -> Figure:
    """L after every turn of one episode, coloured by what the turn did to it."""
    fig, ax = figure(ratio=0.38)
    path = [table["before"].iloc[0], *table["after"]]
    ax.plot(range(len(path)), path, color=GREY, marker="", linestyle="-", zorder=1)
    for kind, (color, marker, label) in STEPS.items():
        own = table[table["kind"] == kind]
        style = {"color": color, "marker": marker, "linestyle": "none"}
        ax.plot(own["turn"] + 1, own["after"], label=label, **style)
    for row in table[table["kind"] == "mistake"].itertuples():
        place = {"xytext": (1, 5), "textcoords": "offset points", "rotation": 40}
        ax.annotate(row.action, (row.turn + 1, row.after), fontsize=6, **place)
    # Room for the actions above the highest point.
    ax.set_ylim(0, 1.45 * max(path))
    ax.yaxis.set_major_locator(MaxNLocator(6, integer=True))
    ax.set(xlabel="turns taken", ylabel="L, turns still needed")
    legend_below(fig, 3, [ax])
    return fig


def first_mistakes_figure(diagnosis: pd.DataFrame) -> Figure:
    """Where failed episodes go wrong first, and which kinds of task do."""
    fig, axes = figure(columns=2, ratio=0.4)
    failed = diagnosis[~diagnosis["won"]]
    found = failed.dropna(subset="first_pivot")
    most = int(diagnosis["turns"].max())
    axes[0].hist(found["first_pivot"].astype(int), np.arange(most + 1) - 0.5)
    axes[0].set(xlabel="turn of the first mistake (from 0)", ylabel="failed episodes")
    axes[0].yaxis.set_major_locator(MaxNLocator(integer=True))
    axes[0].set_title(f"{len(found)} of {len(failed)} failures have one")
    kinds = sorted(diagnosis["task_type"].unique(), reverse=True)
    places = np.arange(len(kinds))
    lost = failed["task_type"].value_counts().reindex(kinds, fill_value=0)
    wrong = found["task_type"].value_counts().reindex(kinds, fill_value=0)
    label = "with a mistake"
    axes[1].barh(places, wrong, 0.7, color=COLORS["blue"], label=label)
    rest = {"color": "white", "edgecolor": GREY, "hatch": "////", "linewidth": 0.7}
    axes[1].barh(places, lost - wrong, 0.7, wrong, label="without one", **rest)
    names = [textwrap.fill(k.replace("_", " "), 20) for k in kinds]
    axes[1].set_yticks(places, names, fontsize=6.5)
    axes[1].set(xlabel="failed episodes")
    axes[1].set_title("by kind of task")
    legend_below(fig, 2, axes[1:])
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


def side_by_side(cases: Mapping[str, Mapping[str, pd.DataFrame]]) -> Figure:
    """Mistakes replayed under several policies, turn by turn; a row of panels a case.

    Of each continuation the first `SHOWN` rows are printed.

    Args:
        cases: case -> policy -> `diagnosis.collapse_repeats` of its continuation.
    """
    longest = [max(map(len, tables.values())) for tables in cases.values()]
    heights = [min(SHOWN, rows) + 1 for rows in longest]
    fig, axes = figure(
        rows=len(cases),
        columns=max(map(len, cases.values())),
        ratio=0.06 * len(cases) + 0.042 * sum(heights),
        squeeze=False,
        gridspec_kw={"height_ratios": heights},
    )
    for line, height, (case, tables) in zip(axes, heights, cases.items(), strict=True):
        for ax, (policy, table) in zip(line, tables.items(), strict=True):
            ax.set(xlim=(0, 1), ylim=(height - 0.6, -0.6))
            ax.axis("off")
            ax.set_title(f"{case}, {policy}:\n{_ending(table)}")
            for place, row in enumerate(table.head(SHOWN).itertuples()):
                _print_turn(ax, place, row)
            left = int(table["times"].iloc[SHOWN:].sum())
            if left:
                ax.text(0.15, SHOWN, f"… {left} more turns", color=GREY, fontsize=6)
    return fig


def _ending(table: pd.DataFrame) -> str:
    last, turns = table["after"].iloc[-1], int(table["times"].sum())
    if last == 0:
        return f"done in {turns} turns"
    return f"not done after {turns} turns, L = {last:g}"


def _print_turn(ax: Axes, place: int, row) -> None:
    color = STEPS[row.kind][0]
    often = f"  ×{row.times}" if row.times > 1 else ""
    ax.text(0.0, place, f"L {row.before:g}→{row.after:g}", color=color, fontsize=6)
    ax.text(0.15, place, row.action + often, color=color, weight="bold", fontsize=6.5)
    seen = textwrap.shorten(row.observation, SEEN, placeholder=" …")
    ax.text(0.15, place + 0.42, seen, color=GREY, fontsize=5.5)


def success_by_arm(table: pd.DataFrame, decoding: str) -> Figure:
    """Games won by every arm at its last step.

    Args:
        table: of `episode_summaries.final_success`.
        decoding: of the table, for the axis.
    """
    fig, ax = figure("column", ratio=0.12 + 0.085 * len(table))
    places = np.arange(len(table))[::-1]
    error = [table["mean"] - table["lo"], table["hi"] - table["mean"]]
    colors = [look(arm)["color"] for arm in table["arm"]]
    ax.barh(places, table["mean"], 0.6, color=colors, alpha=0.75)
    ax.errorbar(table["mean"], places, xerr=error, fmt="none", ecolor="black")
    ax.set_yticks(places, [title(arm) for arm in table["arm"]])
    ax.set(xlim=share_range(0.0, table["hi"].max()))
    ax.set(xlabel=f"games won, {WORDS[decoding]}")
    return fig


def recovery_curves(table: pd.DataFrame) -> Figure:
    """Share of the base's mistakes recovered within n turns, with bands over seeds.

    Args:
        table: of `episode_summaries.recovery_means`.
    """
    fig, ax = figure(ratio=0.42)
    for arm, own in table.groupby("arm", sort=False):
        seeds, style = own["seeds"].iloc[0], look(arm)
        label = f"{title(arm)} (seeds: {seeds})"
        ax.plot(own["turns"], own["mean"], label=label, markevery=5, **style)
        band = {"color": style["color"], "alpha": 0.13, "linewidth": 0}
        if own["lo"].notna().all():
            ax.fill_between(own["turns"], own["lo"], own["hi"], **band)
    ax.set(xlabel="turns after the mistake", ylabel="mistakes recovered")
    ax.set_ylim(share_range(0.0, table[["mean", "hi"]].max().max()))
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return fig


def recovery_and_retention(table: pd.DataFrame, decoding: str) -> Figure:
    """Per arm: recovered, against the base mistake by mistake, and skills kept.

    Args:
        table: of `episode_summaries.recovery_summary`.
        decoding: of the skills, for the axis.
    """
    panels = list(dict.fromkeys(table["panel"]))
    arms = list(dict.fromkeys(table["arm"]))
    fig, axes = figure(
        columns=len(panels), ratio=0.16 + 0.032 * len(arms), sharey=True, squeeze=False
    )
    draw = {"recovered": _points, "against the base": _stacked, "skills kept": _points}
    labels = {
        "recovered": "share of mistakes recovered",
        "against the base": "share of mistakes",
        "skills kept": f"change of accuracy, {WORDS[decoding]}",
    }
    for ax, panel in zip(axes[0], panels, strict=True):
        ax.set_xlim(_axis(panel, table[table["panel"] == panel]))
        draw[panel](ax, table[table["panel"] == panel], arms)
        ax.set_title(panel)
        ax.set_xlabel(labels[panel])
    axes[0][0].set_yticks(range(len(arms)), [title(arm) for arm in arms])
    axes[0][0].invert_yaxis()
    legend_below(fig, 3, axes[0])
    panel_letters(axes[0])
    return fig


def _axis(panel: str, rows: pd.DataFrame) -> tuple[float, float]:
    """From 0 for shares; changes of skills on at least two points either way."""
    if panel == "against the base":
        return 0.0, 1.0
    if panel == "recovered":
        return share_range(0.0, rows[["mean", "hi"]].max().max())
    most = max(0.02, 1.1 * rows[["lo", "hi"]].abs().max().max())
    return -most, most


def _points(ax: Axes, rows: pd.DataFrame, arms: Sequence[str]) -> None:
    for row in rows.itertuples():
        ends = [[row.mean - row.lo], [row.hi - row.mean]]
        style = {k: v for k, v in look(row.arm).items() if k != "linestyle"}
        place = arms.index(row.arm)
        ax.errorbar(row.mean, place, xerr=ends, linestyle="none", capsize=2, **style)
    ax.axvline(0, color="black", linewidth=0.6, marker="", linestyle="-")


def _stacked(ax: Axes, rows: pd.DataFrame, arms: Sequence[str]) -> None:
    """Three shares of one bar, named in words that do not need the colours."""
    left = np.zeros(len(arms))
    for part, color, hatch, label in (
        ("better", COLORS["blue"], "", "recovered more often than by the base"),
        ("same", "#DDDDDD", "", "equally often"),
        ("worse", COLORS["red"], "////", "less often"),
    ):
        own = rows[rows["part"] == part].set_index("arm")["mean"].reindex(arms)
        ax.barh(range(len(arms)), own, 0.7, left, color=color, hatch=hatch, label=label)
        left += own.to_numpy()


def overhead_bars(table: pd.DataFrame) -> Figure:
    """Seconds of a step over GRPO's, teacher apart; rows of `overhead`."""
    fig, ax = figure("column", ratio=0.75)
    typed = table.astype(float)
    ax.bar(typed["k"], typed["ratio"] - 1, 0.5, color=COLORS["sky"], label="measured")
    for k, limit in ((1, 0.12), (2, 0.30)):
        label = "our limits, 12 % and 30 %" if k == 1 else None
        line = {"color": COLORS["red"], "linestyle": "--", "label": label}
        ax.hlines(limit, k - 0.4, k + 0.4, **line)
    ax.axhline(0, color="black", linewidth=0.6, marker="", linestyle="-")
    ax.set(xlabel="recovery turns K", ylabel="step time over GRPO (share)")
    ax.set_xticks(typed["k"])
    legend_below(fig, 2, [ax])
    return fig
