"""PivotOPD's losses: hand-worked numbers, dense float64 references, gradients."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from pivotlab.distillation.losses import (
    Weights,
    clipped_surrogate,
    distill_advantage,
    divergence,
    sampled_divergence,
    token_advantages,
)


def test_eqs_5_to_7_by_hand():
    """The paper's worked example: loss -4.274 / 5."""
    weights = Weights(w_prev=0.001, w_rec=0.25, delta=5.0)
    distill = torch.tensor([[-2.0, 0.0, 1.0], [0.1, 7.0, 0.0]])
    advantages = token_advantages(
        group=torch.tensor([1.0, 9.0]),
        distill=distill,
        pivotal=torch.tensor([True, False]),
        recovery=torch.tensor([False, True]),
        weights=weights,
    )
    expected = torch.tensor([[0.998, 1.0, 1.001], [0.025, 1.25, 0.0]])
    torch.testing.assert_close(advantages, expected)
    mask = torch.tensor([[1.0, 1.0, 1.0], [1.0, 1.0, 0.0]])
    log_probs = torch.full((2, 3), -1.0)
    loss = clipped_surrogate(log_probs, log_probs, advantages, mask, epsilon=0.2)
    assert loss.item() == pytest.approx(-0.8548, abs=1e-6)


def test_identical_prompts_give_no_signal_and_no_gradient_reaches_the_hint():
    plain = torch.randn(2, 4, requires_grad=True)
    assert distill_advantage(plain, plain).abs().max() == 0
    assert not distill_advantage(plain * 2, plain).requires_grad


def test_recovery_rows_do_not_see_the_group_advantage():
    arguments = {
        "distill": torch.randn(3, 5),
        "pivotal": torch.tensor([True, False, False]),
        "recovery": torch.tensor([False, False, True]),
        "weights": Weights(),
    }
    one = token_advantages(group=torch.tensor([1.0, 2.0, 3.0]), **arguments)
    two = token_advantages(group=torch.tensor([1.0, 2.0, -30.0]), **arguments)
    assert torch.equal(one[2], two[2])
    assert torch.equal(one[1], torch.full((5,), 2.0))


def test_all_fail_groups_keep_prevention():
    advantages = token_advantages(
        group=torch.zeros(1),
        distill=torch.ones(1, 2),
        pivotal=torch.tensor([True]),
        recovery=torch.tensor([False]),
        weights=Weights(w_prev=0.1),
    )
    torch.testing.assert_close(advantages, torch.full((1, 2), 0.1))


def test_the_lesson_acts_on_rollout_rows_at_every_turn_only():
    advantages = token_advantages(
        group=torch.zeros(2),
        distill=torch.zeros(2, 1),
        pivotal=torch.tensor([False, False]),
        recovery=torch.tensor([False, True]),
        weights=Weights(w_traj=0.5),
        lesson=torch.full((2, 1), 2.0),
    )
    assert advantages.tolist() == [[1.0], [0.0]]


def test_prevention_is_not_clipped_and_recovery_is():
    weights = Weights(w_prev=1.0, w_rec=1.0, delta=2.0)
    advantages = token_advantages(
        group=torch.zeros(2),
        distill=torch.tensor([[-40.0], [-40.0]]),
        pivotal=torch.tensor([True, False]),
        recovery=torch.tensor([False, True]),
        weights=weights,
    )
    assert advantages.tolist() == [[-40.0], [-2.0]]


def test_a_row_cannot_be_both():
    with pytest.raises(ValueError, match="either a rollout turn or a recovery"):
        token_advantages(
            torch.zeros(1),
            torch.zeros(1, 1),
            torch.tensor([True]),
            torch.tensor([True]),
            Weights(),
        )


