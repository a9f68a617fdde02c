"""Theorem 3.2 by independent routes, 1,000 random cases and more."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from pivotlab.theory.kl_path import (
    centred_rewards,
    fisher_norm,
    kl_path,
    natural_gradient,
    natural_gradient_norm,
    path_velocity,
    reward_std,
    signal_size,
    softmax_fisher,
)


def random_case(seed):
    """(pi0, rewards, beta): 2-12 actions, peaked to flat pi0, binary and real r."""
    rng = np.random.default_rng(seed)
    actions = rng.integers(2, 13)
    pi0 = rng.dirichlet(np.full(actions, rng.choice([0.5, 1.0, 5.0]))) + 1e-9
    rewards = rng.uniform(-1, 1, actions)
    if seed % 2:
        rewards = (rng.permutation(actions) < rng.integers(1, actions)).astype(float)
    return pi0 / pi0.sum(), rewards, float(np.exp(rng.uniform(np.log(0.1), np.log(10))))


def complex_step_speed(pi0, rewards, beta):
    """Fisher speed from a derivative that knows no formula: Im pi(beta + ih) / h."""
    step = 1e-200
    weight = pi0 * np.exp((rewards - rewards.max()) / (beta + 1j * step))
    policy = weight / weight.sum()
    return np.sqrt(((policy.imag / step) ** 2 / policy.real).sum())


def test_theorem_identity_on_1200_random_cases():
    worst = 0.0
    for seed in range(1200):
        case = random_case(seed)
        size = signal_size(*case)
        routes = np.array([size.speed, size.natural, complex_step_speed(*case)])
        worst = max(worst, np.abs(routes / size.closed - 1).max())
    assert worst < 1e-9


def test_derivative_and_natural_gradient_against_autograd():
    """dpi/dbeta, and F x = dJ/du with both sides differentiated automatically."""
    for seed in range(100):
        pi0, rewards, beta = random_case(seed)
        reward_tensor = torch.tensor(rewards)

        def path(b, pi0=pi0, reward_tensor=reward_tensor):
            return torch.softmax(torch.tensor(pi0).log() + reward_tensor / b, -1)

        velocity = torch.autograd.functional.jacobian(
            path, torch.tensor(beta, dtype=torch.float64)
        )
        policy = kl_path(pi0, rewards, beta)
        ours = path_velocity(pi0, rewards, beta)
        assert ours == pytest.approx(velocity.numpy(), abs=1e-12 / beta**2)

        logits = torch.tensor(np.log(policy))
        gradient = torch.autograd.functional.jacobian(
            lambda u, r=reward_tensor: torch.softmax(u, -1) @ r, logits
        )
        fisher = torch.autograd.functional.hessian(
            lambda u: torch.logsumexp(u, -1), logits
        )
        assert softmax_fisher(policy) == pytest.approx(fisher.numpy(), abs=1e-14)
        direction = torch.tensor(natural_gradient(policy, rewards))
        residual = fisher @ direction - gradient
        assert residual.abs().max() < 1e-12
        expected = float(torch.sqrt(direction @ fisher @ direction))
        assert natural_gradient_norm(policy, rewards) == pytest.approx(expected)


def test_two_coins_by_hand():
    """pi0 = (1/2, 1/2), r = (1, 0), beta = 1: p = e/(1+e), gamma = sqrt(p (1-p))."""
    size = signal_size(np.array([0.5, 0.5]), np.array([1.0, 0.0]), 1.0)
    p = np.e / (1 + np.e)
    assert size.closed == pytest.approx(np.sqrt(p * (1 - p)), rel=1e-14)
    assert size.closed == pytest.approx(0.4434094, abs=1e-7)


def test_the_variance_itself_and_a_single_beta_are_wrong():
    pi0, rewards = np.array([0.2, 0.3, 0.5]), np.array([1.0, 0.0, 0.3])
    size = signal_size(pi0, rewards, 0.7)
    std = reward_std(kl_path(pi0, rewards, 0.7), rewards)
    assert abs(std**2 / 0.7**2 / size.speed - 1) > 0.5
    assert abs(std / 0.7 / size.speed - 1) > 0.25


@given(st.floats(1e-6, 1 - 1e-6))
def test_binary_reward_has_bernoulli_std_and_its_peak_at_one_half(mu):
    policy = np.array([mu, 1 - mu])
    std = reward_std(policy, np.array([1.0, 0.0]))
    assert std == pytest.approx(np.sqrt(mu * (1 - mu)), rel=1e-9)
    assert std <= 0.5 + 1e-15


def test_no_variance_no_signal():
    size = signal_size(np.array([0.2, 0.3, 0.5]), np.full(3, 0.7), 0.4)
    assert size == (0.0, 0.0, 0.0)


def test_ends_of_the_path():
    pi0, rewards = np.array([0.7, 0.2, 0.1]), np.array([0.0, 1.0, 1.0])
    assert kl_path(pi0, rewards, np.inf) == pytest.approx(pi0, rel=1e-15)
    policy = kl_path(pi0, rewards, 1e-4)
    assert policy == pytest.approx([0, 2 / 3, 1 / 3], abs=1e-15)


def test_std_keeps_its_digits_near_a_deterministic_policy():
    policy = np.array([1 - 1e-12, 1e-12])
    std = reward_std(policy, np.array([0.3, 0.9]))
    assert std == pytest.approx(0.6 * np.sqrt(1e-12 * (1 - 1e-12)), rel=1e-9)


@given(st.integers(0, 10**6))
def test_centred_rewards_and_velocity_sum_to_zero(seed):
    pi0, rewards, beta = random_case(seed)
    assert abs(pi0 @ centred_rewards(pi0, rewards)) < 1e-15
    assert abs(path_velocity(pi0, rewards, beta).sum()) < 1e-13 / beta**2


def test_fisher_norm_ignores_impossible_actions():
    policy = np.array([0.5, 0.5, 0.0])
    assert fisher_norm(policy, np.array([0.1, -0.1, 0.0])) == pytest.approx(0.2)


def test_bad_arguments_are_named():
    policy = np.array([0.5, 0.5])
    with pytest.raises(ValueError, match="beta must be > 0 .* got 0.0"):
        kl_path(policy, policy, 0.0)
    with pytest.raises(ValueError, match="full support"):
        natural_gradient(np.array([1.0, 0.0]), policy)
