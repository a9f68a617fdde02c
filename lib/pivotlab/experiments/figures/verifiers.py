"""Figures of verdicts: what exact match misses, and where naive verifiers err."""

from __future__ import annotations

import textwrap

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from pivotlab.experiments.plotting import COLORS, GREY, figure, panel_letters

#: Colour, marker and size of every outcome of a verdict.
OUTCOMES = {
    "correct": (GREY, ".", 12),
    "wrong accept": (COLORS["red"], "X", 46),
    "wrong reject": (COLORS["orange"], "s", 34),
}


def acceptance_figure(table: pd.DataFrame) -> Figure:
    """Shares accepted by both verdicts, and the miss rate; rows of
    `attempts.acceptance`, one a source."""
    fig, (left, right) = figure(columns=2, ratio=0.12 + 0.05 * len(table), sharey=True)
    places = np.arange(len(table))[::-1]
    names = [
        f"{d} (n = {n:,})" for d, n in zip(table["domain"], table["n"], strict=True)
    ]
    bars = (("functional", 0.19, "blue"), ("strict", -0.19, "orange"))
    for column, offset, color in bars:
        left.barh(
            places + offset, table[column], 0.36, color=COLORS[color], label=column
        )
    left.set_yticks(places, names)
    left.set(xlim=(0, 1), xlabel="share of actions accepted")
    left.set_title("Two verdicts on the same actions")
    left.legend(loc="upper right", frameon=True, framealpha=0.9)
    known = table["miss_rate"].notna().to_numpy()
    rows = table[known]
    error = np.array(
        [
            rows["miss_rate"] - rows["miss_rate_lo"],
            rows["miss_rate_hi"] - rows["miss_rate"],
        ]
    )
    right.errorbar(
        rows["miss_rate"], places[known], xerr=error, fmt="o", color="black", capsize=3
    )
    right.set(xlim=(-0.02, 1.02), xlabel="miss rate of exact match")
    right.set_title("Right actions exact match rejects")
    panel_letters((left, right))
    return fig


def gallery_figure(table: pd.DataFrame) -> Figure:
    """Outcome of every verifier on every case; rows of `error_gallery.gallery`."""
    cases = list(dict.fromkeys(table["case"]))
    verifiers = list(dict.fromkeys(table["verifier"]))
    fig, ax = figure(ratio=0.12 + 0.026 * len(cases))
    for outcome, (color, marker, size) in OUTCOMES.items():
        rows = table[table["outcome"] == outcome]
        x = [verifiers.index(v) for v in rows["verifier"]]
        y = [cases.index(c) for c in rows["case"]]
        label = f"{outcome} ({len(rows)})"
        ax.scatter(x, y, s=size, color=color, marker=marker, label=label, linewidth=0)
    right = table.drop_duplicates("case").set_index("case")["right"]
    marks = {True: "does the same", False: "does not"}
    ax.set_yticks(range(len(cases)), [f"{c} ({marks[right[c]]})" for c in cases])
    ax.set_xticks(range(len(verifiers)), [textwrap.fill(v, 12) for v in verifiers])
    ax.xaxis.tick_top()
    ax.invert_yaxis()
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return fig
