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
#: One plain gradient step: what the weights move by is the gradient.
SETTINGS = PivotRLSettings(
    steps=1,
    prompts_per_step=4,
    group_size=4,
    learning_rate=RATE,
    warmup_steps=0,
    beta=0.05,
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


def gradient_of(before, after):
    return (before - after) / RATE


def one_process(saved, tmp_path, **changes):
    model, tokenizer = load_model(saved)
    before = weights(model)
    run = train_pivotrl(
        model,
        tokenizer,
        make_candidates(),
        VERIFIER.build(),
        replace(SETTINGS, **changes),
        folder=tmp_path,
    )
    return run.history, gradient_of(before, weights(run.model))


@pytest.mark.parametrize("loss_type", ["grpo", "dapo"])
def test_two_processes_and_accumulation_equal_one(saved, tmp_path, loss_type):
    kind = {"loss_type": loss_type}
    wanted, gradient = one_process(saved, tmp_path / "one", **kind)
    assert wanted["reward_std"].item() > 0 and gradient.norm() > 1e-3
    # A group's advantages sum to zero; a token mean over uneven lengths does not.
    assert loss_type == "grpo" or abs(wanted["loss"].item()) > 1e-4
    accumulated, other = one_process(
        saved, tmp_path / "two", gradient_accumulation=2, **kind
    )
    launched = launch_pivotrl(
        saved,
        make_candidates(),
        VERIFIER,
        replace(SETTINGS, **kind),
        Launch(processes=2),
        tmp_path / "launched",
    )
    before, after = load_model(saved)[0], load_model(str(launched.checkpoints[1]))[0]
    across = gradient_of(weights(before), weights(after))
    for history, found in ((accumulated, other), (launched.history, across)):
        assert history["loss"].item() == pytest.approx(
            wanted["loss"].item(), rel=1e-5, abs=1e-7
        )
        assert relative(found, gradient) <= 1e-5
    assert (launched.folder / "done.json").read_text().count('"processes": 2') == 1


def test_finished_launch_is_read_and_a_failed_one_tells(saved, tmp_path):
    settings = replace(SETTINGS, steps=2)
    arguments = (make_candidates(), VERIFIER, settings, Launch())
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
