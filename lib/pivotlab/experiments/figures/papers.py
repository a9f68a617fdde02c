"""A paper's numbers beside our own, in separate panels and separate columns.

A `Pair` says what is shown: panels of printed numbers, panels of our records. One
drawing routine serves bars, lines and number grids, so the two sides look alike; an own
panel without rows says that there is no record yet. All shares are in percent.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pivotlab.experiments.plotting import (
    COLORS,
    DASHES,
    GREY,
    MARKERS,
    SEQUENTIAL,
    WIDTHS,
    figure,
    panel_letters,
    save_figure,
    style,
)
from pivotlab.experiments.reported import block

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
    """

    title: str
    label: str
    rows: pd.DataFrame
    kind: Literal["bars", "lines", "grid", "note"] = "bars"
    text: str = NO_RECORD
    x: str = ""


@dataclass(frozen=True)
class Pair:
    """A figure: printed panels, then own panels, and its caption in two halves."""

    name: str
    paper: tuple[Panel, ...]
    own: tuple[Panel, ...]
    paper_caption: str
    own_caption: str
    stacked: bool = False

    @property
    def panels(self) -> tuple[Panel, ...]:
        return self.paper + self.own


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


def printed_rows(
    reported: pd.DataFrame, paper: str, table: str, *columns: str
) -> pd.DataFrame:
    """Panel rows of a printed table: these columns, or all."""
    own = block(reported, paper, table)
    return rows_of(own[own["column"].isin(columns)] if columns else own)


def note_panel(title: str, text: str, rows: pd.DataFrame | None = None) -> Panel:
    """A panel that says in words what there is to say; `rows` still go to the CSV."""
    empty = pd.DataFrame(columns=list(ROWS))
    return Panel(title, "", empty if rows is None else rows, "note", text)


def draw(pair: Pair) -> Figure:
    """All panels of a pair; call it inside `plotting.style()`."""
    heights = [_height(panel) for panel in pair.panels]
    count = len(pair.panels)
    if pair.stacked:
        shape = {"rows": count, "height_ratios": heights}
        ratio = sum(heights) / WIDTHS["page"]
    else:
        shape = {"columns": count}
        ratio = max(1.7, *heights) / WIDTHS["page"]
    fig, axes = figure(ratio=ratio, squeeze=False, **shape)
    for ax, panel in zip(axes.flat, pair.panels, strict=True):
        ax.set_title(panel.title)
    panel_letters(axes.flat)
    for ax, panel in zip(axes.flat, pair.panels, strict=True):
        if panel.kind == "note" or panel.rows["value"].isna().all():
            _print(ax, panel.text)
        else:
            {"bars": _bars, "lines": _lines, "grid": _grid}[panel.kind](ax, panel)
    return fig


def numbers(pair: Pair) -> pd.DataFrame:
    """The rows of a pair; printed and own values in columns of their own."""
    parts = []
    for place, panel in enumerate(pair.panels):
        own = place >= len(pair.paper)
        if panel.rows.empty:
            continue
        rows = panel.rows.copy()
        rows.insert(0, "panel", panel.title)
        side, other = ("own", "reported") if own else ("reported", "own")
        names = {"value": "", "lo": "_lo", "hi": "_hi"}
        rows = rows.rename(columns={old: side + new for old, new in names.items()})
        rows[[other + new for new in names.values()]] = np.nan
        parts.append(rows)
    columns = ["panel", "row", "column"]
    columns += [f"{s}{e}" for s in ("reported", "own") for e in ("", "_lo", "_hi")]
    table = pd.concat([p.astype(object) for p in parts], ignore_index=True)
    return table[[*columns, "n", "seeds", "provenance", "note"]]


def caption(pair: Pair) -> str:
    """Both halves, with the provenance of the one and n and seeds of the other."""
    printed = pd.concat([panel.rows for panel in pair.paper])
    tags = sorted(set(printed["provenance"].dropna()) - {""})
    text = f"Reported ({'; '.join(tags)}): {pair.paper_caption}"
    own = [panel.rows for panel in pair.own if len(panel.rows)]
    if not own:
        reasons = {panel.text for panel in pair.own}
        return f"{text} Ours: {'; '.join(sorted(reasons))}."
    rows = pd.concat(own)
    sizes = [
        f"{name} {_range(rows[name])}" for name in ("n", "seeds") if rows[name].any()
    ]
    return f"{text} Ours: {pair.own_caption} Per point: {', '.join(sizes)}."


def save(pair: Pair, folder: Path | None = None) -> Figure:
    """Draw and save a pair under its name; returns the figure."""
    with style():
        fig = draw(pair)
        save_figure(fig, pair.name, caption(pair), numbers(pair), folder)
    return fig


def _range(values: pd.Series) -> str:
    known = values.dropna().astype(float)
    low, high = f"{known.min():,.0f}", f"{known.max():,.0f}"
    return low if low == high else f"{low} to {high}"


def _shape(panel: Panel) -> tuple[list[str], list[str]]:
    """Categories and series in order of appearance."""
    rows = panel.rows
    return list(dict.fromkeys(rows["row"])), list(dict.fromkeys(rows["column"]))


def _height(panel: Panel) -> float:
    """Inches that a panel needs."""
    if panel.kind == "note" or panel.rows["value"].isna().all():
        return 0.6
    if panel.kind == "lines":
        return 1.9
    categories, names = _shape(panel)
    if panel.kind == "grid":
        return 0.75 + 0.165 * len(categories)
    extra = 0.13 * _legend_lines(names)
    bars = 0.09 + 0.1 * len(names)
    lines = [0.06 + 0.11 * (1 + _wrapped(c).count("\n")) for c in categories]
    return max(1.5, 0.7 + extra + sum(max(bars, words) for words in lines))


