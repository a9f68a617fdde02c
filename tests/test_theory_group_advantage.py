"""Group advantages, Proposition 3.1, and what division by the group std changes."""

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from pivotlab.theory.group_advantage import (
    binary_advantages,
    expected_update,
    fisher_update,
    group_advantages,
    group_gradient,
    mixed_probability,
)

#: successes, size, population (success, failure), Bessel (success, failure)
GOLDEN = [
    (1, 4, (1.7321, -0.5774), (1.5000, -0.5000)),
    (1, 8, (2.6458, -0.3780), (2.4749, -0.3536)),
    (4, 8, (1.0000, -1.0000), (0.9354, -0.9354)),
    (7, 8, (0.3780, -2.6458), (0.3536, -2.4749)),
    (1, 16, (3.8730, -0.2582), (3.7500, -0.2500)),
]


def binary_group(successes, size):
    return np.array([1.0] * successes + [0.0] * (size - successes))


@pytest.mark.parametrize("successes, size, population, bessel", GOLDEN)
def test_golden_values_by_both_formulas(successes, size, population, bessel):
    rewards = binary_group(successes, size)
    for use_bessel, golden in ((False, population), (True, bessel)):
        computed = group_advantages(rewards, bessel=use_bessel)
        assert computed[[0, -1]] == pytest.approx(golden, abs=5e-5)
        closed = binary_advantages(successes, size, bessel=use_bessel)
        assert closed == pytest.approx(tuple(computed[[0, -1]]), rel=1e-12)


def test_bessel_with_eps_is_the_trainer_formula():
    rewards = torch.tensor([0.0, 1.0, 0.0, 0.5], dtype=torch.float64)
    trainer = (rewards - rewards.mean()) / (rewards.std() + 1e-4)
    ours = group_advantages(rewards.numpy(), bessel=True, eps_std=1e-4)
    assert ours == pytest.approx(trainer.numpy(), rel=1e-12)


@given(
    arrays(np.float64, (3, 6), elements=st.floats(-10, 10, width=32)),
    st.booleans(),
    st.sampled_from([0.0, 1e-4]),
)
def test_advantages_sum_to_zero_and_constant_groups_are_silent(rewards, bessel, eps):
    advantages = group_advantages(rewards, bessel=bessel, eps_std=eps)
    assert np.abs(advantages.sum(-1)).max() < 1e-6
    constant = (rewards == rewards[:, :1]).all(-1)
    assert (advantages[constant] == 0).all()
    assert (np.abs(advantages[~constant]).max(-1, initial=0) > 0).all()


@given(
    arrays(np.float64, 6, elements=st.floats(-2, 2, width=16)),
    st.floats(0.1, 10),
    st.floats(-5, 5),
)
def test_advantages_ignore_scale_and_shift_of_the_reward(rewards, scale, shift):
    moved = group_advantages(np.round(rewards, 3) * scale + shift)
    assert moved == pytest.approx(group_advantages(np.round(rewards, 3)), abs=1e-6)


@given(st.floats(-1e6, 1e6), st.integers(2, 16), st.integers(0, 10**6))
def test_constant_group_has_exactly_zero_gradient(reward, size, seed):
    rng = np.random.default_rng(seed)
    policy = rng.dirichlet(np.ones(5))
    advantages = group_advantages(np.full(size, reward))
    gradient = group_gradient(policy, rng.integers(5, size=size), advantages)
    assert (gradient == 0).all()


def test_group_gradient_is_the_gradient_of_the_grpo_surrogate():
    rng = np.random.default_rng(0)
    for _ in range(100):
        logits = torch.tensor(rng.normal(size=6), requires_grad=True)
        log_policy = logits.log_softmax(-1)
        sampled = rng.integers(6, size=8)
        advantages = group_advantages(rng.normal(size=8), bessel=bool(rng.integers(2)))
        ratio = (log_policy - log_policy.detach()).exp()[sampled]
        (ratio * torch.tensor(advantages)).mean().backward()
        ours = group_gradient(log_policy.exp().detach().numpy(), sampled, advantages)
        assert ours == pytest.approx(logits.grad.numpy(), abs=1e-14)


@pytest.mark.parametrize("size", [2, 3, 5])
@pytest.mark.parametrize("rate", [0.05, 0.3, 0.5, 0.9])
def test_expected_updates_against_full_enumeration(size, rate):
    """Every one of the 2^G groups, with autograd for the score of the log-odds."""
    totals = {True: 0.0, False: 0.0}
    mean_square = 0.0
    for group in itertools.product([0.0, 1.0], repeat=size):
        rewards = np.array(group)
        weight = np.prod(np.where(rewards > 0, rate, 1 - rate))
        log_odds = torch.tensor(np.log(rate / (1 - rate)), requires_grad=True)
        log_prob = torch.nn.functional.logsigmoid(
            log_odds * torch.tensor(2 * rewards - 1)
        )
        for divide in (True, False):
            advantages = (
                group_advantages(rewards) if divide else rewards - rewards.mean()
            )
            objective = (torch.tensor(advantages) * log_prob).mean()
            (score,) = torch.autograd.grad(objective, log_odds, retain_graph=True)
            totals[divide] += weight * score.item()
        mean_square += weight * np.mean(group_advantages(rewards) ** 2)
    for divide, total in totals.items():
        assert expected_update(rate, size, divide=divide) == pytest.approx(total)
    assert mixed_probability(rate, size) == pytest.approx(mean_square)


def test_centred_update_is_the_variance_and_divided_update_stays_below_the_std():
    rate = np.linspace(0.01, 0.99, 99)
    std = np.sqrt(rate * (1 - rate))
    for size in (4, 8, 16):
        centred = expected_update(rate, size, divide=False)
        assert centred == pytest.approx((size - 1) / size * std**2, rel=1e-12)
        assert (expected_update(rate, size, divide=True) < std).all()


def test_division_removes_the_standard_deviation_from_the_fisher_norm():
    rate = np.array([0.1, 0.5])
    std = np.sqrt(rate * (1 - rate))
    centred = fisher_update(rate, 4096, divide=False)
    assert centred == pytest.approx(std * 4095 / 4096, rel=1e-12)
    assert fisher_update(rate, 4096, divide=True) == pytest.approx([1, 1], abs=2e-3)


def test_bad_arguments_are_named():
    with pytest.raises(ValueError, match="needs >= 2 rewards, got 1"):
        group_advantages(np.ones((4, 1)))
    with pytest.raises(ValueError, match="got 8 of 8"):
        binary_advantages(8, 8)
    with pytest.raises(ValueError, match="strictly between 0 and 1"):
        fisher_update(np.array([0.0, 0.5]), 8, divide=True)
