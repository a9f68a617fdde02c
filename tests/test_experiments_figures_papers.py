"""Pairs keep printed and own numbers apart, and are the same bytes every time."""

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from pivotlab.experiments import plotting
from pivotlab.experiments.figures import papers
from pivotlab.experiments.figures.papers import ROWS, Pair, Panel, note_panel, rows_of


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


def printed():
    table = {"row": ["a", "a", "b", "b"], "column": ["base", "new"] * 2}
    table |= {"number": [1.0, 2.0, 3.0, np.nan], "note": ["", "", "", "not printed"]}
    return rows_of(pd.DataFrame(table).assign(provenance="article"))


def ours():
    table = {"row": ["a", "b"], "column": "new", "mean": [0.4, 0.5], "lo": [0.3, 0.4]}
    return rows_of(
        pd.DataFrame(table | {"hi": 0.6, "n": 30, "seeds": [1, 2]}), "mean", 100.0
    )


def pair(kind="bars", own=None, stacked=False):
    rows = ours() if own is None else own
    paper = Panel("Paper", "points", printed(), kind)
    mine = Panel("Ours", "%", rows, kind)
    return Pair("10_demo", (paper,), (mine,), "Table 9.", "the game.", stacked)


def drawn(which):
    with plotting.style():
        fig = papers.draw(which)
        fig.canvas.draw()
    return fig


def test_rows_are_scaled_with_their_intervals():
    rows = ours()
    assert tuple(rows.columns) == ROWS
    assert rows[["value", "lo", "hi"]].values.tolist() == [[40, 30, 60], [50, 40, 60]]
    assert rows["provenance"].isna().all() and rows["n"].tolist() == [30, 30]


def test_printed_and_own_values_have_columns_of_their_own():
    table = papers.numbers(pair())
    assert len(table) == 6
    paper, own = table[table["panel"] == "Paper"], table[table["panel"] == "Ours"]
    assert paper["reported"].tolist()[:3] == [1.0, 2.0, 3.0]
    assert paper[["own", "own_lo", "own_hi", "n"]].isna().all(axis=None)
    assert own["own"].tolist() == [40.0, 50.0] and own["own_lo"].tolist() == [30, 40]
    assert own[["reported", "reported_lo", "provenance"]].isna().all(axis=None)


def test_bars_have_the_values_and_say_what_is_missing():
    left, right = drawn(pair()).axes
    widths = [p.get_width() for p in left.patches]
    assert widths[:3] == [1.0, 3.0, 2.0] and np.isnan(widths[3])
    assert [t.get_text().strip() for t in left.texts] == ["not printed"]
    assert [p.get_width() for p in right.patches] == [40.0, 50.0]
    assert left.get_title(loc="left") == "(a) Paper"
    labels = [t.get_text() for t in left.get_legend().get_texts()]
    assert labels == ["base", "new"] and right.get_legend() is None


def test_intervals_reach_from_lo_to_hi():
    _, right = drawn(pair()).axes
    (bars,) = [c for c in right.collections if hasattr(c, "get_segments")]
    assert [s[:, 0].tolist() for s in bars.get_segments()] == [[30, 60], [40, 60]]


def test_without_records_the_panel_says_so():
    empty = pd.DataFrame(columns=list(ROWS))
    which = pair(own=empty)
    _, right = drawn(which).axes
    assert [t.get_text() for t in right.texts] == [papers.NO_RECORD]
    assert papers.caption(which).endswith("Ours: no own record yet.")
    assert papers.numbers(which)["own"].isna().all()


def test_the_caption_names_provenance_n_and_seeds():
    text = papers.caption(pair())
    assert text == (
        "Reported (article): Table 9. Ours: the game. Per point: n 30, seeds 1 to 2."
    )


def test_a_grid_prints_every_digit_and_the_best_in_bold():
    fig = drawn(pair("grid", stacked=True))
    texts = {t.get_text(): t.get_weight() for t in fig.axes[0].texts}
    assert texts == {"1.0": "normal", "2.0": "bold", "3.0": "bold"}
    assert fig.axes[0].get_position().y0 > fig.axes[1].get_position().y1


def test_lines_are_drawn_with_their_band():
    rows = ours().assign(row=[0, 20])
    which = pair(own=rows)
    panel = Panel("Ours", "%", rows, "lines", x="steps")
    fig = drawn(Pair("10_demo", which.paper, (panel,), "P.", "O."))
    (line,) = fig.axes[1].lines
    assert line.get_xydata().tolist() == [[0, 40], [20, 50]]
    assert fig.axes[1].get_xlabel() == "steps" and len(fig.axes[1].collections) == 1


def test_a_note_stands_for_an_image_and_keeps_its_rows():
    rows = printed().iloc[3:]
    panel = note_panel("Paper", "only an image", rows)
    which = Pair("10_demo", (panel,), (pair().own[0],), "Figure 9.", "the game.")
    left, _ = drawn(which).axes
    assert left.texts[0].get_text() == "only an image"
    assert papers.numbers(which)["note"].tolist()[0] == "not printed"


@pytest.mark.parametrize("kind", ["bars", "grid"])
def test_two_saves_are_the_same_bytes(tmp_path, kind):
    for folder in ("one", "two"):
        papers.save(pair(kind), tmp_path / folder)
    names = sorted(p.name for p in (tmp_path / "one").iterdir())
    assert names == [f"10_demo{end}" for end in (".csv", ".md", ".pdf", ".png")]
    for name in names:
        first, second = ((tmp_path / f / name).read_bytes() for f in ("one", "two"))
        assert first == second, name
