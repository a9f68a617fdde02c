"""PivotOPD's analyses: printed values as printed, ours from records or not recorded."""

from functools import partial

import matplotlib as mpl

mpl.use("Agg")

import numpy as np
import pytest
from paper_records import made_pairs, panel_values

from pivotlab.experiments.figures import papers
from pivotlab.experiments.figures import papers_pivotopd_analyses as analyses
from pivotlab.experiments.own_records import OwnRecords

NAMES = ["failures", "counterfactual", "standard_opd", "figure_5", "figure_5_counts"]
NAMES += ["figure_7"]


side = partial(panel_values, "pivotopd")


@pytest.fixture(scope="module")
def pairs(reported, tmp_path_factory):
    return made_pairs(analyses.MAKERS, reported, tmp_path_factory.mktemp("records"))


def test_every_analysis_has_its_pair(pairs):
    assert list(pairs) == [f"10_pivotopd_{name}" for name in NAMES]


def test_printed_values_reach_the_panels(pairs):
    lost = side(pairs, "failures", "paper")
    assert lost.loc["Qwen3-8B"].tolist() == [111, 72] and "all" not in lost.index
    rows = pairs["10_pivotopd_counterfactual"].paper[0].rows.set_index("row")
    oracle = rows.loc["oracle at the pivot", ["value", "lo", "hi"]]
    assert oracle.tolist() == [59.0, 48.3, 69.8] and len(rows) == 6
    final = side(pairs, "figure_5", "paper")["final rate"]
    assert final["PivotOPD"] == 72.7 and final["base"] == 8.3
    counts = side(pairs, "figure_5_counts", "paper")
    assert counts.loc["PivotOPD", ["better", "worse", "same"]].tolist() == [60, 0, 12]


def test_standard_opd_is_in_percent_and_keeps_its_bounds(pairs):
    shape = side(pairs, "standard_opd", "paper")
    assert shape.loc["failure rate", ["before", "after"]].tolist() == [79, 56]
    mistake = shape.loc["probability of the mistake", ["before", "after"]]
    assert mistake.tolist() == pytest.approx([99.9, 0.001])
    oracle = shape.loc["probability of the oracle action", ["before", "after"]]
    assert np.isnan(oracle["before"]) and oracle["after"] == pytest.approx(1)


def test_own_panels_are_filled_from_records(pairs):
    order = pairs["10_pivotopd_counterfactual"].own[0].rows["row"].tolist()
    assert order == ["none", "oracle at the pivot"], "in the paper's order"
    found = side(pairs, "failures", "own").loc["tiny"]
    assert np.isnan(found["failures"]) and found["with an oracle pivot"] == 9
    assert side(pairs, "figure_5_counts", "own").loc["PivotOPD", "better"] == 5
    assert side(pairs, "standard_opd", "own").notna().to_numpy().sum() == 6


def test_the_curves_of_figure_5_have_the_colours_of_its_bars(pairs):
    bars, lines = pairs["10_pivotopd_figure_5"].own
    assert bars.colors == lines.colors and not lines.legend
    assert set(lines.rows["column"]) == set(bars.rows["row"]) <= set(bars.colors)
    assert len({bars.colors[name] for name in bars.rows["row"]}) == 6
    assert lines.kind == "lines" and lines.rows["row"].max() == 30


def test_the_curve_known_as_an_image_is_not_redrawn(pairs):
    pair = pairs["10_pivotopd_figure_7"]
    assert "as an image only" in pair.paper[0].text and pair.paper[0].kind == "note"
    assert "600 trajectories, 351 with a pivot" in pair.paper[0].text
    assert "not recorded" in papers.caption(pair)


def test_without_records_every_pair_is_still_made(reported, tmp_path):
    found = papers.pairs(analyses.MAKERS, reported, OwnRecords(tmp_path))
    assert len(found) == len(NAMES)
    for name, pair in found.items():
        assert all(panel.rows.empty for panel in pair.own)
        why = "not recorded" if name.endswith("figure_7") else "no own record yet"
        assert why in papers.caption(pair)
