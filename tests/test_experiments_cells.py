"""Which cells are asked for, and that a finished one is read and never mixed."""

import json

import pytest

from pivotlab import paths
from pivotlab.experiments.arms import get_arm
from pivotlab.experiments.cells import (
    TrainingCell,
    dependences,
    kept,
    listed,
    listed_seeds,
    planned,
)
from pivotlab.experiments.presets import from_params


def test_notebook_parameters_by_hand():
    assert listed("preset") is None and listed_seeds("preset") is None
    assert listed("sft, functional/pivots@beta=0.3,") == (
        "sft",
        "functional/pivots@beta=0.3",
    )
    assert listed_seeds("3,1") == (3, 1)
    assert listed_seeds(2) == (2,), "a batch run passes numbers as numbers"


@pytest.mark.parametrize("text, said", [("1,x", "'x' is not"), ("-1", "'-1' is not")])
def test_a_wrong_seed_is_named(text, said):
    with pytest.raises(ValueError, match=said):
        listed_seeds(text)
    with pytest.raises(ValueError, match="names nothing"):
        listed(" , ")


def test_the_base_has_one_seed():
    cells = planned(("base", "sft"), (4, 2))
    assert cells == [("base", 0), ("sft", 4), ("sft", 2)]
    assert planned(iter(("base", "sft")), (1,))[0] == ("base", 0), "the same cell"


def test_what_rows_depend_on():
    cell, smoke = TrainingCell("sft", 1, 9), from_params("smoke")
    wanted = dependences(cell, smoke, True, ("episode_steps",))
    assert (wanted["arm"], wanted["seed"], wanted["steps"]) == ("sft", 1, 9)
    assert not {"seeds", "about", "episode_steps"} & set(wanted)
    assert wanted == dependences(
        cell, from_params("smoke", seeds=[5], episode_steps=7), True, ("episode_steps",)
    )
    assert wanted != dependences(
        cell, from_params("smoke", beta=0.5), True, ("episode_steps",)
    )
    assert "steps" not in dependences(cell, smoke, False)


#: What a cell that was finished long ago says of itself.
WRITTEN = """\
{
  "name": "smoke",
  "random_cases": 50,
  "draws": 2000,
  "model": "tiny",
  "trajectories": 6,
  "k": 4,
  "lambda_diff": 0.6,
  "temperature": 1.0,
  "eval_temperature": 1.0,
  "max_new_tokens": 24,
  "history": 0,
  "group": 4,
  "prompts_per_step": 2,
  "steps": 120,
  "learning_rate": 0.0001,
  "sft_learning_rate": 0.0001,
  "beta": 0.1,
  "clip": 0.2,
  "eval_games": 4,
  "max_turns": 8,
  "episode_model": "tiny",
  "episode_tasks": 2,
  "episode_group": 2,
  "episode_steps": 1,
  "episode_learning_rate": 0.0002,
  "episode_beta": 0.01,
  "candidates": 5,
  "recovery_turns": 2,
  "w_rec": 0.125,
  "w_prev": 0.001,
  "w_traj": 0.001,
  "delta": 5.0,
  "max_recoveries": 4,
  "arm": "sft",
  "seed": 3
}"""


def test_cells_finished_earlier_are_still_read():
    found = dependences(TrainingCell("sft", 3, 120), from_params("smoke"), True)
    assert json.dumps(found, indent=2) == WRITTEN


@pytest.mark.parametrize(
    "comparison, arm, place",
    [
        ("comparison", "base", "comparison/base/seed-3"),
        ("comparison", "sft/low-lr", "comparison/sft_low-lr/seed-3"),
        (
            "comparison",
            "functional/pivots@beta=0.3",
            "comparison/functional_pivots_beta=0.3/seed-3",
        ),
        ("pivotopd", "K=1", "pivotopd/K=1/seed-3"),
        ("pivotopd", "reverse-KL recovery", "pivotopd/reverse-KL_recovery/seed-3"),
    ],
)
def test_cells_lie_where_they_always_lay(comparison, arm, place):
    folder = TrainingCell(arm, 3, 120).folder(from_params("smoke"), comparison)
    assert folder == paths.runs() / "smoke" / place


def test_a_finished_cell_is_read_and_a_failed_one_made_again(tmp_path):
    made = []

    def make():
        made.append(1)
        if len(made) == 1:
            raise RuntimeError("killed")
        return {"rows": [1.5]}

    with pytest.raises(RuntimeError):
        kept(tmp_path / "cell", {"k": 1}, make)
    for _ in range(2):
        assert kept(tmp_path / "cell", {"k": 1}, make) == {"rows": [1.5]}
    assert len(made) == 2
    with pytest.raises(ValueError, match=r"\(k was 1, now 2; lr was None, now 3\)"):
        kept(tmp_path / "cell", {"k": 2, "lr": 3}, make)


def test_the_last_word_is_looked_up_before_the_first_one_runs():
    assert listed("base, sft", get_arm) == ("base", "sft")
    with pytest.raises(ValueError, match="unknown arm 'sfft'; known arms: base"):
        listed("base, sfft", get_arm)
    assert listed("preset", get_arm) is None
