"""What a run leaves behind, read from the trainer's own log."""

import json
import random

import numpy as np
import pytest
import torch

from pivotlab.training.history import (
    evaluation_frame,
    history_frame,
    last_checkpoint,
    undisturbed,
)

LOG = [
    {"step": 0, "evaluation": {"success": 0.25}},
    {"step": 1, "grad_norm": 1.0, "loss": 0.5, "category/match": 1.0},
    {"step": 2, "grad_norm": 2.0, "loss": 0.25, "miss_rate": 0.5},
    {"step": 2, "evaluation": {"success": 0.5, "retention": 0.75}},
    {"step": 2, "train_runtime": 3.0, "train_loss": 0.4},
]


def test_history_holds_the_steps_and_nothing_else():
    frame = history_frame(LOG)
    assert list(frame.index) == [1, 2]
    assert list(frame["loss"]) == [0.5, 0.25]
    assert list(frame["category/match"]) == [1.0, 0.0]
    assert np.isnan(frame["miss_rate"].iloc[0])


def test_evaluations_hold_the_marks():
    frame = evaluation_frame(LOG)
    assert frame["success"].to_dict() == {0: 0.25, 2: 0.5}
    assert np.isnan(frame["retention"].loc[0])


def test_empty_log_gives_empty_frames():
    assert history_frame([]).empty and evaluation_frame([]).empty


def test_undisturbed_puts_everything_back():
    model = torch.nn.Dropout(0.5).train()
    random.seed(1), np.random.seed(1), torch.manual_seed(1)
    wanted = (random.random(), np.random.rand(), torch.rand(1).item())
    random.seed(1), np.random.seed(1), torch.manual_seed(1)
    with pytest.raises(KeyError), undisturbed(model):
        assert not model.training
        random.random(), np.random.rand(), torch.rand(5)
        raise KeyError
    assert model.training
    assert (random.random(), np.random.rand(), torch.rand(1).item()) == wanted


def test_last_checkpoint_is_the_furthest_whole_one(tmp_path):
    assert last_checkpoint(tmp_path / "nothing") is None
    for step, text in ((5, None), (10, None), (15, '{"global'), (20, "")):
        place = tmp_path / f"checkpoint-{step}"
        place.mkdir()
        text = json.dumps({"global_step": step}) if text is None else text
        (place / "trainer_state.json").write_text(text)
    (tmp_path / "checkpoint-25").mkdir()
    assert last_checkpoint(tmp_path) == tmp_path / "checkpoint-10"
