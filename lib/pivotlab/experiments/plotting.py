"""One style, one way to save: every figure of the repository goes through this file.

A figure is four files with one name: PNG and PDF, the caption, and the table of numbers
behind it. Nothing in them depends on the day or the run, so a figure that didn't change
doesn't change a byte.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from pivotlab import paths
from pivotlab.whole_files import replacing, write_text

#: Okabe and Ito's colours, safe for colour-blind readers, in the order they are used
#: (their yellow is left out: too pale for a line on white).
COLORS: dict[str, str] = {
    "blue": "#0072B2",
    "orange": "#E69F00",
    "green": "#009E73",
    "red": "#D55E00",
    "purple": "#CC79A7",
    "sky": "#56B4E9",
    "black": "#000000",
}
#: Never by colour alone: every series has its own marker and dash as well.
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
DASHES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)))
#: Widths in inches: one column of a two-column page, and the whole page.
WIDTHS = {"column": 3.4, "page": 7.0}
SEQUENTIAL, DIVERGING = "cividis", "RdBu_r"
GREY = "#5F5F5F"

_STYLE: dict[str, Any] = {
    # Fonts that ship with matplotlib: the same bytes on every machine, no LaTeX.
    "font.family": "DejaVu Sans",
    "mathtext.fontset": "dejavusans",
    "font.size": 8.0,
    "axes.titlesize": 8.0,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 8.0,
    "xtick.labelsize": 7.0,
    "ytick.labelsize": 7.0,
    "legend.fontsize": 7.0,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.7,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.5,
    "xtick.major.width": 0.7,
    "ytick.major.width": 0.7,
    "lines.linewidth": 1.4,
    "lines.markersize": 4.0,
    "figure.constrained_layout.use": True,
    "figure.dpi": 130,
    "savefig.dpi": 220,
    "savefig.bbox": "standard",
    "image.cmap": SEQUENTIAL,
    # Embedded as TrueType, so that text in the PDF can be searched and edited.
    "pdf.fonttype": 42,
    "axes.prop_cycle": (
        cycler(color=list(COLORS.values()))
        + cycler(linestyle=list(DASHES))
        + cycler(marker=list(MARKERS))
    ),
}


@contextmanager
def style() -> Iterator[None]:
    """The project's look, for everything drawn inside the `with` block."""
    with mpl.rc_context(_STYLE):
        yield
        interactive = mpl.is_interactive()
    # A notebook's backend switches interactive display on when it draws its first
    # figure; leaving the block must not switch it off again.
    mpl.interactive(interactive)


def figure(
    width: str = "page",
    *,
    ratio: float = 0.38,
    rows: int = 1,
    columns: int = 1,
    **kwargs,
) -> tuple[Figure, Any]:
    """`plt.subplots` at a page width; call it inside `style()`.

    Args:
        width: "column" (3.4 in) or "page" (7 in).
        ratio: height over width of the whole figure.
        kwargs: for `plt.subplots`.

    Raises:
        ValueError: unknown width.
    """
    if width not in WIDTHS:
        raise ValueError(f"unknown width {width!r}; choose one of {', '.join(WIDTHS)}")
    inches = WIDTHS[width]
    size = (inches, inches * ratio)
    return plt.subplots(rows, columns, figsize=size, **kwargs)


def band(
    ax: Axes,
    x: ArrayLike,
    mean: ArrayLike,
    lo: ArrayLike,
    hi: ArrayLike,
    label: str,
    *,
    n: int | None = None,
    **line: Any,
) -> None:
    """A line with its interval as a band; the legend entry says n."""
    (drawn,) = ax.plot(x, mean, label=_with_n(label, n), **line)
    ax.fill_between(x, lo, hi, color=drawn.get_color(), alpha=0.18, linewidth=0)


def interval_points(
    ax: Axes,
    x: ArrayLike,
    mean: ArrayLike,
    lo: ArrayLike,
    hi: ArrayLike,
    label: str,
    *,
    n: int | None = None,
    **marks: Any,
) -> None:
    """Points with error bars from `lo` to `hi`; the legend entry says n."""
    reach = [np.subtract(mean, lo), np.subtract(hi, mean)]
    ax.errorbar(
        x,
        mean,
        yerr=reach,
        label=_with_n(label, n),
        linestyle="none",
        capsize=2,
        elinewidth=0.9,
        **marks,
    )


def series(
    panel: str,
    name: str,
    x: ArrayLike,
    y: ArrayLike,
    lo: ArrayLike | None = None,
    hi: ArrayLike | None = None,
) -> pd.DataFrame:
    """One drawn series as tidy rows: panel, series, x, y, lo, hi.

    A figure drawn from such a table can be redrawn from the CSV saved beside it.
    """
    ends = {end: np.nan if v is None else v for end, v in (("lo", lo), ("hi", hi))}
    return pd.DataFrame({"panel": panel, "series": name, "x": x, "y": y} | ends)


def pick(table: pd.DataFrame, panel: str) -> Iterator[tuple[str, pd.DataFrame]]:
    """(name, rows) of each series of a panel, in order of appearance."""
    rows = table[table["panel"] == panel]
    for name in dict.fromkeys(rows["series"]):
        yield name, rows[rows["series"] == name]


def panel_letters(axes: Iterable[Axes]) -> None:
    """(a), (b), ... in front of the panels' titles, so that captions can point."""
    for letter, ax in zip("abcdefgh", axes, strict=False):
        ax.set_title(f"({letter}) {ax.get_title(loc='left')}", loc="left")


def save_figure(
    fig: Figure,
    name: str,
    caption: str,
    data: pd.DataFrame,
    folder: Path | None = None,
) -> Path:
    """Write `name`.png, .pdf, .md (the caption) and .csv (the numbers behind it).

    Args:
        name: file name without ending; letters, digits, `_` and `-`.
        caption: what is shown, n, seeds, and what the intervals are.
        data: the plotted numbers, tidy.
        folder: default `paths.figures()`.

    Returns:
        Path of the PNG.

    Raises:
        ValueError: bad name, empty caption, or no data.
    """
    if not name.replace("_", "").replace("-", "").isalnum():
        raise ValueError(f"figure name {name!r} must be letters, digits, _ and - only")
    if not caption.strip() or data.empty:
        raise ValueError(f"figure {name!r} needs a caption and the data behind it")
    folder = folder or paths.figures()
    folder.mkdir(parents=True, exist_ok=True)
    # Dates and version strings would change the bytes of an unchanged figure.
    _save(fig, folder / f"{name}.png", {"Software": None})
    blank = {"CreationDate": None, "Producer": None, "Creator": None}
    _save(fig, folder / f"{name}.pdf", blank)
    write_text(folder / f"{name}.md", " ".join(caption.split()) + "\n")
    table = data.to_csv(index=False, float_format="%.8g", lineterminator="\n")
    write_text(folder / f"{name}.csv", table)
    return folder / f"{name}.png"


def _save(fig: Figure, path: Path, metadata: dict[str, None]) -> None:
    with mpl.rc_context(_STYLE), replacing(path) as part:
        fig.savefig(part, format=path.suffix[1:], metadata=metadata)


def _with_n(label: str, n: int | None) -> str:
    return label if n is None else f"{label} (n = {n:,})"
