"""End-to-end GRPO is stock GRPO; PivotOPD adds what it says and leaks nothing."""

import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch
from episode_toys import (
    BACK,
    FORWARD,
    RENDERER,
    TASKS,
    TOKENIZER,
    Stairs,
    follower,
    log_prob,
    talker,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from multiturn_toys import SETTINGS, Advising, built, trainer
from training_toys import gradient, make_sliding_model, relative, weights
from trl import GRPOTrainer
from trl.trainer import grpo_trainer

from pivotlab.distillation import hints
from pivotlab.distillation.losses import Weights
from pivotlab.training.distilled import Distillation
from pivotlab.training.history import Evaluations
from pivotlab.training.multiturn import MultiTurnTrainer, outcome, train_multiturn
from pivotlab.training.trl_compat import PivotTrainer

ALL = Distillation(Weights(0.2, 0.5, 0.1), 1.0, 0.1, max_recoveries=5)
ZERO = Distillation(Weights(0.0, 0.0, 0.0), recovery_turns=0)


def train(model=None, distillation=None, named=None, **changes):
    keep = ("evaluations", "folder", "resume")
    more = {k: changes.pop(k) for k in keep if k in changes}
    own = replace(SETTINGS, distillation=distillation, **changes)
    named = named or Advising(Stairs())
    world = changes.pop("environment", Stairs)
    return train_multiturn(
        model or talker(), TOKENIZER, world, TASKS, own, teacher=named, **more
    )


class Plain(MultiTurnTrainer):
    """Our trainer with stock scoring: nothing is packed."""

    token_scores = PivotTrainer.token_scores


def stock_run(folder, monkeypatch):
    """Stock TRL on the episodes that our trainer plays; weights and figures."""
    player = trainer(folder)  # plays only; its model is swapped for the live one
    monkeypatch.setattr(grpo_trainer, "shuffle_sequence_dict", lambda batch: batch)

    def roll_out(prompts, one):
        player.model = player.model_wrapped = one.model
        player.state = one.state
        return player.roll_out([{"prompt": p} for p in prompts])

    model = talker()
    model.config._name_or_path = str(folder / "model")
    model.save_pretrained(folder / "model")
    one = GRPOTrainer(
        model,
        outcome,
        player.args,
        train_dataset=player.train_dataset,
        processing_class=TOKENIZER,
        rollout_func=roll_out,
    )
    one.train()
    return weights(model), figures(one)


def figures(one):
    log = [row for row in one.state.log_history if "grad_norm" in row]
    names = ("loss", "grad_norm", "reward", "kl", "entropy")
    return [[row[name] for name in names] for row in log]


def test_weights_zero_is_stock_grpo_bit_for_bit(tmp_path, monkeypatch):
    wanted, log = stock_run(tmp_path, monkeypatch)
    assert not torch.equal(wanted, weights(talker()))
    for settings_ in (None, ZERO):
        one = trainer(tmp_path, settings_, kind=Plain)
        one.train()
        assert torch.equal(weights(one.model), wanted)
        assert figures(one) == log


def test_packed_training_is_stock_grpo_up_to_rounding(tmp_path, monkeypatch):
    wanted, log = stock_run(tmp_path, monkeypatch)
    one = trainer(tmp_path)
    one.train()
    assert np.allclose(figures(one), log, atol=1e-5)
    assert relative(weights(one.model), wanted) < 1e-4


def test_weights_zero_with_a_teacher_is_grpo_bit_for_bit():
    plain = train()
    asked = replace(ZERO, weights=Weights(0.0, 0.0, 1e-30))
    for settings_ in (ZERO, asked):
        run = train(distillation=settings_)
        assert torch.equal(weights(run.model), weights(plain.model))
    assert run.history["teacher/reports"].eq(8).all()


@pytest.mark.parametrize("support", ["sampled", "full"])
def test_gradient_accumulation_and_order_change_nothing(tmp_path, support):
    settings_ = replace(ALL, support=support)
    found = []
    for parts, shuffled in ((1, False), (2, False), (2, True)):
        one = trainer(
            tmp_path, settings_, named=Advising(Stairs()), gradient_accumulation=parts
        )
        one.args.steps_per_generation = parts
        batch = built(one)
        rows = len(batch["prompt_ids"])
        assert rows % parts == 0
        order = torch.arange(rows)
        if shuffled:  # rows torn from the rollouts they belong to
            order = torch.randperm(rows, generator=torch.Generator().manual_seed(3))
        for places in order.chunk(parts):
            one.compute_loss(one.model, picked(batch, places)).backward()
        found.append(gradient(one.model))
        assert one._signals.recoveries
    assert relative(found[1], found[0]) < 1e-5
    assert relative(found[2], found[0]) < 1e-5


def picked(batch, places):
    def pick(value):
        if isinstance(value, list):
            return [value[i] for i in places.tolist()]
        return value[places] if value.dim() else value

    return {key: pick(value) for key, value in batch.items()}


def test_accumulation_gives_the_same_run():
    one = train(distillation=ALL)
    two = train(distillation=ALL, gradient_accumulation=2)
    assert np.allclose(one.history["reward"], two.history["reward"])
    assert torch.allclose(weights(one.model), weights(two.model), atol=1e-5)


def test_one_update_goes_the_right_way(tmp_path):
    """Gold action at about 1e-3: recovery raises it, prevention lowers the mistake."""
    for distillation in (
        Distillation(Weights(0.0, 1.0), 0.0, recovery_turns=1),
        Distillation(Weights(1.0, 0.0), 0.0, candidates=1, recovery_turns=0),
    ):
        one = trainer(tmp_path, distillation, follower(), beta=0.0)
        batch = built(one)
        recovers = distillation.recovers
        cases = _cases(one)
        before = [log_prob(one.model, *case).sum().item() for case in cases]
        assert np.exp(before[0]) < 5e-3 and np.exp(before[1]) > 0.9
        one.compute_loss(one.model, batch).backward()
        with torch.no_grad():
            for parameter in one.model.parameters():
                if parameter.grad is not None:
                    parameter -= 1e-2 * parameter.grad / gradient(one.model).norm()
        after = [log_prob(one.model, *case).sum().item() for case in cases]
        if recovers:
            said = [r.said for r in one._signals.recoveries]
            assert said.count(FORWARD) > len(said) / 2
            assert after[0] > before[0]
        else:
            assert after[1] < before[1]


def _cases(one):
    """(prompt, response): the gold action after a mistake, and the mistake itself."""
    rollout = one._rollouts[0]
    assert rollout.turns[0].action == rollout.turns[1].action == BACK
    gold = (*RENDERER.encode(FORWARD), RENDERER.end_of_turn)
    after = rollout.token_ids[: rollout.turns[1].span[0]]
    start, stop = rollout.turns[0].span
    return (after, gold), (rollout.token_ids[:start], rollout.token_ids[start:stop])


def test_groups_that_fail_altogether_still_learn_from_recovery(tmp_path):
    one = trainer(tmp_path, Distillation(Weights(0.1, 1.0)), follower(), beta=0.0)
    batch = built(one)
    assert not any(r.reward for r in one._rollouts)
    one.compute_loss(one.model, batch).backward()
    assert gradient(one.model).norm() > 1e-3


@settings(max_examples=6)
@given(st.integers(0, 2**31 - 1))
def test_no_training_prompt_holds_privileged_text(tmp_path_factory, seed):
    folder = tmp_path_factory.mktemp("run")
    named, every = Advising(Stairs()), replace(ALL, max_recoveries=64)
    one = trainer(folder, every, named=named, seed=seed)
    batch = built(one)
    assert one._signals.recoveries and one._signals.lesson
    ids = torch.cat([batch["prompt_ids"], batch["completion_ids"]], 1)
    mask = torch.cat([batch["prompt_mask"], batch["completion_mask"]], 1).bool()
    for row, kept in zip(ids, mask, strict=True):
        hints.assert_unprivileged(TOKENIZER.decode(row[kept].tolist()))


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
