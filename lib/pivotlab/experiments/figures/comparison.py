"""Figures of the comparison of arms; each draws one table of `summaries`, all of it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pivotlab.experiments.figures.looks import legend_below, look, share_range, title
from pivotlab.experiments.plotting import GREY, figure, panel_letters

#: Decoding -> how an axis says it.
WORDS = {"greedy": "greedy", "t1": "temperature 1"}


def curves(table: pd.DataFrame, arms: Sequence[str], decoding: str) -> Figure:
    """Shares against steps, two panels a row; every arm starts at the base, step 0,
    whose interval is the black bar there.

    Args:
        table: of `summaries.curve_means`.
        arms: drawn in this order.
        decoding: of the table, for the axes.
    """
    names = list(dict.fromkeys(table["panel"]))
    lines = (len(names) + 1) // 2
    ratio = 0.06 + 0.33 * lines
    fig, axes = figure(rows=lines, columns=2, ratio=ratio, squeeze=False)
    for ax, name in zip(axes.flat, names, strict=False):
        rows = table[table["panel"] == name]
        for arm in arms:
            line = rows[rows["arm"].isin(["base", arm])].sort_values("steps")
            _curve(ax, line, title(arm), look(arm))
        _base_bar(ax, rows[rows["arm"] == "base"])
        _step_axis(ax, sorted(set(rows["steps"].tolist())))
        ax.set_ylabel(f"{rows['measure'].iloc[0]}, {WORDS[decoding]}")
        ax.set_ylim(share_range(rows["lo"].min(), rows["hi"].max()))
        ax.set_title(name)
    legend_below(fig, 3, axes.flat[:1])
    panel_letters(list(axes.flat)[: len(names)])
    return fig


def _curve(ax: Axes, line: pd.DataFrame, label: str, style: dict) -> None:
    ax.plot(line["steps"], line["mean"], label=label, clip_on=False, **style)
    band = {"color": style["color"], "alpha": 0.13, "linewidth": 0}
    trained = line[line["arm"] != "base"]
    ax.fill_between(trained["steps"], trained["lo"], trained["hi"], **band)


def _base_bar(ax: Axes, base: pd.DataFrame) -> None:
    ends = [base["mean"] - base["lo"], base["hi"] - base["mean"]]
    bar = {"fmt": "none", "ecolor": "black", "capsize": 3, "elinewidth": 0.9}
    ax.errorbar(base["steps"], base["mean"], yerr=ends, clip_on=False, zorder=4, **bar)


def _step_axis(ax: Axes, steps: Sequence[int]) -> None:
    """Linear up to the first evaluation, logarithmic after it; nothing left of 0."""
    first = min((s for s in steps if s), default=1)
    ax.set_xscale("symlog", linthresh=first)
    ax.set_xlim(-0.04 * first, 1.08 * max(steps[-1], first))
    ax.set_xticks(steps, [str(s) for s in steps])
    ax.minorticks_off()
    ax.set_xlabel("optimizer steps")


def trade_off(table: pd.DataFrame, arms: Sequence[str], decoding: str) -> Figure:
    """Games won against skills kept, one point a step; the last is ringed.

    The grey band is the base's interval, so that a narrow axis makes no drama of what
    the questions cannot resolve.

    Args:
        table: of `summaries.success_and_skills`.
        arms: drawn in this order.
        decoding: of the table, for the axes.
    """
    fig, ax = figure(ratio=0.46)
    (base,) = table[table["arm"] == "base"].to_dict("records")
    band = {"color": GREY, "alpha": 0.15, "linewidth": 0}
    label = f"base, 95 % interval of {base['questions']} questions"
    ax.axhspan(base["skills_lo"], base["skills_hi"], label=label, **band)
    for arm in arms:
        line = table[table["arm"].isin(["base", arm])].sort_values("steps")
        last, style = line.iloc[-1], {**look(arm), "clip_on": False}
        label = f"{title(arm)}, to {last['steps']:.0f} steps"
        ax.plot(line["success"], line["skills"], label=label, **style)
        ring = {"markersize": 9, "markeredgecolor": style["color"], "mfc": "none"}
        ax.plot(last["success"], last["skills"], "o", clip_on=False, **ring)
    word = WORDS[decoding]
    ax.set(xlabel=f"games won, {word}", ylabel=f"skills kept, {word}")
    lowest = min(
        table["skills"].min(), table["skills_lo"][table["arm"] == "base"].min()
    )
    ax.set_ylim(lowest - 0.1 * (1 - lowest), 1.0)
    legend_below(fig, 2, [ax])
    return fig


def forgetting_against_distance(
    table: pd.DataFrame, arms: Sequence[str], decoding: str
) -> Figure:
    """Skills lost against the KL to the base on game states; every run and mark.

    Args:
        table: of `summaries.lost_at_distance`.
        arms: drawn in this order.
        decoding: of the table, for the axis.
    """
    fig, ax = figure("column", ratio=1.0)
    for arm in arms:
        own = table[table["arm"] == arm]
        style = {**look(arm), "linestyle": "none", "alpha": 0.8}
        ax.plot(own["kl"], own["lost"], label=title(arm), **style)
    ax.set_xscale("log")
    ax.axhline(0, color="black", linewidth=0.6, marker="", linestyle="-")
    ax.set(
        xlabel="KL to the base on game states (nats per token)",
        ylabel=f"skill accuracy lost, {WORDS[decoding]}",
    )
    legend_below(fig, 2, [ax])
    return fig


def sweep(table: pd.DataFrame, decoding: str) -> Figure:
    """Games won and skills kept against beta; seeds below the axis.

    Args:
        table: of `summaries.sweep_means`.
        decoding: of the table, for the axis.
    """
    fig, ax = figure("column", ratio=0.75)
    betas = sorted(set(table["beta"].tolist()))
    places = np.arange(len(betas))
    for measure, rows in table.groupby("measure", sort=False):
        rows = rows.set_index("beta").loc[betas]
        error = [rows["mean"] - rows["lo"], rows["hi"] - rows["mean"]]
        ax.errorbar(places, rows["mean"], yerr=error, capsize=2, label=measure)
    seeds = table.groupby("beta")["seeds"].max()
    ax.set_xticks(places, [f"{b:g}\n({_seeds(int(seeds[b]))})" for b in betas])
    ax.set(xlabel="beta, weight of the KL to the base", ylim=(0, 1.02))
    ax.set_ylabel(f"share, {WORDS[decoding]}")
    legend_below(fig, 2, [ax])
    return fig


def _seeds(count: int) -> str:
    return "1 seed" if count == 1 else f"{count} seeds"
