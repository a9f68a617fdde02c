"""PivotOPD Propositions 1-3 and Lemmas 1-3 in softmax logits; autograd judges."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from pivotlab.theory.functional_reward import kl_divergence
from pivotlab.theory.pivotopd_logits import (
    chain_success_bound,
    clipped_weight,
    hit_probability,
    log_ratio,
    recovery_loss_bound,
    recovery_update,
    reverse_kl_update,
    softmax_update,
    surrogate,
)

P, Q, DELTA = np.array([0.001, 0.999]), np.array([0.9, 0.1]), 5.0


def random_pair(rng, actions=6):
    p, q = rng.dirichlet(np.ones(actions), 2) + 1e-6
    return p / p.sum(), q / q.sum()


def test_golden_recovery_update():
    assert log_ratio(Q, P) == pytest.approx([6.8024, -2.3016], abs=5e-5)
    clipped = recovery_update(P, Q, DELTA)[0]
    assert clipped == pytest.approx(4.49573, abs=5e-6)
    assert clipped >= DELTA * (Q[0] - P[0]) == pytest.approx(4.495)
    assert recovery_update(P, Q, np.inf)[0] == pytest.approx(6.11626, abs=5e-6)


def test_golden_prevention_update_is_494_times_smaller():
    assert kl_divergence(P, Q) == pytest.approx(2.29248, abs=5e-6)
    component = reverse_kl_update(P, Q)[0]
    assert component == pytest.approx(0.0090949, abs=5e-8)
    assert recovery_update(P, Q, DELTA)[0] / component == pytest.approx(494, abs=0.5)


def test_golden_lemma_1_and_sampling():
    assert kl_divergence(Q, P) == pytest.approx(5.89200, abs=5e-6)
    assert recovery_loss_bound(P, Q, 0) == pytest.approx(5.52383, abs=5e-6)
    assert hit_probability(0.01, 8) == pytest.approx(0.07726, abs=5e-6)


def test_softmax_update_is_the_expected_score_by_autograd():
    rng = np.random.default_rng(0)
    for _ in range(100):
        p, q = random_pair(rng)
        weight = rng.normal(size=6)
        logits = torch.tensor(np.log(p), requires_grad=True)
        expected = (torch.tensor(q * weight) * logits.log_softmax(-1)).sum()
        (gradient,) = torch.autograd.grad(expected, logits)
        assert softmax_update(q, p, weight) == pytest.approx(
            gradient.numpy(), abs=1e-14
        )


def test_proposition_1_ii_on_policy_update_carries_the_factor_p():
    rng = np.random.default_rng(1)
    for _ in range(1000):
        p, _ = random_pair(rng)
        weight = rng.normal(size=6) * 10
        closed = p * (weight - p @ weight)
        assert softmax_update(p, p, weight) == pytest.approx(closed, abs=1e-13)


def test_proposition_1_iii_lower_bound_on_1000_cases():
    """Draw q freely, shrink p(a) until the premise holds."""
    rng = np.random.default_rng(2)
    for _ in range(1000):
        p, q = random_pair(rng)
        delta = rng.uniform(0.1, 4)
        p[0] = q[0] * np.exp(-delta) * rng.uniform(0.01, 1)
        p[1:] *= (1 - p[0]) / p[1:].sum()
        update = recovery_update(p, q, delta)[0]
        assert update >= delta * (q[0] - p[0]) - 1e-12
        assert update > 0


def test_proposition_2_prevention_is_the_reverse_kl_gradient():
    rng = np.random.default_rng(3)
    for _ in range(200):
        p, q = random_pair(rng)
        logits = torch.tensor(np.log(p), requires_grad=True)
        log_p = logits.log_softmax(-1)
        loss = (log_p.exp() * (log_p - torch.tensor(q).log())).sum()
        (gradient,) = torch.autograd.grad(loss, logits)
        assert reverse_kl_update(p, q) == pytest.approx(-gradient.numpy(), abs=1e-13)
        sampled = softmax_update(p, p, log_ratio(q, p))
        assert sampled == pytest.approx(-gradient.numpy(), abs=1e-13)


def test_as_the_right_action_vanishes_prevention_dies_and_recovery_stays():
    tiny = 10.0 ** -np.arange(2, 12)
    pairs = [(np.array([e, 1 - e]), Q) for e in tiny]
    prevention = [reverse_kl_update(p, q)[0] for p, q in pairs]
    clipped = [recovery_update(p, q, 2.0)[0] for p, q in pairs]
    unclipped = [recovery_update(p, q, np.inf)[0] for p, q in pairs]
    assert prevention[-1] < 1e-9 and (np.diff(prevention) < 0).all()
    assert min(clipped) >= 2.0 * (0.9 - 0.01)
    assert (np.diff(unclipped) > 1).all()


def test_lemma_1_bound_on_1000_cases():
    rng = np.random.default_rng(4)
    for _ in range(1000):
        p, q = random_pair(rng)
        divergence = kl_divergence(q, p)
        assert all(divergence >= recovery_loss_bound(p, q, a) for a in range(6))


def test_lemma_2_unclipped_update_vanishes_only_at_equality():
    rng = np.random.default_rng(5)
    for _ in range(1000):
        p, q = random_pair(rng)
        assert np.abs(recovery_update(p, q, np.inf)).max() > 1e-6
        assert np.abs(recovery_update(p, p, np.inf)).max() < 1e-15


def test_lemma_3_the_update_is_the_gradient_of_the_surrogate():
    rng = np.random.default_rng(6)
    for delta in (0.5, 5.0, np.inf):
        for _ in range(50):
            p, q = random_pair(rng)
            weight = torch.tensor(q / p * np.clip(np.log(q / p), -delta, delta))
            logits = torch.tensor(np.log(p), requires_grad=True)
            objective = logits.softmax(-1) @ weight
            (gradient,) = torch.autograd.grad(objective, logits)
            ours = recovery_update(p, q, delta)
            assert ours == pytest.approx(gradient.numpy(), abs=1e-12)
            value = surrogate(p, p, q, delta)
            assert value == pytest.approx(objective.item(), abs=1e-12)
        assert surrogate(p, p, q, np.inf) == pytest.approx(kl_divergence(q, p))


@given(st.floats(1e-12, 0.99), st.integers(1, 512))
def test_hit_probability_stays_below_its_union_bound(p, rollouts):
    hit = hit_probability(p, rollouts)
    assert hit <= rollouts * p * (1 + 1e-12)
    assert hit == pytest.approx(1 - (1 - p) ** rollouts, abs=1e-12)


def test_first_hit_takes_one_over_p_samples():
    p, counts = 0.01, np.arange(1, 20_000)
    law = np.diff(np.concatenate([[0.0], [hit_probability(p, int(n)) for n in counts]]))
    assert (law * counts).sum() == pytest.approx(1 / p, rel=1e-9)


def test_proposition_3_bounds_every_chain():
    """A chain of d decisions with masses <= epsilon; enforcing K removes K factors."""
    rng = np.random.default_rng(7)
    for _ in range(200):
        epsilon, needed = rng.uniform(0.01, 0.5), int(rng.integers(1, 6))
        masses = rng.uniform(0, epsilon, needed)
        for enforced in range(needed):
            success = np.prod(masses[enforced:])
            assert success <= chain_success_bound(epsilon, needed, enforced)
    tight = chain_success_bound(0.1, 3, 1)
    assert tight == pytest.approx(0.01)


@given(st.integers(0, 10**6), st.floats(0.1, 6))
def test_updates_leave_the_sum_of_logits_alone(seed, delta):
    p, q = random_pair(np.random.default_rng(seed))
    assert abs(recovery_update(p, q, delta).sum()) < 1e-12
    assert abs(reverse_kl_update(p, q).sum()) < 1e-12
    assert np.abs(clipped_weight(q, p, delta)).max() <= delta


def test_a_constant_group_still_feels_the_kl_term():
    policy, reference = np.array([0.6, 0.4]), np.array([0.5, 0.5])
    pull = reverse_kl_update(policy, reference)
    assert pull[0] < 0 < pull[1]
    assert (reverse_kl_update(policy, policy) == 0).all()


def test_bad_arguments_are_named():
    with pytest.raises(ValueError, match="full support"):
        log_ratio(np.array([1.0, 0.0]), P)
    with pytest.raises(ValueError, match="got 3 and 3"):
        chain_success_bound(0.1, 3, 3)
