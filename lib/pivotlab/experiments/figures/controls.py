"""Figures behind the notebooks' controls, which also draw static grids of positions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy.stats import binom

from pivotlab.experiments.figures.pivots import CLASSES
from pivotlab.experiments.plotting import COLORS, GREY, figure, pick, series
from pivotlab.theory.filter_error import constant_probability, keep_probability
from pivotlab.theory.group_advantage import binary_advantages
from pivotlab.theory.repair_chain import repair_path


def told(successes: int, group: int) -> str:
    """What a success and a failure are told when k of G succeed."""
    if successes in (0, group):
        return f"{successes} of {group}: all equal, advantages 0, no signal"
    up, down = binary_advantages(successes, group)
    return f"{successes} of {group}: each success {up:+.2f}, each failure {down:+.2f}"


def group_bars(successes: int, group: int) -> Figure:
    """The advantage of every sample of a group; successes first."""
    silent = successes in (0, group)
    up, down = (0.0, 0.0) if silent else binary_advantages(successes, group)
    fig, ax = figure("page", ratio=0.28)
    places = np.arange(1, group + 1)
    right = places <= successes
    ax.bar(places[right], up, color=COLORS["blue"], label="success")
    ax.bar(places[~right], down, color=COLORS["red"], label="failure", hatch="//")
    for place, success in zip(places, right, strict=True):
        mark, shift = ("✓", -9) if success else ("✗", 3)
        where = {"textcoords": "offset points", "ha": "center"}
        ax.annotate(mark, (place, 0), (0, shift), **where)
    ax.axhline(0, color="black", linewidth=0.7)
    reach = np.sqrt(group - 1) * 1.1
    ax.set(xlabel="sample", ylabel="advantage", ylim=(-reach, reach), xticks=places)
    ax.set_title(told(successes, group))
    return fig


def profile_law(rate: float, k: int, cut: float) -> pd.DataFrame:
    """Probability of every number of successes of one turn, with the class it gets.

    Args:
        rate: true pass rate, the mu that infinitely many samples would show.
        k: samples.
        cut: lambda_diff.

    Returns:
        panel, rate, k, successes, probability, kind.
    """
    counts = np.arange(k + 1)
    kinds = np.select(
        [counts == 0, counts == k, counts / k < cut],
        ["all_fail", "all_pass", "pivot"],
        "easy_mixed",
    )
    kept, silent = keep_probability(rate, k, cut), constant_probability(rate, k)
    panel = f"pass rate {rate:.2f}, K = {k}\nkept {kept:.0%}, silent {silent:.0%}"
    law = binom.pmf(counts, k, rate)
    columns = {"successes": counts, "probability": law, "kind": kinds}
    return pd.DataFrame({"panel": panel, "rate": rate, "k": k} | columns)


def profile_grid(table: pd.DataFrame, cut: float, columns: int) -> Figure:
    """One panel per (rate, K) of `profile_law`, in order of appearance."""
    panels = list(dict.fromkeys(table["panel"]))
    rows = -(-len(panels) // columns)
    shape = {"rows": rows, "columns": columns, "squeeze": False, "sharex": True}
    fig, axes = figure("page", ratio=max(0.34, 0.23 * rows), **shape)
    reach = 0.05 + 0.45 / table["k"].min()  # room for the widest bars
    for ax, panel in zip(axes.flat, panels, strict=True):
        own = table[table["panel"] == panel]
        k, rate = int(own["k"].iloc[0]), float(own["rate"].iloc[0])
        for kind, (color, label) in CLASSES.items():
            bars = own[own["kind"] == kind]
            places = bars["successes"] / k
            ax.bar(places, bars["probability"], 0.9 / k, color=color, label=label)
        ax.axvline(cut, color=GREY, linestyle=":", marker="")
        ax.plot(rate, 0, "^", color="black", clip_on=False, markersize=5, zorder=5)
        ax.set_title(panel, fontsize=7.5)
        ax.set(ylim=(0, 1), xlim=(-reach, 1 + reach))
    for ax in axes[-1]:
        ax.set(xlabel="share of K accepted")
    for ax in axes[:, 0]:
        ax.set(ylabel="probability")
    handles = axes.flat[0].get_legend_handles_labels()
    fig.legend(*handles, loc="outside lower center", ncols=4)
    return fig


def repair_paths(turns: int, weights: Sequence[float]) -> pd.DataFrame:
    """`repair_path` for one K and several w_rec, with GRPO alone beside it."""
    panel = f"K = {turns} of 3 needed actions"
    alone = repair_path(0, 0.0)
    parts = [series(panel, "GRPO alone", range(len(alone)), alone)]
    for weight in weights:
        path = repair_path(turns, weight)
        parts.append(series(panel, f"w_rec = {weight:g}", range(len(path)), path))
    return pd.concat(parts, ignore_index=True)


def repair_grid(table: pd.DataFrame) -> Figure:
    """One panel per K of `repair_paths`."""
    panels = list(dict.fromkeys(table["panel"]))
    shape = {"columns": len(panels), "squeeze": False, "sharey": True}
    fig, axes = figure("page", ratio=0.34, **shape)
    for ax, panel in zip(axes.flat, panels, strict=True):
        for name, rows in pick(table, panel):
            color = {"color": GREY} if name == "GRPO alone" else {}
            ax.plot(rows["x"], rows["y"], marker="", label=name, **color)
        ax.set(xlabel="training steps", ylim=(-0.02, 1))
        ax.set_title(panel)
    axes.flat[0].set(ylabel="P(whole repair)")
    axes.flat[0].legend(loc="upper left")
    return fig
