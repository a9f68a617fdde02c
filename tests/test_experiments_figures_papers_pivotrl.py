"""PivotRL's tables and figures: printed values as printed, ours from records."""

from functools import partial

import matplotlib as mpl

mpl.use("Agg")

import numpy as np
import pytest
from paper_records import made_pairs, panel_values

from pivotlab.experiments.figures import papers, papers_pivotrl
from pivotlab.experiments.figures.panels import NO_RECORD
from pivotlab.experiments.own_records import OwnRecords
from pivotlab.experiments.reported import PIVOTRL, wide

NAMES = ["silent_turns", *(f"table_{n}" for n in range(1, 7))]
NAMES += [f"figure_{n}" for n in (1, 2, 3)]


side = partial(panel_values, "pivotrl")


@pytest.fixture(scope="module")
def pairs(reported, tmp_path_factory):
    return made_pairs(
        papers_pivotrl.MAKERS, reported, tmp_path_factory.mktemp("records")
    )


def test_every_table_and_figure_has_its_pair(pairs):
    assert list(pairs) == [f"10_pivotrl_{name}" for name in NAMES]


def test_printed_values_reach_the_panels(pairs, reported):
    table = side(pairs, "table_1", "paper")
    assert table.loc["BrowseComp", "PivotRL"] == 11.3 and table.shape == (4, 3)
    assert side(pairs, "table_2", "paper").loc["AIME25", "SFT"] == -19.72
    table = side(pairs, "table_3", "paper")
    assert np.isnan(table.loc["MATH500", "PivotRL"])
    assert side(pairs, "table_4", "paper").shape == (6, 1)
    assert side(pairs, "table_5", "paper").loc["τ²-Bench", "after"] == 64.0
    printed = wide(reported, PIVOTRL, "Table 6")
    assert side(pairs, "table_6", "paper").T.loc["SFT"].to_dict() == (
        printed.loc["SFT"].to_dict()
    )
    turns = side(pairs, "figure_1", "paper")["rollout turns (thousands)"]
    assert turns.to_dict() == {"E2E RL": 542.0, "PivotRL": 133.0}
    assert side(pairs, "silent_turns", "paper").to_numpy().tolist() == [[71.0]]


def test_the_cell_that_the_paper_leaves_out_says_so(pairs):
    rows = pairs["10_pivotrl_table_4"].paper[0].rows.set_index("row")
    assert rows.loc["D_adv + strict", "note"] == "not in the paper"
    assert rows["value"].isna().sum() == 1


@pytest.mark.parametrize("name", ["figure_2", "figure_3"])
def test_curves_known_as_images_are_not_redrawn(pairs, name):
    (panel,) = pairs[f"10_pivotrl_{name}"].paper
    assert panel.kind == "note" and "as an image only" in panel.text
    assert panel.rows["value"].isna().all()


def test_own_panels_are_filled_from_records(pairs):
    for name in NAMES:
        for panel in pairs[f"10_pivotrl_{name}"].own:
            assert panel.rows.empty == (name == "table_5"), name
            assert name != "table_5" or "no counterpart" in panel.text
    own = side(pairs, "table_1", "own")
    assert list(own.index) == ["rooms seen", "rooms unseen"]
    assert set(own.columns) == set(side(pairs, "table_1", "paper").columns)
    assert own.loc["rooms seen", "base"] == pytest.approx(20)
    assert pairs["10_pivotrl_table_1"].own[0].title.endswith("40 steps")


def test_without_records_every_pair_is_still_made(reported, tmp_path):
    found = papers.pairs(papers_pivotrl.MAKERS, reported, OwnRecords(tmp_path))
    assert len(found) == len(NAMES)
    for pair in found.values():
        for panel in pair.own:
            assert panel.rows.empty
            assert panel.text == NO_RECORD or "no counterpart" in panel.text
        assert papers.numbers(pair)["own"].isna().all()


def test_one_domain_is_the_counterpart_of_both_tables_of_forgetting(pairs):
    second, third = (pairs[f"10_pivotrl_table_{n}"].own[0].rows for n in (2, 3))
    assert second.equals(third)
    assert list(dict.fromkeys(second["row"])) == ["add", "sort", "average"]


def test_silence_is_no_spread_of_a_batch(pairs):
    spread, silent = pairs["10_pivotrl_figure_3"].own
    assert spread.rows["value"].tolist() == pytest.approx([0.4] * len(spread.rows))
    assert silent.rows["value"].tolist() == pytest.approx([0.2] * len(silent.rows))
    said = pairs["10_pivotrl_figure_3"].own_caption
    assert "all rewards of a batch" in said and "running mean over 7" in said


def test_ours_disagrees_where_the_notebook_says_so(reported):
    """The numbers that notebook 10 writes out, from the committed records."""
    own = OwnRecords()
    training = own.table("pivotrl_training").query("steps > 480").groupby("arm")
    spread = training["reward_std"].mean()
    silent = training["frac_reward_zero_std"].mean()
    pivots, turns = "functional/pivots", "functional/random"
    assert spread[[pivots, turns]].round(3).tolist() == [0.135, 0.31]
    assert silent[[pivots, turns]].round(2).tolist() == [0.92, 0.93]
    lines = papers_pivotrl.figure_1(reported, own).own[0].rows
    best = lines[lines["column"] == "end-to-end"].iloc[-1]
    first = lines[lines["column"] == "pivots"].iloc[:2]
    assert best[["row", "value"]].round(1).tolist() == [26.7, 58.5]
    assert first["row"].round(1).tolist() == [91.0, 94.8]
    assert first["value"].round(1).tolist()[1] == 61.2
