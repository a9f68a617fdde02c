"""Figures of notebook 01, each drawn from the tidy table that is saved with it.

Every function takes rows made by `plotting.series` and returns the figure; call it
inside `plotting.style()`.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from pivotlab.experiments.plotting import (
    COLORS,
    GREY,
    SEQUENTIAL,
    figure,
    interval_points,
    panel_letters,
    pick,
)


def group_advantages(table: pd.DataFrame, size: int) -> Figure:
    """Panels `advantage` and `loudness` against the number of successes."""
    fig, (left, right) = figure(columns=2, ratio=0.36)
    left.axhline(0, color=GREY, linewidth=0.7, marker="", linestyle="-")
    for name, rows in pick(table, "advantage"):
        left.plot(rows["x"], rows["y"], label=name)
    left.set(xlabel=f"successes k of G = {size}", ylabel="advantage")
    left.set_title("The rarer outcome weighs more")
    for name, rows in pick(table, "loudness"):
        right.plot(rows["x"], rows["y"], label=name)
    circle = {"color": COLORS["red"], "fillstyle": "none", "linestyle": "none"}
    right.plot([0, size], [0, 0], "o", markersize=9, label="silent groups", **circle)
    right.set(xlabel=f"successes k of G = {size}", ylim=(-0.08, 1.5))
    right.set(ylabel="RMS of the advantages")
    right.set_title("Divided, all mixed groups are equal")
    for ax in (left, right):
        ax.legend(ncols=2, loc="upper center")
    panel_letters((left, right))
    return fig


def silent_groups(table: pd.DataFrame, reported: float, draws: int) -> Figure:
    """Panels `turn`, `population` and `density`; `reported` is the paper's share."""
    fig, (left, middle, right) = figure(columns=3, ratio=0.33)
    for name, rows in pick(table, "turn"):
        if rows["lo"].notna().all():
            marks = {"color": "black", "marker": "o", "markersize": 2.5}
            seen = rows[rows["y"] > 0]
            ends = seen["x"], seen["y"], seen["lo"], seen["hi"]
            interval_points(left, *ends, name, n=draws, **marks)
        else:
            (line,) = left.semilogy(rows["x"], rows["y"], marker="")
            bottom = rows["y"].min() * 0.8
            look = {"color": line.get_color(), "ha": "center", "va": "top"}
            _tag(left, 0.5, bottom, name, **look)
    left.set(xlabel="pass rate p", ylabel="Pr[K samples all agree]", ylim=(1e-6, 2))
    left.legend(loc="lower center", borderpad=0)
    left.set_title("One turn")
    ((_, rows),) = pick(table, "population")
    middle.semilogx(rows["x"], rows["y"], marker="")
    middle.axhline(reported, color=GREY, linestyle=":", marker="")
    shape = np.interp(-reported, -rows["y"], rows["x"])
    middle.plot(shape, reported, "o", color=COLORS["red"], markersize=6)
    _tag(middle, 1.2, reported + 0.02, f"{reported:.0%} (paper)")
    middle.set(xlabel="a of Beta(a, a)", ylabel="share of silent groups")
    middle.set(ylim=(0, 1.02))
    middle.set_title("A population of turns")
    for name, rows in pick(table, "density"):
        right.plot(rows["x"], rows["y"], marker="", label=name)
    right.set(xlabel="pass rate p", ylabel="density", ylim=(0, 3.6))
    right.legend(loc="upper center")
    right.set_title("What it looks like")
    panel_letters((left, middle, right))
    return fig


