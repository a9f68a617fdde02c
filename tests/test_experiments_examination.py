"""One examination for all: same games and questions, and zero distance from itself."""

import pytest

from pivotlab.experiments.examination import FULL, HINTS, SPLITS, Examination
from pivotlab.experiments.presets import from_params
from pivotlab.models.registry import load_model


@pytest.fixture(scope="module")
def examined():
    preset = from_params("smoke", eval_games=8, max_turns=4)
    base, tokenizer = load_model("tiny")
    examination = Examination(preset, base, tokenizer)
    return examination, examination.examine(base), examination.examine(base)


def test_the_same_policy_gets_the_same_result_twice(examined):
    _, first, second = examined
    for name in ("pivotrl_retention", "pivotrl_distance"):
        assert first[name] == second[name]
    for one, two in zip(first["pivotrl_arms"], second["pivotrl_arms"], strict=True):
        assert {**one, "eval_seconds": 0} == {**two, "eval_seconds": 0}


def test_the_base_is_at_no_distance_from_itself(examined):
    _, rows, _ = examined
    assert all(abs(row["kl"]) < 1e-9 for row in rows["pivotrl_distance"])
    states = {row["states"] for row in rows["pivotrl_distance"]}
    assert states == {"game", "skills"}


def test_one_digit_a_game_and_counts_that_add_up(examined):
    _, rows, _ = examined
    for split in (*SPLITS, FULL):
        own = [r for r in rows["pivotrl_arms"] if r["split"] == split]
        for decoding in ("greedy", "t1"):
            part = [r for r in own if r["decoding"] == decoding]
            (total,) = [r for r in part if r["task_type"] == "all"]
            assert len(total["won"]) == total["n"] == (2 if split == FULL else 4)
            assert total["won"].count("1") == round(total["success"] * total["n"])
            assert sum(r["n"] for r in part) == 2 * total["n"]


def test_the_headline_names_splits_and_decodings(examined):
    examination, rows, _ = examined
    assert set(examination.headline(rows)) == {
        f"{split} {decoding}"
        for split in (*SPLITS, FULL)
        for decoding in ("greedy", "t1")
    }


def test_hints_name_commands_the_honest_player_would_not_choose(examined):
    examination, rows, _ = examined
    assert len(examination.hints) > 5
    for prefix, action in examination.hints:
        (turn,) = [
            c
            for c in examination.held_out
            if c.prefix[:-1] == prefix[:-1]
            and prefix[-1].content.startswith(c.prefix[-1].content)
        ]
        assert action in turn.context["admissible"]
        assert action not in turn.context["acceptable"]
        assert action in prefix[-1].content.removeprefix(turn.prefix[-1].content)
    (greedy,) = [
        r
        for r in rows["pivotrl_retention"]
        if r["skill"] == HINTS and r["decoding"] == "greedy"
    ]
    assert greedy["n"] == len(examination.hints)
    assert greedy["accuracy"] > 0.5, "the base has learnt to follow hints"