@pytest.mark.parametrize("bad", [{"w_prev": -1.0}, {"w_rec": -0.1}, {"delta": 0.0}])
def test_weights_out_of_range_are_named(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        Weights(**bad)


@given(st.integers(0, 10_000))
def test_surrogate_equals_a_loop_over_tokens_in_float64(seed):
    generator = torch.Generator().manual_seed(seed)
    shape, epsilon = (3, 5), 0.2
    new, old, advantages = (
        torch.randn(shape, generator=generator, dtype=torch.float64) for _ in range(3)
    )
    mask = (torch.rand(shape, generator=generator) < 0.7).double()
    mask[0, 0] = 1.0
    total = 0.0
    for i in range(3):
        for j in range(5):
            if mask[i, j]:
                rho = torch.exp(new[i, j] - old[i, j]).item()
                a = advantages[i, j].item()
                total += min(rho * a, max(min(rho, 1.2), 0.8) * a)
    loss = clipped_surrogate(new, old, advantages, mask, epsilon)
    assert loss.item() == pytest.approx(-total / mask.sum().item(), rel=1e-12)


def test_masked_tokens_get_exactly_zero_gradient():
    new = torch.randn(2, 4, requires_grad=True)
    mask = torch.tensor([[1.0, 0.0, 1.0, 0.0], [0.0, 0.0, 1.0, 1.0]])
    loss = clipped_surrogate(new, new.detach(), torch.randn(2, 4), mask, 0.2)
    loss.backward()
    assert (new.grad[mask == 0] == 0).all() and (new.grad[mask == 1] != 0).all()


def random_log_probs(seed, vocabulary=9, dtype=torch.float64):
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(2, 3, vocabulary, generator=generator, dtype=dtype)
    return (2 * logits).log_softmax(-1)


@given(st.integers(0, 10_000), st.sampled_from(["forward", "reverse"]))
def test_bucketing_never_raises_a_divergence(seed, direction):
    student, teacher = random_log_probs(seed), random_log_probs(seed + 1)
    full = divergence(student, teacher, direction)
    for k in (1, 4, 8):
        part = divergence(student, teacher, direction, top_k=k)
        assert (part <= full + 1e-9).all() and (part >= -1e-9).all()
    # With all but one token kept the bucket is that token.
    torch.testing.assert_close(part, full, atol=1e-6, rtol=1e-6)


def test_divergence_by_hand():
    p, q = torch.tensor([0.5, 0.5]), torch.tensor([0.9, 0.1])
    student, teacher = p.log()[None, None], q.log()[None, None]
    # 0.5 ln(0.5/0.9) + 0.5 ln(0.5/0.1) and 0.9 ln(0.9/0.5) + 0.1 ln(0.1/0.5)
    reverse, forward = 0.510826, 0.368064
    assert divergence(student, teacher, "reverse").item() == pytest.approx(
        reverse, abs=1e-6
    )
    assert divergence(student, teacher, "forward").item() == pytest.approx(
        forward, abs=1e-6
    )


@pytest.mark.parametrize("direction", ["forward", "reverse"])
def test_sampled_gradient_is_the_dense_one_in_expectation(direction):
    """Summing the surrogate's gradient over all tokens, each with its probability."""
    logits = torch.randn(6, dtype=torch.float64, requires_grad=True)
    teacher = torch.randn(6, dtype=torch.float64).log_softmax(-1)
    student = logits.log_softmax(-1)
    dense = divergence(student[None, None], teacher[None, None], direction).sum()
    (wanted,) = torch.autograd.grad(dense, logits, retain_graph=True)
    source = teacher.exp() if direction == "forward" else student.exp().detach()
    terms = sampled_divergence(student[None], teacher[None], direction)[0]
    (found,) = torch.autograd.grad((source * terms).sum(), logits)
    torch.testing.assert_close(found, wanted, rtol=1e-10, atol=1e-12)


def test_no_gradient_reaches_the_teacher():
    student = random_log_probs(0).requires_grad_()
    teacher = random_log_probs(1).requires_grad_()
    divergence(student, teacher, "forward").sum().backward()
    assert teacher.grad is None and student.grad is not None


@pytest.mark.parametrize("k", [0, 9])
def test_top_k_out_of_range(k):
    with pytest.raises(ValueError, match="1..8"):
        divergence(random_log_probs(0), random_log_probs(1), "forward", top_k=k)
