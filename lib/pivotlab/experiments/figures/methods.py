"""Figures and the table of the compared methods, drawn from records alone.

Intervals: Student's t over seeds where there are several, else Wilson over tasks.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from pivotlab.experiments.cells import UNTRAINED
from pivotlab.experiments.methods.arms import METHOD_ARMS
from pivotlab.experiments.plotting import COLORS, DIVERGING, GREY, figure
from pivotlab.experiments.summaries import over_seeds

#: Panels of the zoo side by side, and characters of an action beside them.
ACROSS, LONGEST = 4, 34


def zoo_figure(table: pd.DataFrame) -> Figure:
    """One panel a method: turns downwards, tokens of a turn to the right.

    Methods that have the outcome A and more are drawn without A, so that what they add
    can be seen; every panel has its own scale.

    Args:
        table: of `methods.zoo.zoo_table`.
    """
    names = list(dict.fromkeys(table["method"]))
    rows = -(-len(names) // ACROSS)
    turns, places = int(table["turn"].max()) + 1, int(table["place"].max()) + 1
    fig, axes = figure(
        rows=rows, columns=ACROSS, ratio=0.27 * rows, sharex=True, squeeze=False
    )
    actions = table.drop_duplicates("turn").sort_values("turn")["action"]
    for ax, name in zip(axes.flat, names, strict=False):
        own = table[table["method"] == name]
        grid = np.full((turns, places), np.nan)
        grid[own["turn"], own["place"]] = own["added"]
        most = np.nanmax(np.abs(grid))
        more = not np.allclose(own["added"], own["weight"])
        reach = most or 1.0
        ax.imshow(grid, DIVERGING, Normalize(-reach, reach), aspect="auto")
        scale = ("A + " if more else "") + (f"±{most:.2g}" if most else "0")
        ax.set_title(f"{own['title'].iloc[0]}\n{scale}", fontsize=6)
        ax.set_yticks(range(turns), [])
        ax.set_xticks(range(places), range(1, places + 1))
        ax.tick_params(labelsize=5, length=1.5)
        ax.grid(False)
        ax.set_facecolor("#EEEEEE")
    for ax in axes.flat[len(names) :]:
        ax.set_visible(False)
    names = [textwrap.shorten(a, LONGEST, placeholder=" …") for a in actions]
    for ax in axes[:, 0]:
        ax.set_yticks(range(turns), names, fontsize=4.2)
    for ax in axes[-1]:
        ax.set_xlabel("token of the turn", fontsize=6)
    shade = ScalarMappable(Normalize(-1, 1), DIVERGING)
    bar = fig.colorbar(shade, ax=axes, shrink=0.4, aspect=30, ticks=[-1, 0, 1])
    bar.ax.set_yticklabels(["less likely", "0", "likelier"], fontsize=6)
    return fig


def numbers(records: pd.DataFrame, environment: str) -> pd.DataFrame:
    """The rows of one environment of the record table `methods`, as numbers."""
    own = records[records["environment"] == environment]
    shares = ("success", "lo", "hi", "score", "retention", "seconds", "turns")
    kinds = {"seed": int, "n": int, "steps": int, **dict.fromkeys(shares, float)}
    return own.astype(kinds)


def order(records: pd.DataFrame) -> list[str]:
    """The methods that have records, in the order of the table."""
    found = set(records["method"])
    return [name for name in METHOD_ARMS if name in found]


def trained_steps(own: pd.DataFrame) -> int:
    """Optimizer steps of all trained rows; 0 where none is trained.

    Raises:
        ValueError: they differ.
    """
    steps = sorted(set(own[~own["method"].isin(UNTRAINED)]["steps"].astype(int)))
    if len(steps) > 1:
        raise ValueError(
            f"the records mix runs of {' and '.join(map(str, steps))} steps; give each "
            "length a PIVOTLAB_HOME of its own"
        )
    return steps[0] if steps else 0


def _exactness(name: str) -> str:
    method = METHOD_ARMS[name].method
    return method.exactness if method else ""


def _departure(name: str) -> str:
    method = METHOD_ARMS[name].method
    return method.departure if method else ""


def methods_table(records: pd.DataFrame, environment: str) -> pd.DataFrame:
    """Own results: `mean [lo, hi]` of success, means of the rest, one row a method.

    Raises:
        ValueError: the records hold runs of several lengths, which cannot be compared.
    """
    own, rows = numbers(records, environment), []
    trained_steps(own)
    for name in order(own):
        mine = own[own["method"] == name]
        (cell,) = over_seeds(mine, "success", ("method",)).to_dict("records")
        rows.append(
            {
                "method": METHOD_ARMS[name].title,
                "loss as": _exactness(name),
                "reads": mine["reads"].iloc[0],
                "seeds": cell["seeds"],
                "n": cell["n"],
                "success": f"{cell['mean']:.3f} [{cell['lo']:.3f}, {cell['hi']:.3f}]",
                "score": round(mine["score"].mean(), 3),
                "retention": round(mine["retention"].mean(), 3),
                "seconds": round(mine["seconds"].mean(), 1),
                "departure": _departure(name),
            }
        )
    return pd.DataFrame(rows).set_index("method")


def success_points(records: pd.DataFrame, environment: str) -> tuple[Figure, object]:
    """Success of every method with its interval, seeds × tasks, and the base's as a
    line; the table behind it.

    Filled: published code or formula. Open: implemented from a description.
    """
    own = numbers(records, environment)
    trained_steps(own)
    names = order(own)
    cells = over_seeds(own, "success", ("method",)).set_index("method").loc[names]
    fig, ax = figure(ratio=0.12 + 0.03 * len(names))
    for place, (name, cell) in enumerate(cells.iterrows()):
        color = COLORS["orange"] if name == "pivot_opd" else COLORS["blue"]
        color = GREY if name in UNTRAINED else color
        ax.errorbar(
            cell["mean"],
            -place,
            xerr=[[cell["mean"] - cell["lo"]], [cell["hi"] - cell["mean"]]],
            fmt="o",
            color=color,
            capsize=2,
            markerfacecolor="white" if _exactness(name) == "description" else color,
        )
    if "base" in names:
        ax.axvline(cells.loc["base", "mean"], color=GREY, linestyle=":", marker="")
    titles = [
        f"{METHOD_ARMS[cell.Index].title} ({cell.seeds} × {cell.n // cell.seeds})"
        for cell in cells.itertuples()
    ]
    ax.set_yticks(-np.arange(len(names)), titles)
    ax.set(xlabel="success on held-out tasks", xlim=(0, 1))
    return fig, cells.reset_index()


def reported_beside(reported: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """The rows of a printed table that are compared here, in our order.

    Args:
        reported: a printed table, one row a method, by title.
        names: of our methods.
    """
    titles = [METHOD_ARMS[name].title for name in names]
    return reported.loc[[title for title in titles if title in reported.index]]
