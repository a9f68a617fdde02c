"""End-to-end GRPO is stock GRPO; PivotOPD adds what it says and leaks nothing."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from episode_toys import (
    BACK,
    FORWARD,
    RENDERER,
    TOKENIZER,
    Stairs,
    follower,
    log_prob,
    talker,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from multiturn_toys import ALL, ZERO, Advising, built, trainer
from training_toys import gradient, relative, weights
from trl import GRPOTrainer
from trl.trainer import grpo_trainer

from pivotlab.distillation import hints
from pivotlab.distillation.losses import Weights
from pivotlab.training.distilled import Distillation
from pivotlab.training.multiturn_trainer import MultiTurnTrainer, outcome
from pivotlab.training.trl_compat import PivotTrainer


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
