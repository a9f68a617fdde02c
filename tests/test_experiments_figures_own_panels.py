"""Records become panel rows by hand-worked means and intervals."""

import pandas as pd
import pytest

from pivotlab.experiments.figures import own_panels
from pivotlab.experiments.own_records import OwnRecords
from pivotlab.intervals import wilson

LABELS = {"base": "base", "sft": "SFT", "functional/pivots": "PivotRL"}


def arms():
    rows = []
    for arm, seed, steps, share in (
        ("base", 0, 0, 0.2),
        ("functional/pivots", 0, 60, 0.5),
        ("functional/pivots", 1, 60, 0.7),
        ("functional/pivots", 0, 120, 0.9),
        ("sft", 0, 60, 0.4),
    ):
        for split, more in (("valid_seen", 0.05), ("valid_unseen", -0.05)):
            for task in ("all", "pick"):
                row = {"arm": arm, "seed": seed, "steps": steps, "split": split}
                row |= {"decoding": "greedy", "task_type": task, "n": 20}
                rows.append(row | {"success": share + more})
    return pd.DataFrame(rows)


def test_the_length_is_one_that_every_arm_reached():
    assert own_panels.last_common_step(arms(), list(LABELS)) == 60
    assert own_panels.last_common_step(arms(), [*LABELS, "never run"]) == 60
    assert own_panels.last_common_step(arms(), ["functional/pivots"]) == 120
    assert own_panels.last_common_step(arms().iloc[:0], list(LABELS)) == 0
    assert own_panels.after(0) == "" and own_panels.after(60) == ", 60 steps"


def test_success_bars_take_splits_together_and_average_seeds():
    rows = own_panels.success_bars(arms(), LABELS, "greedy", {"won": {}}, 60)
    assert rows["row"].tolist() == ["base", "SFT", "PivotRL"]
    assert rows["value"].tolist() == pytest.approx([20, 40, 60])
    assert rows["seeds"].tolist()[1:] == [1, 2] and rows["seeds"].isna()[0]
    assert rows["n"].tolist() == [40, 40, 80]
    _, lo, hi = wilson(16, 40)
    assert rows.loc[1, ["lo", "hi"]].tolist() == pytest.approx([100 * lo, 100 * hi])


def test_an_arm_without_a_record_keeps_its_row_and_says_why():
    labels = LABELS | {"placebo": "coin"}
    rows = own_panels.success_bars(arms(), labels, "greedy", {"won": {}}, 120)
    assert rows["row"].tolist() == ["base", "SFT", "PivotRL", "coin"]
    assert rows["note"].tolist() == ["", "not at 120 steps", "", "not run"]
    assert rows["value"].isna().tolist() == [False, True, False, True]
    only = own_panels.success_bars(arms(), {"placebo": "coin"}, "t1", {"won": {}}, 0)
    assert only.empty


def test_the_average_row_weighs_skills_alike():
    rows = [
        {"arm": arm, "seed": 0, "steps": steps, "decoding": "greedy", "skill": skill}
        | {"shares_game_tokens": "False", "n": n, "accuracy": accuracy}
        for arm, steps, low in (("base", 0, 0.0), ("sft", 60, 0.1))
        for skill, n, accuracy in (("add", 10, 0.9 - low), ("sort", 90, 0.5 + low / 2))
    ]
    found = own_panels.retention_changes(
        pd.DataFrame(rows), {"sft": "SFT"}, "greedy", 60
    )
    assert found["row"].tolist() == ["add", "sort", "average"]
    assert found["value"].tolist() == pytest.approx([-10, 5, -2.5])


def test_columns_choose_splits_and_tasks():
    columns = {"seen": {"splits": ("valid_seen",)}, "pick": {"task_type": "pick"}}
    rows = own_panels.success_bars(arms(), LABELS, "greedy", columns, 60)
    shape = rows.pivot(index="row", columns="column", values="value")
    assert shape.loc["SFT", "seen"] == pytest.approx(45)
    assert shape.loc["SFT", "pick"] == pytest.approx(40)


