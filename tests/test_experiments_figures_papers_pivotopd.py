"""PivotOPD's tables and figures: printed values as printed, ours from records."""

from functools import partial

import matplotlib as mpl

mpl.use("Agg")

import pandas as pd
import pytest
from paper_records import made_pairs, panel_values, write_records

from pivotlab.experiments.figures import papers, papers_pivotopd
from pivotlab.experiments.own_records import OwnRecords
from pivotlab.experiments.reported import PIVOTOPD, wide

NAMES = ["table_1", "table_2", "figure_3", "figure_6", "table_s1", "table_s5", "swe"]


side = partial(panel_values, "pivotopd")


@pytest.fixture(scope="module")
def pairs(reported, tmp_path_factory):
    return made_pairs(
        papers_pivotopd.MAKERS, reported, tmp_path_factory.mktemp("records")
    )


def test_every_table_and_figure_has_its_pair(pairs):
    assert list(pairs) == [f"10_pivotopd_{name}" for name in NAMES]


def test_the_main_tables_are_complete(pairs, reported):
    for place, student in enumerate(("Qwen3-1.7B", "Qwen3-8B")):
        printed = wide(reported, PIVOTOPD, f"Table 1, {student}")
        drawn = side(pairs, "table_1", "paper", place)
        assert drawn.loc[printed.index, printed.columns].equals(printed)
    assert side(pairs, "table_2", "paper").shape == (6, 7)


def test_printed_values_reach_the_panels(pairs):
    assert side(pairs, "table_s5", "paper").loc["K=2", "total"] == 94.2
    assert side(pairs, "swe", "paper")["resolve rate"].max() == 73.0
    gains = side(pairs, "figure_6", "paper").iloc[:, 0]
    assert gains["WebShop (best K = 1)"] == 21.5
    agreed = side(pairs, "table_s1", "paper")
    assert agreed.loc["Qwen3.5-122B-A10B on Qwen3-8B"].tolist() == [84.4, 28.1]


def test_own_panels_are_filled_from_records(pairs):
    for pair in pairs.values():
        assert all(len(panel.rows) for panel in pair.own), pair.name
        assert papers.numbers(pair)["own"].notna().any()
    bars = side(pairs, "figure_6", "own")
    assert list(bars.index) == [f"K = {k}" for k in range(4)]
    assert set(bars.columns) == {"success", "recovered"}
    assert pairs["10_pivotopd_figure_6"].own[0].title.endswith("40 steps")
    grid = side(pairs, "table_1", "own")
    assert grid.loc["PivotOPD"].tolist() == [pytest.approx(45)] * 2


def test_arms_that_were_not_run_keep_their_rows(reported, tmp_path):
    path = write_records(tmp_path) / "pivotopd_arms.csv"
    arms = pd.read_csv(path)
    gone = ["self-teacher", "swe", "random turns", "no action named"]
    arms[~arms["arm"].isin(gone)].to_csv(path, index=False)
    found = papers.pairs(papers_pivotopd.MAKERS, reported, OwnRecords(tmp_path))
    for name, missing in {
        "table_2": ["random turns", "no action named"],
        "figure_3": ["student as teacher"],
        "swe": ["OPD + pivots"],
    }.items():
        rows = found[f"10_pivotopd_{name}"].own[0].rows
        assert rows[rows["note"] == "not run"]["row"].tolist() == missing


def test_without_records_every_pair_is_still_made(reported, tmp_path):
    found = papers.pairs(papers_pivotopd.MAKERS, reported, OwnRecords(tmp_path))
    assert len(found) == len(NAMES)
    for name, pair in found.items():
        assert all(panel.rows.empty for panel in pair.own)
        why = "K = 0 to 3 not run" if name.endswith("figure_6") else "no own record yet"
        assert papers.caption(pair).endswith(f"Ours: {why}.")
