"""Figures of the comparison of arms, drawn from the tables of `summaries` alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pivotlab.experiments.plotting import COLORS, DASHES, MARKERS, figure, panel_letters
from pivotlab.experiments.summaries import over_seeds

#: One look per arm, the same in every figure.
_ORDER = ("black", "orange", "sky", "green", "purple", "blue", "red")


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
