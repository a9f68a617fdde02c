"""Figures of the benchmarks: ratios, growth, and what adaptive profiling saves."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from pivotlab.experiments.plotting import COLORS, GREY, figure, panel_letters

#: Factor -> (title, axis label), in the order of the panels.
FACTORS = {
    "turns": ("One more turn", "depth, turns"),
    "prefix": ("One turn, longer prompt", "prompt, tokens"),
    "k": ("One turn, more samples", "K, samples"),
    "G": ("GRPO step, larger group", "G, samples"),
    "training prefix": ("GRPO step, longer prompt", "shortest prompt, tokens"),
}


def ratios(table: pd.DataFrame) -> Figure:
    """One point a row of `benchmarks.csv`, on a logarithmic axis; 1 is equal."""
    fig, ax = figure(ratio=0.1 + 0.055 * len(table))
    places = range(len(table))[::-1]
    ax.axvline(1.0, color=GREY, linestyle=":", marker="")
    ax.plot(table["ratio"], places, linestyle="none", marker="o", color=COLORS["blue"])
    for place, ratio in zip(places, table["ratio"], strict=True):
        style = {"xytext": (6, 0), "textcoords": "offset points", "va": "center"}
        style["bbox"] = {"facecolor": "white", "edgecolor": "none", "pad": 0.5}
        ax.annotate(f"{ratio:.3g}", (ratio, place), fontsize=7, **style)
    ax.set_yticks(list(places), [_compared(row) for row in table.to_dict("records")])
    ax.set_xscale("log")
    ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    ax.set(xlabel="ours over the peer (above 1: ours is better)")
    ax.margins(x=0.15, y=0.1)
    return fig


def _compared(row: dict) -> str:
    """What is compared with whom: two rows may differ in the peer alone."""
    model = row["setting"].split()[0].partition("=")[2]
    peer = row["peer_name"].partition(",")[0]
    return f"{row['measure']}, {model},\nagainst {peer}"


def growth(table: pd.DataFrame) -> Figure:
    """Seconds of ours and of stock against each factor; rows of one model.

    In the panel of depth, ours is the time per added turn and stock the turn alone.
    """
    factors = [f for f in FACTORS if (table["factor"] == f).any()]
    columns = min(3, len(factors))
    lines = -(-len(factors) // columns)
    fig, grid = figure(rows=lines, columns=columns, ratio=0.32 * lines, squeeze=False)
    axes = grid.flatten()
    for ax in axes[len(factors) :]:
        ax.remove()
    for ax, factor in zip(axes, factors, strict=False):
        rows = table[table["factor"] == factor].sort_values("value")
        column = "ours_seconds_per_added_turn" if factor == "turns" else "ours_seconds"
        ours = rows[column].astype(float)
        ax.plot(rows["value"], rows["peer_seconds"], color=COLORS["orange"], marker="s")
        ax.plot(rows["value"], ours, color=COLORS["blue"], marker="o", linestyle="-")
        title, label = FACTORS[factor]
        ax.set_title(title)
        # A difference of two times can fall below zero by noise alone.
        ax.set(xlabel=label, ylabel="seconds", ylim=(min(0.0, 1.1 * ours.min()), None))
    axes[0].legend(axes[0].get_lines(), ["stock", "ours"])
    panel_letters(axes[: len(factors)])
    return fig


def adaptive(table: pd.DataFrame) -> Figure:
    """F1 of the pivots against the share of rollouts; rows of `adaptive.csv`."""
    fig, ax = figure("column", ratio=0.75)
    fixed = table["step"] == 0
    for rows, label, color, marker in (
        (table[fixed], "fixed K", "orange", "s"),
        (table[~fixed], "adaptive, by allowed error", "blue", "o"),
    ):
        ax.plot(
            rows["rollouts_share"],
            rows["f1"],
            linestyle="none",
            marker=marker,
            color=COLORS[color],
            label=label,
        )
        for _, row in rows.iterrows():
            fixed_k = f"K={row['k_max']:.0f}"
            name = fixed_k if row["step"] == 0 else f"{row['error']:g}"
            ax.annotate(
                name,
                (row["rollouts_share"], row["f1"]),
                xytext=(0, -10),
                textcoords="offset points",
                ha="center",
                fontsize=7,
            )
    ax.axvline(0.5, color=GREY, linestyle=":", marker="")
    ax.axhline(0.95, color=GREY, linestyle=":", marker="")
    ax.set(xlabel="rollouts, share of K=16", ylabel="F1 of the pivots")
    ax.margins(0.2)
    ax.legend()
    return fig
