"""Costs at equal success, by hand."""

import math

import pandas as pd
import pytest

from pivotlab.experiments.opd.e2e_vs_pivot import cost_at, cost_rows, ratios


def records(arm, points):
    """Text rows of a record table: (steps, success, turns, seconds) per split."""
    rows = [("base", 0, 0.2, 0, 0.0), *((arm, *point) for point in points)]
    return pd.DataFrame(
        [
            {"arm": a, "seed": "0", "steps": str(s), "split": split, "decoding": "t1"}
            | {"task_type": "all", "n": "10", "success": str(success)}
            | {"rollout_turns": str(turns), "seconds": str(seconds)}
            for a, s, success, turns, seconds in rows
            for split in ("valid_seen", "valid_unseen")
        ]
    )


PIVOTS = records("functional/pivots", [(60, 0.6, 100, 10.0), (120, 0.8, 200, 20.0)])
EPISODES = records("grpo", [(20, 0.4, 1000, 50.0), (40, 0.6, 2000, 100.0)])


def test_ratios_by_hand():
    rows = cost_rows(PIVOTS, EPISODES, profiling_turns=50)
    assert set(rows["n"]) == {20}
    (row,) = ratios(rows, "t1", 0.5).to_dict("records")
    # pivots: 50 + 100 * 3/4 turns, 7.5 s; episodes: half-way from 1000 to 2000, 75 s
    assert row["turns_ratio"] == pytest.approx(1500 / 125)
    assert row["seconds_ratio"] == pytest.approx(75 / 7.5)


def test_a_success_that_is_never_reached_has_no_cost():
    rows = cost_rows(PIVOTS, EPISODES, 0)
    (row,) = ratios(rows, "t1", 0.7).to_dict("records")
    assert math.isnan(row["turns_ratio"])
    own = rows[rows["method"] == "pivots"]
    assert cost_at(own, 0.1, "seconds") == 0.0
    assert cost_at(own, 0.8, "seconds") == 20.0
