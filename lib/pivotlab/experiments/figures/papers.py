"""A paper's numbers beside our own, in separate panels and separate columns.

A `Pair` says what is shown: panels of printed numbers, panels of our records. An own
panel without rows says that there is no record yet. All shares are in percent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from pivotlab.experiments.figures.panels import (
    Panel,
    draw_panel,
    height,
    rows_of,
    span,
)
from pivotlab.experiments.own_records import OwnRecords
from pivotlab.experiments.plotting import (
    WIDTHS,
    figure,
    panel_letters,
    save_figure,
    style,
)
from pivotlab.experiments.reported import block


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

    @property
    def across(self) -> int:
        """Panels side by side."""
        return 1 if self.stacked else len(self.panels)


#: Makes one pair from the reported numbers and our records.
Maker = Callable[[pd.DataFrame, OwnRecords], Pair]


def pairs(
    makers: Iterable[Maker], reported: pd.DataFrame, own: OwnRecords
) -> dict[str, Pair]:
    """All pairs by name, in the order of their makers."""
    made = [make(reported, own) for make in makers]
    return {pair.name: pair for pair in made}


def printed_rows(
    reported: pd.DataFrame, paper: str, table: str, *columns: str
) -> pd.DataFrame:
    """Panel rows of a printed table: these columns, or all."""
    own = block(reported, paper, table)
    return rows_of(own[own["column"].isin(columns)] if columns else own)


def draw(pair: Pair) -> Figure:
    """All panels of a pair; call it inside `plotting.style()`."""
    heights = [height(panel, pair.across) for panel in pair.panels]
    count = len(pair.panels)
    if pair.stacked:
        shape = {"rows": count, "height_ratios": heights}
        ratio = sum(heights) / WIDTHS["page"]
    else:
        shape = {"columns": count}
        ratio = max(1.3, *heights) / WIDTHS["page"]
    fig, axes = figure(ratio=ratio, squeeze=False, **shape)
    for ax, panel in zip(axes.flat, pair.panels, strict=True):
        ax.set_title(panel.title)
    panel_letters(axes.flat)
    for ax, panel in zip(axes.flat, pair.panels, strict=True):
        draw_panel(ax, panel, pair.across)
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
    if all(panel.silent for panel in pair.own):
        reasons = {panel.text for panel in pair.own}
        return f"{text} Ours: {'; '.join(sorted(reasons))}."
    rows = pd.concat([panel.rows for panel in pair.own if not panel.silent])
    rows = rows[rows["value"].notna()]
    sizes = [
        f"{name} {span(rows[name])}"
        for name in ("n", "seeds")
        if rows[name].notna().any()
    ]
    each = f" Per point: {', '.join(sizes)}." if sizes else ""
    return f"{text} Ours: {pair.own_caption}{each}"


def save(pair: Pair, folder: Path | None = None) -> Figure:
    """Draw and save a pair under its name; returns the figure."""
    with style():
        fig = draw(pair)
        save_figure(fig, pair.name, caption(pair), numbers(pair), folder)
    return fig
