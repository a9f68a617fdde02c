"""One panel of numbers: bars, lines, a grid of digits, or words.

One drawing routine serves printed numbers and ours, so the two look alike. An arm
without a record keeps its row; the row's note says why it has no value.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from pivotlab.experiments.plotting import COLORS, DASHES, GREY, MARKERS, SEQUENTIAL

#: Columns of a panel's rows; printed rows carry provenance, own rows n and seeds.
ROWS = ("row", "column", "value", "lo", "hi", "n", "seeds", "provenance", "note")
NO_RECORD = "no own record yet"
_HATCHES = ("", "////", "....", "xxxx", "\\\\\\\\", "++", "oo")


@dataclass(frozen=True)
class Panel:
    """One block of numbers.

    Attributes:
        title: above it.
        label: of the value axis, with its unit.
        rows: `ROWS`; `row` is a category, or the place on the x axis of lines.
        kind: how it is drawn; "note" prints `text` alone.
        text: shown in place of missing rows.
        x: label of the x axis of lines.
        colors: of categories (bars) or series (lines), where they are not the usual.
        legend: whether lines have one; not needed beside bars of the same colours.
    """

    title: str
    label: str
    rows: pd.DataFrame
    kind: Literal["bars", "lines", "grid", "note"] = "bars"
    text: str = NO_RECORD
    x: str = ""
    colors: Mapping[str, str] = field(default_factory=dict)
    legend: bool = True

    @property
    def silent(self) -> bool:
        """Whether it has words only."""
        return self.kind == "note" or bool(self.rows["value"].isna().all())


def rows_of(
    table: pd.DataFrame, value: str = "number", scale: float = 1.0
) -> pd.DataFrame:
    """Any table with row, column and a value as panel rows; lo and hi if it has them.

    Args:
        value: column that holds the numbers.
        scale: 100 turns shares into percent.
    """
    rows = table.assign(value=table[value] * scale)
    for end in ("lo", "hi"):
        if end in table:
            rows[end] = table[end] * scale
    return rows.reindex(columns=list(ROWS)).reset_index(drop=True)


def note_panel(title: str, text: str, rows: pd.DataFrame | None = None) -> Panel:
    """A panel that says in words what there is to say; `rows` still go to the CSV."""
    empty = pd.DataFrame(columns=list(ROWS))
    return Panel(title, "", empty if rows is None else rows, "note", text)


def draw_panel(ax: Axes, panel: Panel, across: int) -> None:
    """Everything but the title, which `ax` has already.

    Args:
        across: panels side by side, on which the room for words depends.
    """
    if panel.silent:
        _print(ax, panel.text, across)
    elif panel.kind == "grid":
        _grid(ax, panel)
    else:
        {"bars": _bars, "lines": _lines}[panel.kind](ax, panel, across)


def span(values: pd.Series) -> str:
    """Least and greatest of the known values, or the one there is."""
    known = values.dropna().astype(float)
    low, high = f"{known.min():,.0f}", f"{known.max():,.0f}"
    return low if low == high else f"{low} to {high}"


def _shape(panel: Panel) -> tuple[list, list[str]]:
    """Categories and series in order of appearance."""
    rows = panel.rows
    return list(dict.fromkeys(rows["row"])), list(dict.fromkeys(rows["column"]))


def height(panel: Panel, across: int) -> float:
    """Inches that a panel needs."""
    if panel.silent:
        return 0.35 + 0.13 * _folded(panel.text, across).count("\n")
    categories, names = _labels(panel)
    legend = 0.13 * _legend_lines(panel, names, across)
    if panel.kind == "lines":
        return 1.9 + legend
    if panel.kind == "grid":
        return 0.75 + 0.165 * len(categories)
    bars = 0.09 + 0.1 * len(names)
    lines = [0.06 + 0.11 * (1 + _wrapped(c).count("\n")) for c in categories]
    return max(1.5, 0.7 + legend + sum(max(bars, words) for words in lines))


def _labels(panel: Panel) -> tuple[list, list[str]]:
    """Categories and series as they are written: with seeds or n where we have them.

    They stand at the series if there are several, unless only the categories differ.
    """
    rows = panel.rows
    categories, names = _shape(panel)
    if panel.kind == "grid":
        return categories, names
    lines = panel.kind == "lines"
    differ = {by: rows.groupby(by)["seeds"].nunique().max() for by in ("row", "column")}
    if lines or (len(names) > 1 and not differ["row"] <= 1 < differ["column"]):
        names = [_sized(n, rows[rows["column"] == n], lines) for n in names]
    else:
        categories = [_sized(str(c), rows[rows["row"] == c]) for c in categories]
    return categories, names


def _sized(name: str, rows: pd.DataFrame, reason: bool = False) -> str:
    """A name with its seeds, or else its n; `reason`: or why it has no values.

    The size is not torn by a line break: its spaces are hard ones.
    """
    known = rows[rows["value"].notna()]
    for column, form in (("seeds", "seeds: {}"), ("n", "n = {}")):
        if known[column].notna().any():
            size = form.format(span(known[column])).replace(" ", "\N{NO-BREAK SPACE}")
            return f"{name} ({size})"
    return f"{name} ({_reasons(rows)[0]})" if reason and known.empty else name


def _wrapped(category: str) -> str:
    return textwrap.fill(category, 26)


#: Characters of a legend that fit beside each other, and of a note's line, by the
#: number of panels side by side.
_LEGEND, _NOTE = {1: 130, 2: 62, 3: 37}, {1: 110, 2: 44, 3: 30}


def _legend_columns(names: Sequence[str], across: int) -> int:
    widest = 6 + max(map(len, names))
    return min(4, len(names), max(1, _LEGEND[across] // widest))


def _legend_lines(panel: Panel, names: Sequence[str], across: int) -> int:
    """Lines of the legend; 0 where none is needed."""
    needed = panel.legend if panel.kind == "lines" else len(names) > 1
    return -(-len(names) // _legend_columns(names, across)) if needed else 0


def _folded(text: str, across: int) -> str:
    return "\n".join(textwrap.fill(line, _NOTE[across]) for line in text.split("\n"))


def _print(ax: Axes, text: str, across: int) -> None:
    ax.axis("off")
    look = {"color": GREY, "fontsize": 7, "ha": "left", "va": "top"}
    ax.text(0.0, 0.95, _folded(text, across), transform=ax.transAxes, **look)


def _bars(ax: Axes, panel: Panel, across: int) -> None:
    categories, names = _shape(panel)
    places, legend = _labels(panel)
    # One or two categories alone would be slabs.
    thick = 0.8 / max(len(names), 1.4) * min(1.0, (1 + len(categories)) / 4)
    for place, name in enumerate(names):
        rows = panel.rows[panel.rows["column"] == name]
        y = np.array([categories.index(r) for r in rows["row"]])
        y = y + (place - (len(names) - 1) / 2) * thick
        usual = list(COLORS.values())[place % len(COLORS)]
        color = [panel.colors.get(r, usual) for r in rows["row"]]
        look = {"color": color, "hatch": _HATCHES[place], "edgecolor": "white"}
        value = rows["value"].to_numpy(float)
        ax.barh(y, value, thick, label=legend[place], linewidth=0.3, **look)
        _error_bars(ax, y, rows)
        for where, why in zip(y[np.isnan(value)], _reasons(rows), strict=True):
            ax.text(0, where, f" {why}", va="center", fontsize=6, color=GREY)
    ax.set_yticks(range(len(categories)), [_wrapped(c) for c in places])
    ax.set_ylim(len(categories) - 0.45, -0.55)
    ax.axvline(0, color=GREY, linewidth=0.7, marker="", linestyle="-")
    ax.grid(axis="y", visible=False)
    ax.set(xlabel=panel.label)
    _legend_above(ax, panel, legend, across)


def _error_bars(ax: Axes, y: np.ndarray, rows: pd.DataFrame) -> None:
    value, ends = rows["value"].to_numpy(float), rows[["lo", "hi"]].to_numpy(float).T
    if np.isfinite(ends).any():
        reach = np.clip([value - ends[0], ends[1] - value], 0, None)
        look = {"ecolor": "black", "elinewidth": 0.8, "capsize": 1.5}
        ax.errorbar(value, y, xerr=reach, fmt="none", **look)


def _reasons(rows: pd.DataFrame) -> list[str]:
    """Why values are missing: the note where it is short."""
    notes = rows[rows["value"].isna()]["note"].fillna("").astype(str)
    return [note if 0 < len(note) < 20 else "not known" for note in notes]


def _legend_above(ax: Axes, panel: Panel, names: Sequence[str], across: int) -> None:
    """Between the panel and its title, which moves up."""
    lines = _legend_lines(panel, names, across)
    if not lines:
        return
    look = {"ncols": _legend_columns(names, across), "columnspacing": 0.8}
    look |= {"loc": "lower left", "bbox_to_anchor": (0, 1.0), "borderaxespad": 0.2}
    ax.legend(fontsize=6, handlelength=1.8, **look)
    ax.set_title(ax.get_title(loc="left"), pad=4 + 9 * lines)


def _lines(ax: Axes, panel: Panel, across: int) -> None:
    _, legend = _labels(panel)
    for place, name in enumerate(_shape(panel)[1]):
        rows = panel.rows[panel.rows["column"] == name]
        x, value = rows["row"].astype(float), rows["value"].astype(float)
        ends = rows[["lo", "hi"]].to_numpy(float).T
        usual = list(COLORS.values())[place % len(COLORS)]
        look = {"color": panel.colors.get(name, usual)}
        look["linestyle"] = DASHES[place % len(DASHES)]
        marker = MARKERS[place % len(MARKERS)] if len(rows) < 16 else ""
        ax.plot(x, value, label=legend[place], marker=marker, **look)
        if np.isfinite(ends).any():
            band = {"color": look["color"], "alpha": 0.15, "linewidth": 0}
            ax.fill_between(x, *ends, **band)
    ax.set(xlabel=panel.x, ylabel=panel.label)
    _legend_above(ax, panel, legend, across)


def _grid(ax: Axes, panel: Panel) -> None:
    """Digits on shading. Printed ones have their best of every column in bold; ours
    have their interval instead, and the reason where there is none."""
    categories, names = _shape(panel)
    cells = {(cell.row, cell.column): cell for cell in panel.rows.itertuples()}
    table = panel.rows.set_index(["row", "column"])["value"].astype(float)
    values = table.unstack("column").loc[categories, names].to_numpy()
    low, high = np.nanmin(values), np.nanmax(values)
    ax.pcolormesh(values, cmap=SEQUENTIAL, vmin=low, vmax=high, rasterized=False)
    printed = panel.rows["provenance"].notna().any()
    best = printed & (values == np.nanmax(values, axis=0))
    for (y, x), value in np.ndenumerate(values):
        color = "white" if value < (low + high) / 2 else "black"
        color = GREY if np.isnan(value) else color
        look = {"ha": "center", "va": "center", "fontsize": 5.5, "color": color}
        weight = "bold" if best[y, x] else "normal"
        text = _cell_text(cells.get((categories[y], names[x])))
        digits = ax.text(x + 0.5, y + 0.5, text, weight=weight, **look)
        # Inside its cell: measuring it again would double the time of drawing.
        digits.set_in_layout(False)
    heads = [name.replace(" ", "\n", 1) if len(names) > 9 else name for name in names]
    ax.set_xticks(np.arange(len(names)) + 0.5, heads, fontsize=6)
    ax.set_yticks(np.arange(len(categories)) + 0.5, categories, fontsize=6)
    ax.invert_yaxis()
    ax.grid(visible=False)
    ax.set(xlabel=panel.label)


def _cell_text(cell) -> str:
    if cell is None:
        return ""
    if np.isnan(cell.value):
        return cell.note if isinstance(cell.note, str) else ""
    known = np.isfinite([cell.lo, cell.hi]).all()
    ends = f" [{cell.lo:.1f}, {cell.hi:.1f}]" if known else ""
    return f"{cell.value:.1f}{ends}"
