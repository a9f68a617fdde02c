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
