"""Figures of notebook 02, each drawn from the tidy table that is saved with it.

Tables are rows made by `plotting.series`; call the functions inside `plotting.style()`.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pivotlab.experiments.plotting import (
    COLORS,
    GREY,
    band,
    figure,
    panel_letters,
    pick,
    series,
)
from pivotlab.theory import functional_reward

_LOOK = {
    "reference": GREY,
    "functional": COLORS["blue"],
    "strict": COLORS["orange"],
    "accepted": COLORS["blue"],
    "not accepted": COLORS["purple"],
    "demonstrated": COLORS["red"],
    "other correct": COLORS["blue"],
    "wrong": "#BBBBBB",
}


def block_bars(ax: Axes, table: pd.DataFrame, panel: str, accepted: int) -> None:
    """Bars of every policy of a panel; M, the first actions, is shaded."""
    groups = list(pick(table, panel))
    width = 0.8 / len(groups)
    ax.axvspan(-0.5, accepted - 0.5, color="#E8F1F8", zorder=0)
    for position, (name, rows) in enumerate(groups):
        shift = (position - (len(groups) - 1) / 2) * width
        x = rows["x"].to_numpy() + shift
        hatch = "////" if name == "strict" else None
        look = {"color": _LOOK[name], "hatch": hatch, "edgecolor": "white"}
        ax.bar(x, rows["y"], width, label=name, linewidth=0.4, zorder=2, **look)
    actions = int(table["x"].max()) + 1
    ax.set_xticks(range(actions), [f"a{i}" for i in range(1, actions + 1)])
    ax.grid(axis="x", visible=False)
    ax.set_xlim(-0.5, actions - 0.5)


def two_blocks(table: pd.DataFrame, accepted: dict[str, int]) -> Figure:
    """Panels `functional` and `strict`: before, after, and the factor between them."""
    fig, axes = figure(columns=2, ratio=0.36, sharey=True)
    for ax, panel in zip(axes, ("functional", "strict"), strict=True):
        block_bars(ax, table, panel, accepted[panel])
        policies = {name: rows["y"].to_numpy() for name, rows in pick(table, panel)}
        factors = policies[panel] / policies["reference"]
        for action, factor in enumerate(factors):
            top = max(policies[panel][action], policies["reference"][action])
            ax.text(action, top + 0.012, f"×{factor:.2f}", ha="center", fontsize=7)
        ax.set_xlabel("action")
        ax.legend(loc="upper right")
    axes[0].set(ylabel="probability", ylim=(0, 0.65))
    axes[0].set_title("Functional reward: M = {a1, a2}")
    axes[1].set_title("Exact match: M = {a1}")
    panel_letters(axes)
    return fig


def mass_shift(table: pd.DataFrame) -> Figure:
    """Panels `mass`, `logit` and `gap`."""
    fig, (left, middle, right) = figure(columns=3, ratio=0.34)
    for ax, panel in ((left, "mass"), (middle, "logit")):
        for name, rows in pick(table, panel):
            if name == "minimised":
                look = {"color": "black", "marker": "o", "markersize": 2.5}
                ax.plot(rows["x"], rows["y"], linestyle="", label=name, **look)
            else:
                ax.plot(rows["x"], rows["y"], marker="", label=name)
    left.plot([0, 1], [0, 1], color=GREY, linewidth=0.7, linestyle="-", marker="")
    left.set(xlabel="accepted mass before, ρ", ylabel="accepted mass after, q")
    left.set_title("Mass moves into M")
    left.legend(loc="lower right")
    middle.plot([-4, 4], [-4, 4], color=GREY, linewidth=0.7, linestyle="-", marker="")
    middle.set(xlabel="logit ρ", ylabel="logit q", xlim=(-4, 4), ylim=(-4, 9))
    middle.set_title("A shift by 1/β")
    for name, rows in pick(table, "gap"):
        right.semilogy(rows["x"], rows["y"], marker="", label=name)
    right.set(xlabel="step of mirror descent", ylabel="loss above −β log Z")
    right.set_ylim(3e-18, 1e6)
    right.set_title("Any minimiser gets there")
    right.legend(loc="upper right")
    panel_letters((left, middle, right))
    return fig


def rankings(table: pd.DataFrame) -> Figure:
    """Panels `functional` and `strict`: probability after against before, log scale."""
    fig, axes = figure(columns=2, ratio=0.44, sharex=True, sharey=True)
    marks = {"other correct": "o", "wrong": "s", "demonstrated": "*"}
    for ax, panel in zip(axes, ("functional", "strict"), strict=True):
        ends = np.array([table["x"].min(), table["x"].max()])
        ax.plot(ends, ends, color=GREY, linewidth=0.7, linestyle="-", marker="")
        for name, rows in pick(table, panel):
            size = 9 if name == "demonstrated" else 3.5
            look = {"color": _LOOK[name], "marker": marks[name], "markersize": size}
            edge = {"markeredgecolor": "black", "markeredgewidth": 0.3}
            ax.loglog(rows["x"], rows["y"], linestyle="", label=name, **look, **edge)
        ax.set(xlabel="probability before")
    axes[0].set(ylabel="probability after")
    axes[0].set_title("Functional: two parallel lines")
    axes[1].set_title("Exact match: the correct ones fall too")
    axes[0].legend(loc="upper left")
    panel_letters(axes)
    return fig


def who_gains(table: pd.DataFrame) -> Figure:
    """Panels `functional`, `strict` (stacked mass), `flipped` (shared features)."""
    fig, axes = figure(columns=3, ratio=0.34)
    for ax, panel in zip(axes[:2], ("functional", "strict"), strict=True):
        layers = list(pick(table, panel))
        x = layers[0][1]["x"]
        heights = [rows["y"] for _, rows in layers]
        names = [name for name, _ in layers]
        fills = [_LOOK[name] for name in names]
        drawn = ax.stackplot(x, heights, labels=names, colors=fills, alpha=0.85)
        for layer, hatch in zip(drawn, ("", "....", "////"), strict=True):
            layer.set(hatch=hatch, edgecolor="white", linewidth=0.4)
        ax.set(xlabel="1 / β", ylabel="probability", ylim=(0, 1), xlim=(0, x.max()))
    axes[0].set_title("Functional reward")
    axes[1].set_title("Exact match")
    stacked = axes[0].get_legend_handles_labels()
    fig.legend(*stacked, loc="outside lower left", ncols=3)
    for name, rows in pick(table, "flipped"):
        curve = rows["x"], rows["y"], rows["lo"], rows["hi"]
        band(axes[2], *curve, name, marker="")
    axes[2].set(xlabel="feature overlap c", ylim=(0, 0.25))
    axes[2].set(ylabel="pairs in a block that swap")
    axes[2].set_title("Next door, no guarantee")
    axes[2].legend(loc="upper left")
    panel_letters(axes)
    return fig


def policies_at(
    pi0: np.ndarray, accepted: np.ndarray, rho: float, beta: float
) -> pd.DataFrame:
    """Reference rescaled to mass `rho` on M, functional and strict tilt; one panel.

    The demonstrated action is the first one. The panel's name says rho, beta and q.
    """
    reference = functional_reward.project_mass(pi0, accepted, rho)
    strict = np.arange(len(pi0)) == 0
    mass = functional_reward.accepted_mass(rho, beta)
    panel = f"ρ = {rho:.2f}, β = {beta:.2f}: q = {mass:.2f}"
    policies = {
        "reference": reference,
        "functional": functional_reward.tilted_policy(reference, accepted, beta),
        "strict": functional_reward.tilted_policy(reference, strict, beta),
    }
    parts = [series(panel, name, range(len(pi0)), y) for name, y in policies.items()]
    return pd.concat(parts)


def policy_grid(table: pd.DataFrame, accepted: int, columns: int) -> Figure:
    """One small bar panel per (rho, beta), in order of appearance."""
    panels = list(dict.fromkeys(table["panel"]))
    rows = -(-len(panels) // columns)
    shape = {"rows": rows, "columns": columns, "sharex": True, "sharey": True}
    fig, axes = figure(ratio=max(0.36, 0.24 * rows), squeeze=False, **shape)
    for ax, panel in zip(axes.flat, panels, strict=True):
        block_bars(ax, table, panel, accepted)
        ax.set_title(panel, fontsize=7.5)
    for ax in axes[:, 0]:
        ax.set(ylabel="probability", ylim=(0, 1))
    fig.legend(
        *axes.flat[0].get_legend_handles_labels(),
        loc="outside lower center",
        ncols=3,
    )
    return fig
