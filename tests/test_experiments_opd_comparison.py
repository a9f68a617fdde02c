"""Cells are trained, examined and kept; the same mistakes stand before every arm."""

from dataclasses import replace
from types import SimpleNamespace

import pandas as pd
import pytest

from pivotlab.distillation.teachers import OracleTeacher
from pivotlab.environments.textgame import TextGame
from pivotlab.evaluation.diagnosis import agreement
from pivotlab.experiments.opd import comparison as opd_comparison
from pivotlab.experiments.opd.comparison import (
    OPD_KEYS,
    EpisodeCell,
    EpisodeExamination,
    detections,
    run_episode_cell,
    save_episode_records,
    train_arm,
)
from pivotlab.experiments.opd.honest_teacher import HonestTeacher
from pivotlab.experiments.presets import from_params
from pivotlab.experiments.runs import read_records
from pivotlab.models.registry import load_model

PRESET = from_params("smoke", eval_games=24, max_turns=10)


@pytest.fixture(scope="module")
def scene():
    base, tokenizer = load_model("tiny")
    return base, EpisodeExamination(PRESET, base, tokenizer)


def test_cells_are_examined_kept_and_recorded(scene, tmp_path, monkeypatch):
    base, examination = scene
    cells = [EpisodeCell("base", 0, 1), EpisodeCell("full", 0, 1)]
    tables = [run_episode_cell(c, PRESET, examination, base) for c in cells]
    save_episode_records(tables, tmp_path)
    for name in OPD_KEYS:
        assert set(read_records(name, tmp_path)["arm"]) <= {"base", "full"}
    replays = read_records("recovery_replay", tmp_path)
    assert set(replays["mistakes"]) == {str(len(examination.mistakes))}
    told = replays[replays["arm"] == "base"].iloc[0]
    assert told["better"] == told["worse"] == "0"
    arms = read_records("pivotopd_arms", tmp_path)
    trained = arms[arms["arm"] == "full"]
    assert (trained["rollout_turns"].astype(int) > 0).all()
    # A finished cell is read, not repeated.
    monkeypatch.setattr(opd_comparison, "_trained", None)
    assert run_episode_cell(cells[1], PRESET, examination, base) == tables[1]
    with pytest.raises(ValueError, match="other settings; delete it"):
        run_episode_cell(cells[1], replace(PRESET, w_rec=0.5), examination, base)


def test_teachers_are_judged_on_the_first_mistake(scene):
    _, examination = scene
    mistakes = examination.mistakes
    assert mistakes
    oracle = agreement(detections(mistakes, OracleTeacher(TextGame()), 5)).iloc[0]
    assert oracle["accuracy"] == 1.0 and oracle["random"] < 1.0
    honest = agreement(detections(mistakes, HonestTeacher(), 5, readings=2)).iloc[0]
    assert honest["readings"] == 2 * len(mistakes)
    assert honest["accuracy"] > 0


def test_arms_that_cannot_be_trained_say_why():
    with pytest.raises(ValueError, match="trains nothing"):
        train_arm(EpisodeCell("base", 0, 1), PRESET)
    with pytest.raises(ValueError, match="needs a second model"):
        train_arm(EpisodeCell("opd", 0, 1), PRESET)


def test_overhead_compares_equal_steps_with_the_teacher_taken_out(monkeypatch):
    """By hand: steps of (2, 4, 10) s against (3, 6, 13) with 1 s of teacher each."""
    asked = []

    def train(cell, preset):
        asked.append((cell.arm, preset.episode_learning_rate))
        own = {"step_time": [9.0, 2.0, 4.0, 10.0]}
        if cell.arm != "grpo":
            own = {"step_time": [99.0, 4.0, 7.0, 14.0], "seconds/teacher": [1.0] * 4}
        return SimpleNamespace(history=pd.DataFrame(own))

    monkeypatch.setattr(opd_comparison, "train_arm", train)
    (row,) = opd_comparison.overhead(PRESET, turns=(2,), steps=4).to_dict("records")
    assert asked == [("grpo", 0.0), ("K=2", 0.0)], "no run leaves the others' episodes"
    assert (row["k"], row["steps"], row["teacher_seconds"]) == (2, 3, 1.0)
    assert (row["seconds_grpo"], row["seconds"]) == (4.0, 6.0)
    assert row["ratio"] == 1.5, "the median of 1.5, 1.5 and 1.3"
