"""Every term of the loss, and its gradient, equals a dense float64 reference."""

import pytest
import torch
from episode_toys import Stairs, talker
from multiturn_toys import Advising, Dense, built, shifted_reference, trainer
from training_toys import gradient, relative

from pivotlab.distillation.losses import Weights
from pivotlab.training.distilled import Distillation

#: Largest relative difference of gradients, float32 against float64.
LIMIT = 1e-6
NONE = Weights(w_prev=0.0, w_rec=0.0, w_traj=0.0)
CASES = {
    "group advantage": None,
    "prevention": Distillation(Weights(w_prev=0.3, w_rec=0.0), 0.0, recovery_turns=0),
    "recovery": Distillation(Weights(w_prev=0.0, w_rec=0.7, delta=1.5), 0.0),
    "lesson": Distillation(
        Weights(w_prev=0.0, w_rec=0.0, w_traj=0.4), 0.0, recovery_turns=0
    ),
    "every turn": Distillation(NONE, 0.0, 0.6, recovery_turns=0),
    "all": Distillation(Weights(0.3, 0.7, 0.4, 1.5), 1.0, 0.2),
    "reverse-KL recovery": Distillation(
        Weights(0.0, 0.7, delta=1.5), 0.0, recovery="student"
    ),
    "no action named": Distillation(Weights(0.3, 0.7), hint="reflection"),
    "random turns": Distillation(Weights(0.3, 0.7), turns="random"),
    "full": Distillation(Weights(0.3, 0.7), 1.0, 0.2, support="full"),
    "topk": Distillation(Weights(0.3, 0.7), support="topk", top_k=3),
}


@pytest.mark.parametrize("name", CASES)
def test_loss_and_gradient_equal_the_dense_reference(tmp_path, name):
    one = trainer(tmp_path, CASES[name], named=Advising(Stairs()))
    shifted_reference(one)
    batch = built(one)
    dense = Dense(one)
    loss = one.compute_loss(one.model, batch)
    loss.backward()
    wanted = dense.loss()
    wanted.backward()
    assert loss.item() == pytest.approx(wanted.item(), abs=1e-6, rel=1e-6)
    own, theirs = gradient(one.model).double(), gradient(dense.policy)
    assert theirs.norm() > 1e-3
    assert relative(own, theirs) < LIMIT, (name, relative(own, theirs))
    assert all(p.grad is None for p in one.ref_model.parameters())


def test_a_second_model_scores_in_the_students_place(tmp_path):
    big = talker()
    with torch.no_grad():
        for parameter in big.parameters():
            parameter.mul_(0.9)
    settings = Distillation(
        Weights(w_prev=0.1, w_rec=0.0), 0.0, 1.0, recovery_turns=0, turns="final"
    )
    one = trainer(tmp_path, settings, big=big)
    batch = built(one)
    dense = Dense(one, scorer=big)
    loss = one.compute_loss(one.model, batch)
    loss.backward()
    wanted = dense.loss()
    wanted.backward()
    assert loss.item() == pytest.approx(wanted.item(), abs=1e-6, rel=1e-6)
    assert relative(gradient(one.model).double(), gradient(dense.policy)) < LIMIT
    assert len(one._signals.every) == len(one._rollouts)
    assert all(p.grad is None for p in big.parameters())


def test_environment_tokens_get_exactly_no_gradient(tmp_path):
    """The loss does not move with the log-prob of a token that nobody sampled."""
    one = trainer(tmp_path, CASES["all"], named=Advising(Stairs()))
    batch = built(one)
    found = []
    score = one.token_scores

    def kept(model, tokens, with_entropy):
        log_probs, entropies = score(model, tokens, with_entropy)
        log_probs.retain_grad()
        found.append(log_probs)
        return log_probs, entropies

    one.token_scores = kept
    one.compute_loss(one.model, batch).backward()
    trained = (batch["completion_mask"] * batch["tool_mask"]).bool()
    gradients = found[0].grad
    assert (gradients[~trained] == 0).all()
    assert (gradients[trained] != 0).float().mean() > 0.9
    shared = [r for r in one._signals.recoveries]
    assert shared, "recovery rows are part of the check"


def test_component_figures_are_kept_apart(tmp_path):
    one = trainer(tmp_path, CASES["all"], named=Advising(Stairs()))
    batch = built(one)
    logged = {k: v[-1] for k, v in one._metrics["train"].items()}
    signals, rollouts = one._signals, one._rollouts
    assert logged["rollout/tokens"] == sum(sum(r.mask) for r in rollouts)
    assert logged["recovery/tokens"] == sum(len(r.response) for r in signals.recoveries)
    assert logged["prevention/tokens"] == sum(len(m.values) for m in signals.prevention)
    total = logged["rollout/tokens"] + logged["recovery/tokens"]
    assert batch["num_items_in_batch"].item() == total
    values = [v for r in signals.recoveries for v in r.distill]
    mean = sum(0.7 * max(-1.5, min(1.5, v)) for v in values) / len(values)
    assert logged["recovery/advantage"] == pytest.approx(mean)
    assert logged["teacher/reports"] == len(rollouts)
    assert logged["recovery/rows"] == len(signals.recoveries)
