"""End-to-end RL and PivotOPD from their entry: counts, resumption, plain errors."""

import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch
from episode_toys import (
    TASKS,
    TOKENIZER,
    Stairs,
    talker,
)
from multiturn_toys import ALL, SETTINGS, ZERO, Advising
from training_toys import make_sliding_model, relative, weights

from pivotlab.distillation.losses import Weights
from pivotlab.training.history import Evaluations
from pivotlab.training.multiturn import train_multiturn


def train(model=None, distillation=None, named=None, **changes):
    keep = ("evaluations", "folder", "resume")
    more = {k: changes.pop(k) for k in keep if k in changes}
    own = replace(SETTINGS, distillation=distillation, **changes)
    named = named or Advising(Stairs())
    world = changes.pop("environment", Stairs)
    return train_multiturn(
        model or talker(), TOKENIZER, world, TASKS, own, teacher=named, **more
    )


def test_weights_zero_with_a_teacher_is_grpo_bit_for_bit():
    plain = train()
    asked = replace(ZERO, weights=Weights(0.0, 0.0, 1e-30))
    for settings_ in (ZERO, asked):
        run = train(distillation=settings_)
        assert torch.equal(weights(run.model), weights(plain.model))
    assert run.history["teacher/reports"].eq(8).all()


def test_accumulation_gives_the_same_run():
    one = train(distillation=ALL)
    two = train(distillation=ALL, gradient_accumulation=2)
    assert np.allclose(one.history["reward"], two.history["reward"])
    assert torch.allclose(weights(one.model), weights(two.model), atol=1e-5)


def test_the_history_counts_turns_signals_and_seconds():
    run = train(distillation=ALL)
    history = run.history
    assert list(history.index) == [1, 2, 3]
    assert history["samples"].tolist() == history["rollout/turns"].cumsum().tolist()
    assert (history["recovery/followed"] <= 5).all()
    for name in ("rollout", "teacher", "self_teacher", "recovery"):
        assert history[f"seconds/{name}"].sum() > 0
    for name in ("prevention", "recovery", "lesson", "every"):
        assert history[f"{name}/tokens"].sum() > 0
        assert history[f"{name}/advantage"].abs().max() > 0
    assert "forward" not in vars(run.model)


def test_end_to_end_rl_learns_the_game():
    run = train(steps=25, group_size=8, learning_rate=3e-3, beta=0.0)
    reward = run.history["reward"]
    assert reward.iloc[:3].mean() < 0.6 < 0.8 < reward.iloc[-3:].mean()


def test_resumed_run_equals_an_undisturbed_one(tmp_path):
    own = {"distillation": ALL, "steps": 4, "save_every": 2}
    seen = []
    marks = Evaluations(lambda model, step: seen.append(step) or {"mark": step}, (1, 4))
    whole = train(**own, folder=tmp_path / "whole", evaluations=marks)

    class Killed(Exception):
        pass

    class Bomb(Advising):
        reports = 0

        def report(self, rollout, limit):
            self.reports += 1
            if self.reports > 3 * 8:  # in step 4, after the checkpoint of step 2
                raise Killed
            return super().report(rollout, limit)

    folder = tmp_path / "killed"
    with pytest.raises(Killed):
        train(**own, named=Bomb(Stairs()), folder=folder, evaluations=marks)
    seen.clear()
    rest = train(**own, folder=folder, evaluations=marks, resume=True)
    assert seen == [4]
    assert torch.equal(weights(whole.model), weights(rest.model))
    assert rest.history["samples"].tolist() == whole.history["samples"].tolist()
    assert rest.evaluations.equals(whole.evaluations)


def test_mistakes_get_one_clear_line(tmp_path):
    with pytest.raises(ValueError, match="needs a teacher"):
        train_multiturn(
            talker(), TOKENIZER, Stairs, TASKS, replace(SETTINGS, distillation=ZERO)
        )
    with pytest.raises(ValueError, match="pass folder="):
        train(save_every=1)
    with pytest.raises(ValueError, match="no turn to train on"):
        train_multiturn(talker(), TOKENIZER, Stairs, [], SETTINGS)
    with pytest.raises(ValueError, match="full-attention model"):
        train(make_sliding_model(TOKENIZER))
    small = talker()
    small.config.max_position_embeddings = 16
    with pytest.raises(ValueError, match="window 16; lower max_turns"):
        train(small)


#: One step of plain descent: what the weights move by is the gradient.
PLAIN_STEP = {
    "steps": 1,
    "learning_rate": 0.5,
    "warmup_steps": 0,
    "max_grad_norm": 1e9,
    "trl": {"optim": "sgd", "lr_scheduler_type": "constant"},
}


WORKER = """
import os, sys
from pathlib import Path
import torch
from test_training_multiturn import ALL, PLAIN_STEP, train
from training_toys import weights

run = train(distillation=ALL, **PLAIN_STEP)
if int(os.environ["RANK"]) == 0:
    torch.save((weights(run.model), run.history["samples"].tolist()), sys.argv[1])
"""


@pytest.mark.slow
def test_two_processes_equal_one(tmp_path):
    whole = train(distillation=ALL, **PLAIN_STEP)
    command = [sys.executable, "-W", "ignore", "-c", WORKER, str(tmp_path / "found")]
    shared = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29633"}
    processes = []
    for rank in ("0", "1"):
        variables = {
            **os.environ,
            **shared,
            **{"RANK": rank, "LOCAL_RANK": rank, "ACCELERATE_USE_CPU": "true"},
            "PYTHONPATH": os.path.dirname(__file__),
            "OMP_NUM_THREADS": "1",
        }
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        processes.append(subprocess.Popen(command, env=variables, **pipes))
    for process in processes:
        _, error = process.communicate()
        assert process.returncode == 0, error.decode()[-3000:]
    found, turns = torch.load(tmp_path / "found")
    assert turns == whole.history["samples"].tolist()
    start = weights(talker())
    assert relative(found - start, weights(whole.model) - start) < 1e-5
