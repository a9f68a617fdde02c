"""Figures of the benchmarks: ratios, growth, and what adaptive profiling saves."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from pivotlab.experiments.plotting import COLORS, GREY, figure, panel_letters

#: Factor -> (title, axis label), in the order of the panels.
FACTORS = {
    "turns": ("One more turn", "depth, turns"),
    "prefix": ("One turn", "prompt, tokens"),
    "k": ("One turn", "K, samples"),
    "G": ("One GRPO step", "G, samples"),
    "training prefix": ("One GRPO step", "least prompt, tokens"),
}


def ratios(table: pd.DataFrame) -> Figure:
    """One point a row of `benchmarks.csv`, on a logarithmic axis; 1 is equal."""
    fig, ax = figure(ratio=0.14 + 0.05 * len(table))
    places = range(len(table))[::-1]
    ax.axvline(1.0, color=GREY, linestyle=":", marker="")
    ax.plot(table["ratio"], places, linestyle="none", marker="o", color=COLORS["blue"])
    for place, ratio in zip(places, table["ratio"], strict=True):
        ax.annotate(
            f"{ratio:.2g}",
            (ratio, place),
            xytext=(5, 3),
            textcoords="offset points",
            fontsize=7,
        )
    names = [
        f"{m}, {s.split()[0].partition('=')[2]}"
        for m, s in zip(table["measure"], table["setting"], strict=True)
    ]
    ax.set_yticks(list(places), names)
    ax.set_xscale("log")
    ax.set(xlabel="ours over the peer (above 1: ours is better)")
    ax.margins(x=0.15, y=0.2)
    return fig


def growth(table: pd.DataFrame) -> Figure:
    """Seconds of ours and of stock against each factor; rows of one model.

    In the panel of depth, ours is the time per added turn and stock the turn alone.
    """
    factors = [f for f in FACTORS if (table["factor"] == f).any()]
    fig, axes = figure(columns=len(factors), ratio=0.3, squeeze=False)
    for ax, factor in zip(axes[0], factors, strict=True):
        rows = table[table["factor"] == factor].sort_values("value")
        column = "ours_seconds_per_added_turn" if factor == "turns" else "ours_seconds"
        ours = rows[column].astype(float)
        ax.plot(rows["value"], rows["peer_seconds"], color=COLORS["orange"], marker="s")
        ax.plot(rows["value"], ours, color=COLORS["blue"], marker="o", linestyle="-")
        title, label = FACTORS[factor]
        ax.set_title(title)
        ax.set(xlabel=label, ylim=(0, None))
    axes[0][0].set_ylabel("seconds")
    lines = axes[0][0].get_lines()
    axes[0][0].legend(lines, ["stock", "ours"], loc="upper left")
    if len(factors) > 1:
        panel_letters(axes[0])
    return fig


def adaptive(table: pd.DataFrame) -> Figure:
    """F1 of the pivots against the share of rollouts; rows of `adaptive.csv`."""
    fig, ax = figure("column", ratio=0.75)
    fixed = table["step"] == 0
    for rows, label, color, marker in (
        (table[fixed], "fixed K", "orange", "s"),
        (table[~fixed], "adaptive", "blue", "o"),
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
            name = fixed_k if row["step"] == 0 else f"error {row['error']:g}"
            ax.annotate(
                name,
                (row["rollouts_share"], row["f1"]),
                xytext=(4, -9),
                textcoords="offset points",
                fontsize=7,
            )
    ax.axvline(0.5, color=GREY, linestyle=":", marker="")
    ax.axhline(0.95, color=GREY, linestyle=":", marker="")
    ax.set(xlabel="rollouts, share of K=16", ylabel="F1 of the pivots")
    ax.margins(0.2)
    ax.legend()
    return fig
