"""Cells are trained, examined and kept, and read once they are finished."""

from dataclasses import replace

import pytest

from pivotlab.experiments.cells import TrainingCell
from pivotlab.experiments.opd import comparison as opd_comparison
from pivotlab.experiments.opd.comparison import (
    OPD_KEYS,
    run_episode_cell,
    save_episode_records,
    train_arm,
)
from pivotlab.experiments.opd.examination import EpisodeExamination
from pivotlab.experiments.presets import from_params
from pivotlab.experiments.record_tables import read_records
from pivotlab.models.registry import load_model

PRESET = from_params("smoke", eval_games=24, max_turns=10)


@pytest.fixture(scope="module")
def scene():
    base, tokenizer = load_model("tiny")
    return base, EpisodeExamination(PRESET, base, tokenizer)


def test_cells_are_examined_kept_and_recorded(scene, tmp_path, monkeypatch):
    base, examination = scene
    cells = [TrainingCell("base", 0, 1), TrainingCell("full", 0, 1)]
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
    with pytest.raises(ValueError, match="other settings"):
        run_episode_cell(cells[1], replace(PRESET, w_rec=0.5), examination, base)


def test_arms_that_cannot_be_trained_say_why():
    with pytest.raises(ValueError, match="trains nothing"):
        train_arm(TrainingCell("base", 0, 1), PRESET)
    with pytest.raises(ValueError, match="needs a second model"):
        train_arm(TrainingCell("opd", 0, 1), PRESET)
