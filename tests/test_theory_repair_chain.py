"""The toy of K and w_rec: its updates against simulation, and what it shows."""

import numpy as np
import pytest
from scipy.special import expit

from pivotlab.theory.group_advantage import expected_update, group_advantages
from pivotlab.theory.repair_chain import outcome_update, repair_path


def test_one_state_is_the_expected_update_of_a_binary_reward():
    for rate in (0.05, 0.5, 0.9):
        (update,) = outcome_update(np.array([rate]), 8)
        assert update == pytest.approx(expected_update(rate, 8, divide=True))


def test_outcome_update_agrees_with_simulated_groups():
    p, group, draws = np.array([0.6, 0.8, 0.5]), 4, 40_000
    rng = np.random.default_rng(0)
    right = rng.random((draws, group, 3)) < p
    reached = np.cumprod(right, -1)
    visited = np.concatenate([np.ones((draws, group, 1)), reached[..., :-1]], -1)
    advantage = group_advantages(reached[..., -1].astype(float))
    # d log pi(action) / du at every visited state.
    score = visited * (right - p)
    found = (advantage[..., None] * score).mean(1)
    error = found.std(0) / np.sqrt(draws)
    assert (np.abs(found.mean(0) - outcome_update(p, group)) < 4 * error).all()


def test_first_step_by_hand():
    """One state, K = 1: outcome and recovery add up in the logit."""
    options = {"needed": 1, "start": 0.5, "hinted": 0.9, "rate": 0.1, "steps": 1}
    before, after = repair_path(1, 2.0, delta=1.0, group=8, **options)
    assert before == pytest.approx(0.5)
    # weights: log(.9/.5) = .588 and log(.1/.5) = -1.609, clipped to -1
    weighted = np.array([0.9 * np.log(1.8), 0.1 * -1.0])
    recovery = weighted[0] - 0.5 * weighted.sum()
    outcome = expected_update(0.5, 8, divide=True)
    assert after == pytest.approx(expit(0.1 * (outcome + 2.0 * recovery)))


def test_outcomes_alone_never_start_and_turns_start_it():
    ends = [repair_path(k, 1.0)[-1] for k in range(4)]
    assert ends[0] < 0.001 < ends[1] < 0.01 and min(ends[2:]) > 0.5


def test_the_weight_is_a_speed_and_does_not_replace_a_turn():
    slow, fast = repair_path(2, 0.25), repair_path(2, 4.0)
    assert (fast[1:30] > slow[1:30]).all()
    assert repair_path(1, 16.0)[-1] < repair_path(2, 0.25)[-1]


def test_turns_beyond_the_repair_change_nothing():
    assert np.array_equal(repair_path(3, 1.0), repair_path(7, 1.0))


def test_negative_values_are_refused():
    with pytest.raises(ValueError, match="K=-1"):
        repair_path(-1, 1.0)
    with pytest.raises(ValueError, match="w_rec=-1"):
        repair_path(1, -1.0)