def test_retention_is_a_change_against_the_base():
    rows = [
        {"arm": arm, "seed": 0, "steps": steps, "decoding": "greedy", "skill": skill}
        | {"shares_game_tokens": "False", "n": 50, "accuracy": accuracy}
        for arm, steps, skill, accuracy in (
            ("base", 0, "add", 0.9),
            ("sft", 60, "add", 0.8),
            ("functional/pivots", 60, "add", 0.92),
            ("base", 0, "held-out turns, mu", 0.5),
            ("sft", 60, "held-out turns, mu", 0.9),
        )
    ]
    labels = {"sft": "SFT", "functional/pivots": "PivotRL"}
    found = own_panels.retention_changes(pd.DataFrame(rows), labels, "greedy", 60)
    skills = ["add", "add", "average", "average"]
    assert found["row"].tolist() == skills, "the game is no unrelated skill"
    assert found["column"].tolist() == ["SFT", "PivotRL"] * 2
    assert found["value"].tolist() == pytest.approx([-10, 2] * 2)
    _, lo, hi = wilson(40, 50)
    ends = [100 * (lo - 0.9), 100 * (hi - 0.9)]
    assert found.loc[0, ["lo", "hi"]].tolist() == pytest.approx(ends)


def test_lines_start_at_the_base():
    own = arms().query("split == 'valid_seen' and task_type == 'all'")
    labels = {"functional/pivots": "pivots", "sft": "SFT"}
    rows = own_panels.curve_lines(own, "success", labels)
    line = rows[rows["column"] == "pivots"]
    assert line["row"].tolist() == [0, 60, 120]
    assert line["seeds"].isna().tolist() == [True, False, False], "the base has none"
    assert line["value"].tolist() == pytest.approx([25, 65, 95])


def test_training_is_smoothed_run_by_run_before_the_mean():
    rows = [
        {"arm": "sft", "seed": seed, "steps": 10 * step, "reward_std": value + seed}
        for seed in (0, 1)
        for step, value in enumerate((0.0, 3.0, 0.0, 3.0))
    ]
    table = pd.DataFrame(rows)
    plain = own_panels.training_lines(table, "reward_std", LABELS)
    assert plain["value"].tolist() == [0.5, 3.5, 0.5, 3.5]
    assert plain["lo"].tolist() == [0, 3, 0, 3] and set(plain["seeds"]) == {2}
    found = own_panels.training_lines(table, "reward_std", LABELS, marks=3)
    assert found["value"].tolist() == [2.0, 1.5, 2.5, 2.0], "fewer at the ends"
    assert found["hi"].tolist() == [2.5, 2.0, 3.0, 2.5]


def test_simple_bars_find_the_interval_of_their_column():
    table = {"who": ["oracle"], "accuracy": [0.8], "accuracy_lo": [0.7], "cases": [5]}
    table |= {"accuracy_hi": [0.9], "random": [0.3], "random_lo": [0.2]}
    columns = {"accuracy": "right", "random": "by chance"}
    table = pd.DataFrame(table | {"random_hi": [0.4]})
    rows = own_panels.simple_bars(table, "who", columns, "cases")
    assert rows["column"].tolist() == ["right", "by chance"]
    expected = [80, 70, 90, 30, 20, 40]
    assert rows[["value", "lo", "hi"]].to_numpy().ravel().tolist() == (
        pytest.approx(expected)
    )
    assert rows["n"].tolist() == [5, 5]


def test_costs_are_success_against_rollout_turns():
    rows = [
        {"method": m, "seed": s, "steps": 20, "decoding": "greedy", "n": 50}
        | {"success": 0.4 + 0.2 * s, "rollout_turns": turns * (1 + s)}
        for m, turns in (("pivots", 1000), ("end-to-end", 4000))
        for s in (0, 1)
    ]
    found = own_panels.cost_lines(pd.DataFrame(rows), "greedy").set_index("column")
    assert found["row"].to_dict() == {"end-to-end": 6.0, "pivots": 1.5}
    assert found.loc["pivots", "value"] == pytest.approx(50)


def test_overhead_is_what_comes_on_top(tmp_path):
    columns = "k,steps,seconds_grpo,seconds,ratio,teacher_seconds"
    (tmp_path / "overhead.csv").write_text(f"{columns}\n2,5,1.0,1.3,1.3,0.1\n")
    (row,) = own_panels.overhead_rows(OwnRecords(tmp_path)).to_dict("records")
    assert row["row"] == "K=2" and row["value"] == pytest.approx(30)


def test_nothing_recorded_gives_nothing(tmp_path):
    own = OwnRecords(tmp_path)
    empty = own.table("pivotopd_arms")
    assert own_panels.success_bars(empty, LABELS, "t1", {"all": {}}, 0).empty
    assert own_panels.cost_lines(own.table("e2e_vs_pivot"), "greedy").empty
    training = own.table("pivotrl_training")
    assert own_panels.training_lines(training, "reward_std", LABELS).empty
    for make in (own_panels.overhead_rows, own_panels.silent_rows):
        assert make(own).empty