def _wrapped(category: str) -> str:
    return textwrap.fill(category, 26)


def _legend_columns(names: Sequence[str]) -> int:
    """As many as half a page holds."""
    return 4 if len("".join(names)) <= 32 else 2


def _legend_lines(names: Sequence[str]) -> int:
    return -(-len(names) // _legend_columns(names)) if len(names) > 1 else 0


def _print(ax: Axes, text: str) -> None:
    ax.axis("off")
    wrapped = "\n".join(textwrap.fill(line, 44) for line in text.split("\n"))
    look = {"color": GREY, "fontsize": 7, "ha": "left", "va": "top"}
    ax.text(0.0, 0.95, wrapped, transform=ax.transAxes, **look)


def _bars(ax: Axes, panel: Panel) -> None:
    categories, names = _shape(panel)
    thick = 0.8 / max(len(names), 1.4)
    for place, name in enumerate(names):
        rows = panel.rows[panel.rows["column"] == name]
        y = np.array([categories.index(r) for r in rows["row"]])
        y = y + (place - (len(names) - 1) / 2) * thick
        value = rows["value"].to_numpy(float)
        color = list(COLORS.values())[place % len(COLORS)]
        look = {"color": color, "hatch": _HATCHES[place], "edgecolor": "white"}
        ax.barh(y, value, thick, label=name, linewidth=0.3, **look)
        ends = rows[["lo", "hi"]].to_numpy(float).T
        if np.isfinite(ends).any():
            reach = np.clip([value - ends[0], ends[1] - value], 0, None)
            ax.errorbar(value, y, xerr=reach, **_ERROR)
        for where, why in zip(y[np.isnan(value)], _reasons(rows), strict=True):
            ax.text(0, where, f" {why}", va="center", fontsize=6, color=GREY)
    ax.set_yticks(range(len(categories)), [_wrapped(c) for c in categories])
    ax.set_ylim(len(categories) - 0.45, -0.55)
    ax.axvline(0, color=GREY, linewidth=0.7, marker="", linestyle="-")
    ax.grid(axis="y", visible=False)
    ax.set(xlabel=panel.label)
    if len(names) > 1:
        _legend_above(ax, names)


def _reasons(rows: pd.DataFrame) -> list[str]:
    """Why values are missing: the note where it is short."""
    notes = rows[rows["value"].isna()]["note"].fillna("").astype(str)
    return [note if 0 < len(note) < 20 else "not known" for note in notes]


def _legend_above(ax: Axes, names: Sequence[str]) -> None:
    """Between the panel and its title, which moves up."""
    columns = _legend_columns(names)
    place = {"loc": "lower left", "bbox_to_anchor": (0, 1.0), "borderaxespad": 0.2}
    ax.legend(ncols=columns, fontsize=6, columnspacing=0.8, handlelength=1.4, **place)
    ax.set_title(ax.get_title(loc="left"), pad=4 + 9 * _legend_lines(names))


_ERROR = {"fmt": "none", "ecolor": "black", "elinewidth": 0.8, "capsize": 1.5}


def _lines(ax: Axes, panel: Panel) -> None:
    for place, name in enumerate(dict.fromkeys(panel.rows["column"])):
        rows = panel.rows[panel.rows["column"] == name]
        x, value = rows["row"].astype(float), rows["value"].astype(float)
        ends = rows[["lo", "hi"]].to_numpy(float).T
        color = list(COLORS.values())[place % len(COLORS)]
        look = {"color": color, "linestyle": DASHES[place % len(DASHES)]}
        marker = MARKERS[place % len(MARKERS)] if len(rows) < 16 else ""
        ax.plot(x, value, label=name, marker=marker, **look)
        if np.isfinite(ends).any():
            ax.fill_between(x, *ends, color=color, alpha=0.15, linewidth=0)
    ax.set(xlabel=panel.x, ylabel=panel.label)
    ax.legend(fontsize=6)


def _grid(ax: Axes, panel: Panel) -> None:
    """Printed digits on shading; the best of every column is bold."""
    categories, names = _shape(panel)
    table = panel.rows.set_index(["row", "column"])["value"].astype(float)
    values = table.unstack("column").loc[categories, names].to_numpy()
    low, high = np.nanmin(values), np.nanmax(values)
    ax.pcolormesh(values, cmap=SEQUENTIAL, vmin=low, vmax=high, rasterized=False)
    best = values == np.nanmax(values, axis=0)
    middle = (low + high) / 2
    for (y, x), value in np.ndenumerate(values):
        if np.isnan(value):
            continue
        color = "white" if value < middle else "black"
        look = {"ha": "center", "va": "center", "fontsize": 5.5, "color": color}
        weight = "bold" if best[y, x] else "normal"
        digits = ax.text(x + 0.5, y + 0.5, f"{value:.1f}", weight=weight, **look)
        # Inside its cell: measuring it again would double the time of drawing.
        digits.set_in_layout(False)
    ax.set_xticks(np.arange(len(names)) + 0.5, names, fontsize=6)
    ax.set_yticks(np.arange(len(categories)) + 0.5, categories, fontsize=6)
    ax.invert_yaxis()
    ax.grid(visible=False)
    ax.set(xlabel=panel.label)
