"""Which cells are asked for, and that a finished one is read and never mixed."""

import pytest

from pivotlab.experiments.arms import get_arm
from pivotlab.experiments.cells import (
    dependences,
    kept,
    listed,
    listed_seeds,
    planned,
)
from pivotlab.experiments.comparison import Cell
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
    assert cells == [("base", 4), ("sft", 4), ("sft", 2)]


def test_what_rows_depend_on():
    cell, smoke = Cell("sft", 1, 9), from_params("smoke")
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
