"""Panels: what is drawn has the values, and says seeds, n and what is missing."""

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from paper_records import ours, printed

from pivotlab.experiments import plotting
from pivotlab.experiments.figures import panels
from pivotlab.experiments.figures.panels import ROWS, Panel, rows_of

HARD = "\N{NO-BREAK SPACE}"


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


def drawn(panel, across=2):
    with plotting.style():
        fig, ax = plotting.figure(ratio=0.5)
        ax.set_title(panel.title)
        panels.draw_panel(ax, panel, across)
        fig.canvas.draw()
    return ax


def test_rows_are_scaled_with_their_intervals():
    rows = ours()
    assert tuple(rows.columns) == ROWS
    assert rows[["value", "lo", "hi"]].values.tolist() == [[40, 30, 60], [50, 40, 60]]
    assert rows["provenance"].isna().all() and rows["n"].tolist() == [30, 30]


def test_bars_have_the_values_and_say_what_is_missing():
    ax = drawn(Panel("Paper", "points", printed()))
    widths = [p.get_width() for p in ax.patches]
    assert widths[:3] == [1.0, 3.0, 2.0] and np.isnan(widths[3])
    assert [t.get_text().strip() for t in ax.texts] == ["not printed"]
    labels = [t.get_text() for t in ax.get_legend().get_texts()]
    assert labels == ["base", "new"]


def test_one_series_needs_no_legend_and_its_categories_carry_the_seeds():
    ax = drawn(Panel("Ours", "%", ours()))
    assert [p.get_width() for p in ax.patches] == [40.0, 50.0]
    ticks = [t.get_text() for t in ax.get_yticklabels()]
    assert ticks == [f"a (seeds:{HARD}1)", f"b (seeds:{HARD}2)"]
    assert ax.get_legend() is None
    (bars,) = [c for c in ax.collections if hasattr(c, "get_segments")]
    assert [s[:, 0].tolist() for s in bars.get_segments()] == [[30, 60], [40, 60]]


def test_series_carry_the_seeds_unless_only_the_categories_differ():
    both = pd.concat([ours(), ours().assign(column="old")])
    ax = drawn(Panel("Ours", "%", both))
    assert ax.get_legend().get_texts()[0].get_text() == "new"
    assert ax.get_yticklabels()[1].get_text() == f"b (seeds:{HARD}2)"
    ax = drawn(Panel("Ours", "%", both.assign(seeds=[3, 3, 5, 5])))
    labels = [t.get_text() for t in ax.get_legend().get_texts()]
    assert labels == [f"new (seeds:{HARD}3)", f"old (seeds:{HARD}5)"]
    ax = drawn(Panel("Ours", "%", both.assign(seeds=np.nan, n=[9, 1200, 7, 7])))
    labels = [t.get_text() for t in ax.get_legend().get_texts()]
    assert labels[0] == f"new (n{HARD}={HARD}9{HARD}to{HARD}1,200)"


def test_what_was_not_run_keeps_its_row():
    rows = ours().assign(value=[40.0, np.nan], note=["", "not run"])
    ax = drawn(Panel("Ours", "%", rows))
    assert [t.get_text() for t in ax.get_yticklabels()][1] == "b"
    assert [t.get_text().strip() for t in ax.texts] == ["not run"]
    ax = drawn(Panel("Ours", "%", rows.assign(row=[0, 0], column=["a", "b"]), "lines"))
    assert ax.get_legend().get_texts()[1].get_text() == "b (not run)"


def test_a_grid_of_printed_digits_has_the_best_in_bold():
    ax = drawn(Panel("Paper", "points", printed(), "grid"))
    texts = {t.get_text(): t.get_weight() for t in ax.texts}
    bold = {"1.0": "normal", "2.0": "bold", "3.0": "bold", "not printed": "normal"}
    assert texts == bold


def test_a_grid_of_ours_has_intervals_and_nothing_in_bold():
    rows = ours().assign(value=[40.0, np.nan], note=["", "not run"])
    ax = drawn(Panel("Ours", "%", rows, "grid"))
    assert [t.get_text() for t in ax.texts] == ["40.0 [30.0, 60.0]", "not run"]
    assert {t.get_weight() for t in ax.texts} == {"normal"}


def test_many_heads_of_a_grid_stand_in_two_lines():
    table = pd.DataFrame({"row": "m", "column": [f"WS {i}" for i in range(12)]})
    ax = drawn(Panel("Paper", "%", rows_of(table.assign(number=1.0)), "grid"))
    assert ax.get_xticklabels()[0].get_text() == "WS\n0"


def test_lines_are_drawn_with_their_band():
    rows = ours().assign(row=[0, 20])
    ax = drawn(Panel("Ours", "%", rows, "lines", x="steps"))
    (line,) = ax.lines
    assert line.get_xydata().tolist() == [[0, 40], [20, 50]]
    assert ax.get_xlabel() == "steps" and len(ax.collections) == 1
    (entry,) = ax.get_legend().get_texts()
    assert entry.get_text() == f"new (seeds:{HARD}1{HARD}to{HARD}2)"


def test_colours_are_shared_by_bars_and_lines():
    red = {"new": "#FF0000", "a": "#FF0000"}
    rows = ours().assign(row=[0, 20])
    look = {"x": "steps", "colors": red, "legend": False}
    ax = drawn(Panel("Ours", "%", rows, "lines", **look))
    assert ax.lines[0].get_color() == "#FF0000" and ax.get_legend() is None
    bars = drawn(Panel("Ours", "%", ours(), colors=red)).patches
    assert bars[0].get_facecolor()[:3] == (1, 0, 0) != bars[1].get_facecolor()[:3]


def test_the_legend_stands_above_the_curves():
    rows = pd.concat([ours().assign(row=[0, 20], column=c) for c in "abc"])
    ax = drawn(Panel("Ours", "%", rows, "lines"))
    ax.figure.draw_without_rendering()
    below = ax.get_legend().get_window_extent().y0
    assert below >= ax.get_window_extent().y1 - 1


def test_words_alone_take_little_room():
    few, many = (panels.note_panel("Ours", "word " * n) for n in (2, 40))
    assert panels.height(few, 2) < panels.height(many, 2) < panels.height(many, 3)
    assert drawn(few).texts[0].get_text() == "word word"
