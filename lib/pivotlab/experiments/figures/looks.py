"""What every arm is called and looks like, whatever is drawn beside it.

Blue is the paper's method in both families: `functional/pivots` and `full`.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import floor
from typing import Any
from zlib import crc32

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pivotlab.experiments.figures.own_panels import PIVOTOPD_ARMS, PIVOTRL_ARMS
from pivotlab.experiments.plotting import COLORS, DASHES, GREY, MARKERS

#: Arm -> colour, marker, dash. Within a family no two share marker and dash.
LOOKS: dict[str, tuple[str, str, Any]] = {
    "base": (COLORS["black"], "o", ":"),
    # Single turns.
    "sft": (COLORS["orange"], "s", "--"),
    "exact/random": (COLORS["sky"], "^", "-."),
    "functional/random": (COLORS["green"], "D", (0, (5, 1))),
    "exact/pivots": (COLORS["purple"], "v", (0, (3, 1, 1, 1))),
    "functional/pivots": (COLORS["blue"], "P", "-"),
    "placebo": (COLORS["red"], "X", (0, (1, 1))),
    # Whole episodes.
    "grpo": (COLORS["orange"], "s", "--"),
    "opsd": (COLORS["sky"], "^", "-."),
    "prevention": (COLORS["green"], "D", (0, (5, 1))),
    "recovery": (COLORS["purple"], "v", (0, (3, 1, 1, 1))),
    "full": (COLORS["blue"], "P", "-"),
    "opd": (COLORS["red"], "X", (0, (1, 1))),
    # Their ablations: the colour of what they change.
    "random turns": (COLORS["blue"], "o", "--"),
    "no action named": (COLORS["blue"], "s", ":"),
    "reverse-KL recovery": (COLORS["purple"], "^", "-"),
}
#: Names that the papers' tables do not have.
_OWN_TITLES = {"opd": "OPD, second model"}
_TITLES = {**_OWN_TITLES, **PIVOTRL_ARMS, **PIVOTOPD_ARMS}


def look(arm: str) -> dict[str, Any]:
    """Colour, marker and dash of an arm, as arguments of `plot`.

    An arm that is not in `LOOKS` has the colour of the one it varies (`sft@lr=1e-3` and
    `sft/pivots` vary `sft`; grey if there is none) with another marker and dash, which
    follow from its name.
    """
    if arm in LOOKS:
        color, marker, dash = LOOKS[arm]
    else:
        color, first, line = LOOKS.get(_varied(arm), (GREY, "", ""))
        others = [(m, d) for m in MARKERS if m != first for d in DASHES if d != line]
        marker, dash = others[crc32(arm.encode()) % len(others)]
    return {"color": color, "marker": marker, "linestyle": dash}


def title(arm: str) -> str:
    """What figures call an arm: its row of the papers' tables where it has one."""
    plain, _, override = arm.partition("@")
    name = _TITLES.get(plain, plain)
    return f"{name}, {override.replace('=', ' ')}" if override else name


def _varied(arm: str) -> str:
    plain = arm.partition("@")[0]
    return plain if plain in LOOKS else plain.partition("/")[0]


def share_range(lowest: float, highest: float) -> tuple[float, float]:
    """An axis for shares that wastes no half of a panel.

    From 0, or from the tenth below where everything lies above one half; up to the next
    tenth, with a margin so that marks at 1 are whole.
    """
    bottom = floor(10 * lowest + 1e-9) / 10 if lowest > 0.5 else 0.0
    top = min(1.0, floor(10 * highest + 1) / 10)
    return bottom, top + 0.02 * (top - bottom)


def legend_below(fig: Figure, columns: int, sources: Iterable[Axes]) -> None:
    """One legend for the whole figure, outside of its panels.

    Args:
        sources: axes whose labelled artists are listed; each label once.
    """
    entries: dict[str, Any] = {}
    for ax in sources:
        handles, labels = ax.get_legend_handles_labels()
        entries = dict(zip(labels, handles, strict=True)) | entries
    fig.legend(
        list(entries.values()),
        list(entries),
        loc="outside lower center",
        ncols=columns,
        fontsize=6.5,
    )
