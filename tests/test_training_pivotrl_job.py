"""Launched runs for real: two processes equal one, a failed one tells, none repeats."""

import os
from dataclasses import replace

import pandas as pd
import pytest
import torch
from training_toys import (
    ACTIONS,
    make_candidates,
    make_model,
    make_tokenizer,
    relative,
    weights,
)

from pivotlab.models.registry import load_model
from pivotlab.records import Message, Verdict
from pivotlab.training.launch import Launch, VerifierSpec, launch_pivotrl
from pivotlab.training.pivotrl import PivotRLSettings, train_pivotrl
from pivotlab.training.sft import SFTSettings, train_sft, turn_rows

pytestmark = pytest.mark.slow

RATE = 0.5
#: Plain gradient steps: what the weights move by is the gradient.
SETTINGS = PivotRLSettings(
    steps=2,
    prompts_per_step=4,
    group_size=4,
    learning_rate=RATE,
    warmup_steps=0,
    beta=0.5,
    max_grad_norm=1e9,
    max_new_tokens=4,
    save_every=1,
    trl={"optim": "sgd", "lr_scheduler_type": "constant"},
)
VERIFIER = VerifierSpec("test_training_pivotrl_job:Takes")


class Takes:
    """Accepts what begins with "take"; the job imports it from here."""

    name, version = "takes", "1"

    def verify(self, candidate, action):
        return Verdict(float(action.content.startswith("take")), "said")


@pytest.fixture(autouse=True)
def _jobs_find_this_file(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.path.dirname(__file__))


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A model that says each of the three actions about a third of the time."""
    folder = tmp_path_factory.mktemp("model")
    tokenizer = make_tokenizer()
    model = make_model(tokenizer)
    actions = [Message("assistant", action) for action in ACTIONS]
    turns = [replace(c, expert=a) for c in make_candidates() for a in actions]
    settings = SFTSettings(steps=60, rows_per_step=9, learning_rate=1e-2, log_every=20)
    train_sft(model, tokenizer, turn_rows(tokenizer, turns), settings)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)


def gradient_of(saved, folder):
    """What the first step moved the weights by, per unit of learning rate."""
    before, after = (weights(load_model(str(p))[0]) for p in (saved, folder))
    return (before - after) / RATE


def one_process(saved, folder, **changes):
    model, tokenizer = load_model(saved)
    run = train_pivotrl(
        model,
        tokenizer,
        make_candidates(),
        VERIFIER.build(),
        replace(SETTINGS, **changes),
        folder=folder,
    )
    return run.history, gradient_of(saved, folder / "checkpoint-1")


@pytest.mark.parametrize("loss_type", ["grpo", "dapo"])
def test_two_processes_and_accumulation_equal_one(saved, tmp_path, loss_type):
    kind = {"loss_type": loss_type}
    wanted, gradient = one_process(saved, tmp_path / "one", **kind)
    # The first loss is 0: advantages sum to zero. The second holds the KL.
    losses = wanted["loss"].tolist()
    assert abs(losses[1]) > 1e-4 and gradient.norm() > 1e-3
    parts = {"gradient_accumulation": 2, **kind}
    found = {"accumulated": one_process(saved, tmp_path / "parts", **parts)}
    launched = launch_pivotrl(
        saved,
        make_candidates(),
        VERIFIER,
        replace(SETTINGS, **kind),
        Launch(processes=2),
        tmp_path / "launched",
    )
    across = gradient_of(saved, launched.checkpoints[1])
    found["two processes"] = launched.history, across
    for name, (history, other) in found.items():
        assert history["loss"].tolist() == pytest.approx(losses, rel=1e-5, abs=1e-8), (
            name
        )
        assert relative(other, gradient) <= 1e-5, name
    assert (launched.folder / "done.json").read_text().count('"processes": 2') == 1


def test_finished_launch_is_read_and_a_failed_one_tells(saved, tmp_path):
    arguments = (make_candidates(), VERIFIER, SETTINGS, Launch())
    first = launch_pivotrl(saved, *arguments, tmp_path / "run")
    assert sorted(first.checkpoints) == [1, 2] and first.history.index.tolist() == [
        1,
        2,
    ]
    stamp = (tmp_path / "run" / "launch.log").stat().st_mtime_ns
    again = launch_pivotrl(saved, *arguments, tmp_path / "run")
    assert (tmp_path / "run" / "launch.log").stat().st_mtime_ns == stamp
    pd.testing.assert_frame_equal(first.history, again.history)
    with pytest.raises(RuntimeError, match="(?s)pivotrl_job ended with 1.*absent"):
        launch_pivotrl(str(tmp_path / "absent"), *arguments, tmp_path / "bad")
    assert torch.isfinite(weights(load_model(str(first.checkpoints[2]))[0])).all()
