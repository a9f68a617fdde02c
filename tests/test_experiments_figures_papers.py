"""Pairs keep printed and own numbers apart, and are the same bytes every time."""

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from paper_records import ours, printed

from pivotlab.experiments import plotting
from pivotlab.experiments.figures import papers
from pivotlab.experiments.figures.panels import (
    NO_RECORD,
    ROWS,
    Panel,
    note_panel,
)
from pivotlab.experiments.figures.papers import Pair
from pivotlab.experiments.own_records import OwnRecords


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


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


def test_printed_and_own_values_have_columns_of_their_own():
    table = papers.numbers(pair())
    assert len(table) == 6
    paper, own = table[table["panel"] == "Paper"], table[table["panel"] == "Ours"]
    assert paper["reported"].tolist()[:3] == [1.0, 2.0, 3.0]
    assert paper[["own", "own_lo", "own_hi", "n"]].isna().all(axis=None)
    assert own["own"].tolist() == [40.0, 50.0] and own["own_lo"].tolist() == [30, 40]
    assert own[["reported", "reported_lo", "provenance"]].isna().all(axis=None)


def test_without_records_the_panel_says_so():
    empty = pd.DataFrame(columns=list(ROWS))
    which = pair(own=empty)
    _, right = drawn(which).axes
    assert [t.get_text() for t in right.texts] == [NO_RECORD]
    assert papers.caption(which).endswith("Ours: no own record yet.")
    assert papers.numbers(which)["own"].isna().all()


def test_the_caption_names_provenance_n_and_seeds():
    text = papers.caption(pair())
    assert text == (
        "Reported (article): Table 9. Ours: the game. Per point: n 30, seeds 1 to 2."
    )


def test_what_was_not_run_is_no_point_of_the_caption():
    rows = ours().assign(value=[40.0, np.nan], note=["", "not run"])
    assert papers.caption(pair(own=rows)).endswith("Per point: n 30, seeds 1.")
    panel = Panel("Ours", "%", rows.assign(value=np.nan), text="K = 0 not run")
    which = Pair("10_demo", pair().paper, (panel,), "Table 9.", "the game.")
    assert papers.caption(which).endswith("Ours: K = 0 not run.")


def test_pairs_come_by_name_in_the_order_of_their_makers(tmp_path):
    def maker(name):
        return lambda reported, own: Pair(
            name, (), (), str(len(reported)), own.folder.name
        )

    own = OwnRecords(tmp_path)
    found = papers.pairs((maker("b"), maker("a")), printed(), own)
    assert list(found) == ["b", "a"]
    assert found["a"].paper_caption == "4" and found["a"].own_caption == tmp_path.name


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
