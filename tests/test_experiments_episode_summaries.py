"""Means of the end-to-end records, by hand."""

import numpy as np
import pandas as pd
import pytest

from pivotlab.experiments import episode_summaries


def replay_rows():
    base = {"arm": "base", "seed": "0", "rate": "0.05", "lo": "0.03", "hi": "0.08"}
    rows = [base | {"better": "0", "same": "10", "worse": "0"}]
    for seed, rate, better in (("0", "0.3", "6"), ("1", "0.5", "8")):
        row = {"arm": "full", "seed": seed, "rate": rate, "lo": "0", "hi": "1"}
        rows.append(
            row | {"better": better, "same": "2", "worse": str(8 - int(better))}
        )
    return pd.DataFrame(rows).assign(mistakes="10", repeats="8", steps="20")


def retention():
    rows = [
        {"arm": arm, "seed": seed, "steps": steps, "accuracy": accuracy}
        for arm, seed, steps, accuracy in (
            ("base", 0, 0, 0.9),
            ("full", 0, 10, 0.1),
            ("full", 0, 20, 0.9),
            ("full", 1, 20, 0.8),
        )
    ]
    table = pd.DataFrame(rows).assign(skill="add", decoding="greedy", n=10)
    return table.assign(shares_game_tokens=False).astype(str)


@pytest.fixture
def summary():
    return episode_summaries.recovery_summary(
        replay_rows(), retention(), ["base", "full"], "greedy"
    )


def of(table, panel, part=None):
    rows = table[table["panel"] == panel]
    return rows if part is None else rows[rows["part"] == part]


def test_recovered_is_a_mean_over_seeds_and_the_base_keeps_its_bootstrap(summary):
    base, full = of(summary, "recovered").to_dict("records")
    assert (base["mean"], base["lo"], base["hi"]) == (0.05, 0.03, 0.08)
    assert full["mean"] == pytest.approx(0.4)
    assert (full["seeds"], full["n"]) == (2, 160)
    # t(1, 0.975) = 12.706 times a standard error of 0.1: clipped to [0, 1]
    assert (full["lo"], full["hi"]) == (0.0, 1.0)


def test_against_the_base_the_three_shares_add_up(summary):
    rows = of(summary, "against the base").set_index("part")
    assert set(rows["arm"]) == {"full"}, "the base equals itself"
    assert rows["mean"].to_dict() == pytest.approx(
        {"better": 0.7, "same": 0.2, "worse": 0.1}
    )


def test_skills_kept_are_changes_at_the_last_step(summary):
    (row,) = of(summary, "skills kept").to_dict("records")
    assert (row["arm"], row["seeds"], row["n"]) == ("full", 2, 20)
    assert row["mean"] == pytest.approx(-0.05)


def test_the_base_alone_is_enough():
    replays = replay_rows().head(1)
    table = episode_summaries.recovery_summary(
        replays, pd.DataFrame(), ["base"], "greedy"
    )
    assert table["panel"].tolist() == ["recovered"]


def test_final_success_is_of_the_last_step_in_the_asked_order():
    rows = [
        {"arm": arm, "seed": str(s), "steps": steps, "split": "valid_seen"}
        | {"decoding": "t1", "task_type": "all", "n": "10", "success": str(success)}
        for arm, success in (("base", 0.2), ("full", 0.6))
        for s in (0, 1)
        for steps, success in (("0", 0.1), ("20", success))
    ]
    table = episode_summaries.final_success(pd.DataFrame(rows), ["full", "base"], "t1")
    assert table["arm"].tolist() == ["full", "base"]
    assert table["mean"].tolist() == pytest.approx([0.6, 0.2])


def test_recovery_means_average_over_seeds():
    rows = [
        {"arm": "full", "seed": s, "turns": str(n), "recovered": str(n * (s + 1) / 9)}
        for s in (0, 1)
        for n in range(4)
    ]
    table = episode_summaries.recovery_means(pd.DataFrame(rows), ["full"])
    assert table["mean"][2] == pytest.approx((2 + 4) / 2 / 9)
    # A standard error of 1/9: past both ends.
    assert (table["lo"][2], table["hi"][2], table["seeds"][2]) == (0.0, 1.0, 2)
    one = [row for row in rows if row["seed"] == 0]
    alone = episode_summaries.recovery_means(pd.DataFrame(one), ["full"])
    assert np.isnan(alone["lo"]).all(), "one seed has no interval over seeds"
