"""Theorem 3.3: closed form against independent minimisers, rankings to 1e-12."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from pivotlab.theory.functional_reward import (
    accepted_mass,
    bernoulli_kl,
    functional_loss,
    kl_divergence,
    optimal_value,
    project_mass,
    swapped_pairs,
    tilted_policy,
)

CASES, ACTIONS = 1000, 8


def random_cases(beta, seed=0):
    """1,000 references and accepted sets, neither empty nor everything."""
    rng = np.random.default_rng(seed)
    pi0 = rng.dirichlet(np.ones(ACTIONS), CASES) + 1e-6
    pi0 /= pi0.sum(-1, keepdims=True)
    order = rng.permuted(np.tile(np.arange(ACTIONS), (CASES, 1)), axis=1)
    return pi0, order < rng.integers(1, ACTIONS, (CASES, 1))


def mirror_descent(pi0, accepted, beta, steps=60):
    """Exponentiated gradient on the loss, gradients by autograd, half a Newton step."""
    reference, mask = torch.tensor(pi0), torch.tensor(accepted, dtype=torch.float64)
    policy = torch.full_like(reference, 1 / reference.shape[-1])
    for _ in range(steps):
        policy.requires_grad_(True)
        loss = (
            -(policy * mask).sum() + beta * (policy * (policy / reference).log()).sum()
        )
        (gradient,) = torch.autograd.grad(loss, policy)
        log_policy = policy.detach().log() - gradient * (0.5 / beta)
        policy = torch.softmax(log_policy, -1)
    return policy.numpy()


@pytest.mark.parametrize("beta", [0.1, 0.5, 1.0, 4.0])
def test_closed_form_against_a_numerical_minimiser_on_1000_cases(beta):
    pi0, accepted = random_cases(beta)
    exact = tilted_policy(pi0, accepted, beta)
    numerical = mirror_descent(pi0, accepted, beta)
    assert np.abs(np.log(numerical) - np.log(exact)).max() < 1e-10
    rho = (pi0 * accepted).sum(-1)
    mass = accepted_mass(rho, beta)
    assert (numerical * accepted).sum(-1) == pytest.approx(mass, abs=1e-10)
    assert (exact * accepted).sum(-1) == pytest.approx(mass, abs=1e-12)
    assert (mass > rho).all()
    value = optimal_value(rho, beta)
    assert functional_loss(exact, pi0, accepted, beta) == pytest.approx(
        value, abs=1e-12
    )
    assert functional_loss(numerical, pi0, accepted, beta) == pytest.approx(
        value, abs=1e-10
    )
    divergence = kl_divergence(exact, pi0)
    assert divergence == pytest.approx(bernoulli_kl(mass, rho), abs=1e-12)


def test_closed_form_against_a_solver_that_knows_only_the_loss():
    """SLSQP on the simplex, numerical gradients, no tilt in sight."""
    pi0, accepted = random_cases(0.5, seed=1)
    for reference, mask in zip(pi0[:5], accepted[:5], strict=True):
        found = minimize(
            lambda x, p=reference, m=mask: functional_loss(x, p, m, 0.5),
            np.full(ACTIONS, 1 / ACTIONS),
            method="SLSQP",
            bounds=[(1e-12, 1)] * ACTIONS,
            constraints={"type": "eq", "fun": lambda x: x.sum() - 1},
            options={"ftol": 1e-14, "maxiter": 500},
        )
        assert found.success
        exact = tilted_policy(reference, mask, 0.5)
        assert found.x == pytest.approx(exact, abs=1e-5)


@pytest.mark.parametrize("beta", [0.05, 0.5, 5.0])
def test_ratios_inside_both_blocks_stay_on_1000_cases(beta):
    pi0, accepted = random_cases(beta, seed=2)
    policy = tilted_policy(pi0, accepted, beta)
    same = accepted[:, :, None] == accepted[:, None, :]
    before = pi0[:, :, None] / pi0[:, None, :]
    after = policy[:, :, None] / policy[:, None, :]
    assert np.abs(after / before - 1)[same].max() < 1e-12
    assert np.abs(after / before - 1)[~same].min() > 0.1


@pytest.mark.parametrize("beta", [0.2, 1.0])
def test_the_minimiser_is_a_kl_projection(beta):
    """Block scaling gives the tilt; Pythagoras holds for any policy of that mass."""
    rng = np.random.default_rng(3)
    pi0, accepted = random_cases(beta, seed=3)
    for reference, mask in zip(pi0[:200], accepted[:200], strict=True):
        mass = float(accepted_mass(reference[mask].sum(), beta))
        projected = project_mass(reference, mask, mass)
        tilted = tilted_policy(reference, mask, beta)
        assert projected == pytest.approx(tilted, rel=1e-12)
        other = project_mass(rng.dirichlet(np.ones(ACTIONS)) + 1e-9, mask, mass)
        direct = kl_divergence(other, reference)
        detour = kl_divergence(other, projected) + kl_divergence(projected, reference)
        assert direct == pytest.approx(detour, rel=1e-7)


def test_excess_loss_is_beta_times_the_divergence_from_the_optimum():
    rng = np.random.default_rng(4)
    pi0, accepted = random_cases(0.3, seed=4)
    policy = rng.dirichlet(np.ones(ACTIONS), CASES)
    excess = functional_loss(policy, pi0, accepted, 0.3) - optimal_value(
        (pi0 * accepted).sum(-1), 0.3
    )
    divergence = kl_divergence(policy, tilted_policy(pi0, accepted, 0.3))
    assert excess == pytest.approx(0.3 * divergence, abs=1e-12)


@pytest.mark.parametrize(
    "rho, beta, golden",
    [
        (0.2, 0.5, 0.648786),
        (0.25, 1.0, 0.475367),
        (0.5, 0.1, 0.999955),
        (0.37, np.inf, 0.37),
        (0.0, 0.5, 0.0),
        (1.0, 0.5, 1.0),
    ],
)
def test_golden_accepted_mass(rho, beta, golden):
    assert accepted_mass(rho, beta) == pytest.approx(golden, abs=5e-7)


@given(st.floats(1e-6, 1 - 1e-6), st.floats(0.05, 20))
def test_log_odds_shift_by_one_over_beta(rho, beta):
    direct = rho * np.exp(1 / beta) / (rho * np.exp(1 / beta) + 1 - rho)
    assert accepted_mass(rho, beta) == pytest.approx(direct, rel=1e-12)
    value = -beta * np.log(rho * np.exp(1 / beta) + 1 - rho)
    assert optimal_value(rho, beta) == pytest.approx(value, rel=1e-9, abs=1e-12)


def test_exact_match_is_the_special_case_and_other_correct_actions_lose():
    pi0 = np.array([0.15, 0.05, 0.5, 0.3])
    functional, strict = np.array([1, 1, 0, 0], bool), np.array([1, 0, 0, 0], bool)
    wide, narrow = (tilted_policy(pi0, mask, 0.5) for mask in (functional, strict))
    assert wide[:2].sum() == pytest.approx(0.648786, abs=5e-7)
    assert wide[1] > pi0[1] > narrow[1]
    others = narrow[1:] / pi0[1:]
    assert others == pytest.approx(np.full(3, others[0]), rel=1e-12)


def test_small_beta_does_not_overflow():
    assert optimal_value(0.2, 1e-4) == pytest.approx(-1 - 1e-4 * np.log(0.2), rel=1e-12)
    policy = tilted_policy(np.array([0.2, 0.8]), np.array([True, False]), 1e-4)
    assert policy.tolist() == [1.0, 0.0]


def test_mass_that_cannot_move_is_named():
    pi0, mask = np.array([1.0, 0.0]), np.array([False, True])
    with pytest.raises(ValueError, match="gives the M no mass, cannot scale it to 0.5"):
        project_mass(pi0, mask, 0.5)
    assert project_mass(pi0, mask, 0.0).tolist() == [1.0, 0.0]
    everything = project_mass(np.array([0.4, 0.6]), np.array([True, True]), 1.0)
    assert everything.tolist() == [0.4, 0.6]


def test_another_state_can_swap_what_the_own_verdict_cannot():
    pi0 = np.array([0.4, 0.3, 0.2, 0.1])
    own = np.array([True, True, False, False])
    other = np.array([False, True, False, True])
    # Two pairs lie inside a block: (1, 2) and (3, 4); log(4/3) < 0.5 < log(2).
    assert swapped_pairs(pi0, own, own, 5.0) == 0.0
    assert swapped_pairs(pi0, own, other, 0.0) == 0.0
    assert swapped_pairs(pi0, own, other, 0.5) == 0.5
    assert swapped_pairs(pi0, own, other, 1.0) == 1.0
    with pytest.raises(ValueError, match="no order to keep"):
        swapped_pairs(pi0[:2], np.array([True, False]), other[:2], 1.0)


def test_shared_linear_layer_shifts_the_neighbour_by_the_overlap():
    """Gradient ascent on one state of a two-state linear policy moves the other."""
    rng = np.random.default_rng(5)
    overlap, beta = 0.6, 1.0
    features = torch.tensor([[1.0, 0.0], [overlap, (1 - overlap**2) ** 0.5]]).double()
    start = torch.tensor(rng.normal(size=(2, 5)))
    accepted = torch.tensor([1.0, 0, 1, 0, 0]).double()
    layer = torch.zeros(2, 5, dtype=torch.float64, requires_grad=True)
    reference = start[0].log_softmax(-1)
    for _ in range(3000):
        log_policy = (start + features @ layer)[0].log_softmax(-1)
        policy = log_policy.exp()
        loss = -policy @ accepted + beta * policy @ (log_policy - reference)
        (gradient,) = torch.autograd.grad(loss, layer)
        layer = (layer - 2 * gradient).detach().requires_grad_(True)
    moved = (features @ layer)[1].detach().numpy()
    expected = overlap * accepted.numpy() / beta
    assert moved - moved.mean() == pytest.approx(expected - expected.mean(), abs=1e-6)