def kl_paths(table: pd.DataFrame, tolerance: float) -> Figure:
    """Panels `A`, `B`, ... (triangle tracks), `std` and `error`.

    Rows of a track carry the two coordinates in `x`, `y` and the standard deviation in
    `lo`; every 20th row is marked.
    """
    shape = {"width_ratios": (1.45, 1, 1)}
    fig, (left, middle, right) = figure(columns=3, ratio=0.36, **shape)
    for name in sorted(set(table["panel"]) - {"std", "error"}):
        ((_, rows),) = pick(table, name)
        drawn = _track(left, rows[["x", "y"]].to_numpy(), rows["lo"].to_numpy(), name)
    fig.colorbar(drawn, ax=left, label="standard deviation", shrink=0.75, pad=0.02)
    _triangle(left, ("r = 1", "r = ½", "r = 0"))
    left.set_title("Three KL paths")
    for name, rows in pick(table, "std"):
        middle.plot(rows["x"], rows["y"], marker="", label=name)
    middle.set(xlabel="1 / β", ylabel="β² γ  =  standard deviation")
    middle.set_title("Loudness on the way")
    for name, rows in pick(table, "error"):
        look = {"linestyle": "", "markersize": 2.5, "alpha": 0.5}
        right.loglog(rows["x"], rows["y"], label=name, markeredgewidth=0, **look)
    right.axhline(tolerance, color=GREY, linestyle=":", marker="")
    _tag(right, 0.11, tolerance * 1.6, "tolerance")
    right.set(xlabel="β", ylabel="relative error", ylim=(3e-18, tolerance * 300))
    right.set_title("Three routes agree")
    for ax in (middle, right):
        ax.legend(loc="upper right")
    panel_letters((left, middle, right))
    return fig


def update_sizes(table: pd.DataFrame, size: int, draws: int) -> Figure:
    """Panels `logit` and `fisher`: expected update against the pass rate.

    Series are called `divided, G = 16`, `only centred, G = 4` and so on; any other name
    is a reference curve, and rows with `lo` and `hi` are simulated.
    """
    fig, axes = figure(columns=2, ratio=0.42)
    colors = {"divided": COLORS["blue"], "only centred": COLORS["orange"]}
    for ax, panel in zip(axes, ("logit", "fisher"), strict=True):
        for name, rows in pick(table, panel):
            color = next((c for k, c in colors.items() if name.startswith(k)), GREY)
            if rows["lo"].notna().all():
                ends = rows["x"], rows["y"], rows["lo"], rows["hi"]
                marks = {"marker": "o", "markersize": 3, "color": color}
                interval_points(ax, *ends, name, n=draws, **marks)
            else:
                dash = (
                    ":" if color == GREY else "-" if name.endswith(f" {size}") else "--"
                )
                ax.plot(rows["x"], rows["y"], dash, color=color, marker="", label=name)
        ax.set(xlabel="pass rate p")
    axes[0].set(ylabel="expected update of the log-odds", ylim=(0, 0.55))
    axes[0].set_title("In plain coordinates")
    axes[1].set(ylabel="the same in the Fisher norm", ylim=(0, 1.1))
    axes[1].set_title("In Theorem 3.2's metric")
    handles = axes[1].get_legend_handles_labels()
    fig.legend(*handles, loc="outside lower center", ncols=3)
    panel_letters(axes)
    return fig


def triangle_point(policy: Float[np.ndarray, "... 3"]) -> Float[np.ndarray, "... 2"]:
    """Coordinates of a three-action policy: action 0 on top, 1 right, 2 left."""
    top, right = policy[..., 0], policy[..., 1]
    return np.stack([right + top / 2, top * np.sqrt(3) / 2], axis=-1)


def _track(ax: Axes, points: np.ndarray, value: np.ndarray, name: str):
    pieces = np.stack([points[:-1], points[1:]], axis=1)
    look = {"cmap": SEQUENTIAL, "clim": (0, 0.5), "linewidth": 2.4, "zorder": 2}
    drawn = ax.add_collection(LineCollection(pieces, array=value[:-1], **look))
    dots = points[::20].T
    ax.plot(*dots, linestyle="", marker="o", color="black", markersize=2.2, zorder=3)
    ax.annotate(name, points[0], (-2, -9), textcoords="offset points", fontsize=7)
    return drawn


def _triangle(ax: Axes, labels: tuple[str, str, str]) -> None:
    corners = triangle_point(np.eye(3))
    ax.fill(*corners.T, facecolor="#F4F4F4", edgecolor=GREY, linewidth=0.8, zorder=1)
    offsets = ((0, 3), (6, -10), (-6, -10))
    for label, point, offset in zip(labels, corners, offsets, strict=True):
        look = {"textcoords": "offset points", "ha": "center", "fontsize": 7}
        ax.annotate(label, point, offset, **look)
    ax.set_aspect("equal", adjustable="datalim")
    ax.axis("off")


def _tag(ax: Axes, x: float, y: float, text: str, **look: str) -> None:
    ax.text(x, y, text, fontsize=6.5, **({"color": GREY, "va": "bottom"} | look))
