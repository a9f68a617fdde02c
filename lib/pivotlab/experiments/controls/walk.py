"""A step-through of an algorithm: its lines, and what each did in one real case."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import ipywidgets
import pandas as pd
from pandas.io.formats.style import Styler

from pivotlab.experiments.controls.sliders import Control

_TEXT = "white-space:pre-wrap;font-family:monospace;font-size:12px;line-height:1.45;"
_ROW = _TEXT + "padding:1px 8px;"
_HERE = "background:#0072B2;color:#FFFFFF;"
_SCREEN = (
    _TEXT + "border-left:4px solid #0072B2;padding:6px 12px;margin-top:8px;"
    "min-height:9em;"
)


@dataclass(frozen=True)
class Step:
    """One moment: which line is carried out, and what it does here.

    Attributes:
        line: index into the algorithm's lines.
        here: plain text, line by line.
    """

    line: int
    here: str


def steps_table(lines: Sequence[str], steps: Sequence[Step]) -> Styler:
    """The whole walk as a table: the static form of `walk`."""
    rows = [{"line": lines[step.line].strip(), "here": step.here} for step in steps]
    table = pd.DataFrame(rows, index=range(1, len(rows) + 1))
    look = {"white-space": "pre-wrap", "text-align": "left", "vertical-align": "top"}
    return table.style.set_properties(**look)


def walk(lines: Sequence[str], steps: Sequence[Step]) -> Control:
    """A widget that steps through an algorithm.

    Raises:
        ValueError: no steps, or a step at a line that isn't there.
    """
    if not steps or not all(0 <= step.line < len(lines) for step in steps):
        raise ValueError(f"a walk needs steps on the lines 0..{len(lines) - 1}")
    place = ipywidgets.IntSlider(1, 1, len(steps), description="step")
    back, forth = (
        ipywidgets.Button(description=text, tooltip=f"{text} step")
        for text in ("previous", "next")
    )
    screen = ipywidgets.HTML()

    def show(_: Any = None) -> None:
        screen.value = page(lines, steps[place.value - 1])

    def go(by: int) -> None:
        place.value = min(max(place.value + by, 1), len(steps))

    place.observe(show, "value")
    back.on_click(lambda _: go(-1))
    forth.on_click(lambda _: go(1))
    show()
    return Control([ipywidgets.HBox([place, back, forth]), screen])


def page(lines: Sequence[str], step: Step) -> str:
    """The algorithm with the current line marked, and what happens there, as HTML."""
    rows = []
    for number, line in enumerate(lines):
        mark = _HERE if number == step.line else ""
        pointer = "▶ " if number == step.line else "  "
        rows.append(f'<div style="{_ROW}{mark}">{pointer}{escape(line)}</div>')
    return f'{"".join(rows)}<div style="{_SCREEN}">{escape(step.here)}</div>'
