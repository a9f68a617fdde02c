"""Means over seeds, retention and distance as the figures read them."""

import pandas as pd
import pytest

from pivotlab.experiments import summaries


def arms_table():
    rows = []
    for arm, steps, share in (("base", 0, 0.5), ("sft", 60, 0.75), ("sft", 120, 0.5)):
        for seed in (0, 1) if arm != "base" else (0,):
            for split, extra in (("valid_seen", 0.25), ("valid_unseen", -0.25)):
                rows.append(
                    {"arm": arm, "seed": str(seed), "steps": str(steps)}
                    | {"split": split, "decoding": "greedy", "task_type": "all"}
                    | {"n": "8", "success": str(share + extra * (seed == 0))}
                )
    return pd.DataFrame(rows)


def retention_table():
    rows = []
    for arm, steps, seed in (("base", 0, 0), ("sft", 60, 0), ("sft", 60, 1)):
        for skill, shared, accuracy in (
            ("add", False, 1.0),
            ("undo", True, 0.5),
            ("held-out turns, exact", True, 0.0),
        ):
            rows.append(
                {"arm": arm, "seed": seed, "steps": steps, "decoding": "greedy"}
                | {"skill": skill, "shares_game_tokens": shared}
                | {"n": 10, "accuracy": accuracy}
            )
    return pd.DataFrame(rows).astype(str)


def test_both_splits_make_one_share():
    rows = summaries.success_rows(arms_table())
    base = rows[rows["arm"] == "base"].iloc[0]
    assert (base["n"], base["success"]) == (16, 0.5)


def test_t_interval_over_seeds_by_hand():
    rows = pd.DataFrame({"arm": "a", "seed": [0, 1], "n": 4, "success": [0.4, 0.6]})
    (row,) = summaries.over_seeds(rows, "success", ("arm",)).to_dict("records")
    # t(1, 0.975) = 12.706, standard error 0.1: clipped to [0, 1]
    assert (row["mean"], row["lo"], row["hi"]) == (0.5, 0.0, 1.0)
    assert (row["seeds"], row["n"]) == (2, 8)


def test_one_seed_falls_back_to_wilson():
    rows = pd.DataFrame({"arm": "a", "seed": [0], "n": 10, "success": [0.0]})
    (row,) = summaries.over_seeds(rows, "success", ("arm",)).to_dict("records")
    assert row["hi"] == pytest.approx(0.2775, abs=1e-4)


def test_retention_leaves_game_turns_out_and_splits_by_tokens():
    table = retention_table()
    base = summaries.retention_rows(table)
    assert base[base["arm"] == "base"]["accuracy"].iloc[0] == 0.75
    shared = summaries.retention_rows(table, shared=True)
    assert shared[shared["arm"] == "base"]["accuracy"].iloc[0] == 0.5


def distance_table():
    rows = [
        {"arm": arm, "seed": seed, "steps": steps, "kl": kl}
        for arm, seed, steps, kl in (("base", 0, 0, 0), ("sft", 0, 60, 0.1))
    ]
    rows.append({"arm": "sft", "seed": 1, "steps": 60, "kl": 0.2})
    table = pd.DataFrame(rows).assign(states="game", direction="forward")
    other = table.assign(states="skills", kl=9.0)
    return pd.concat([table, other]).astype(str)


def test_curve_means_hold_the_drawn_arms_and_the_base_alone():
    success = summaries.success_rows(arms_table())
    extra = success[success["arm"] == "sft"].assign(arm="sft@lr=1e-3")
    panels = [("Game", "won", pd.concat([success, extra]), "success")]
    table = summaries.curve_means(panels, ["sft"], "greedy")
    assert list(table.columns[:4]) == ["panel", "measure", "arm", "steps"]
    assert table["arm"].tolist() == ["base", "sft", "sft"]
    assert table["mean"].tolist() == [0.5, 0.75, 0.5]


def test_success_and_skills_are_joined_by_arm_and_step():
    table = summaries.success_and_skills(
        summaries.success_rows(arms_table()),
        summaries.retention_rows(retention_table()),
        ["sft"],
        "greedy",
    ).set_index(["arm", "steps"])
    assert set(table.index) == {("base", 0), ("sft", 60)}, "no skills at step 120"
    row = table.loc[("sft", 60)]
    assert (row["success"], row["skills"]) == (0.75, 0.75)
    assert (row["games"], row["questions"], row["seeds"]) == (32, 40, 2)


def test_what_is_lost_stands_beside_the_distance_of_the_same_run():
    skills = summaries.retention_rows(retention_table())
    skills.loc[(skills["arm"] == "sft") & (skills["seed"] == 1), "accuracy"] = 0.25
    near = summaries.distance_rows(distance_table(), "game", "forward")
    table = summaries.lost_at_distance(skills, near, ["sft"], "greedy")
    assert table[["kl", "lost"]].to_numpy().tolist() == [[0.1, 0.0], [0.2, 0.5]]
    assert table["n"].tolist() == [20, 20]


def test_a_sweep_is_taken_at_one_length_and_sorted_by_its_weight():
    success = summaries.success_rows(arms_table())
    skills = summaries.retention_rows(retention_table())
    other = [t[t["arm"] == "sft"].assign(arm="sft@beta=0") for t in (success, skills)]
    both = [pd.concat(pair) for pair in zip((success, skills), other, strict=True)]
    betas = {"sft": 0.1, "sft@beta=0": 0.0}
    table = summaries.sweep_means(*both, betas, 60, "greedy")
    assert table["measure"].tolist() == ["games won"] * 2 + ["skills kept"] * 2
    assert table["beta"].tolist() == [0.0, 0.1] * 2
    assert (table["mean"] == 0.75).all()


def test_last_steps_are_taken_per_arm_and_seed():
    steps = {"arm": ["a", "a", "a", "b"], "seed": [0, 0, 1, 0]}
    records = pd.DataFrame(steps | {"steps": ["9", "10", "9", "3"]})
    assert summaries.last_steps(records)["steps"].tolist() == ["10", "9", "3"]


def test_the_main_table_prints_means_with_intervals():
    table = summaries.main_table(
        arms_table(), retention_table(), distance_table(), ["base", "sft"], 60
    ).set_index("arm")
    assert table.loc["base", "success, greedy"].startswith("0.500 [")
    assert table.loc["sft", "KL, game"] == "0.1500"
    assert table.loc["sft", "seeds"] == 2
