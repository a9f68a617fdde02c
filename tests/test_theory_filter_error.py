"""The filter of Eq. (5) as a random set: golden values, enumeration, simulation."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pivotlab.theory.filter_error import (
    constant_probability,
    keep_probability,
    kept_counts,
    kept_rate_law,
    kept_size_law,
    profile_mean_if_kept,
)

RATES = st.floats(0.001, 0.999)


@pytest.mark.parametrize(
    "rate, golden, tolerance",
    [
        (0.18, (0.705, 0.453, 0.204, 0.042), 5e-4),
        (0.05, (0.905, 0.815, 0.663, 0.440), 5e-4),
        (0.50, (0.500, 0.125, 0.008, 0.00003), 5e-4),
    ],
)
def test_golden_table_of_constant_looking_turns(rate, golden, tolerance):
    computed = [constant_probability(rate, k) for k in (2, 4, 8, 16)]
    assert computed == pytest.approx(golden, abs=tolerance)
    assert constant_probability(0.5, 16) == pytest.approx(2 * 0.5**16, rel=1e-12)


def test_sixteen_samples_and_the_paper_cutoff_keep_one_to_nine():
    assert np.flatnonzero(kept_counts(16, 0.6)).tolist() == list(range(1, 10))


def test_the_cutoff_is_strict_where_the_mean_hits_it_exactly():
    assert np.flatnonzero(kept_counts(5, 0.6)).tolist() == [1, 2]
    assert np.flatnonzero(kept_counts(4, 1.0)).tolist() == [1, 2, 3]


@pytest.mark.parametrize("rate", [0.07, 0.4, 0.8])
def test_keep_probability_against_all_outcomes(rate):
    kept, mean = 0.0, 0.0
    for outcome in itertools.product([0, 1], repeat=6):
        weight = np.prod([rate if r else 1 - rate for r in outcome])
        mu, sigma2 = np.mean(outcome), np.var(outcome)
        if sigma2 > 0 and mu < 0.6:
            kept += weight
            mean += weight * mu
    assert keep_probability(rate, 6, 0.6) == pytest.approx(kept)
    assert profile_mean_if_kept(rate, 6, 0.6) == pytest.approx(mean / kept)


@given(RATES, st.integers(2, 32))
def test_without_a_cutoff_kept_means_mixed(rate, k):
    mixed = 1 - constant_probability(rate, k)
    assert keep_probability(rate, k, 1.0) == pytest.approx(mixed, abs=1e-12)


@given(st.lists(RATES, min_size=1, max_size=12), st.integers(2, 16))
def test_kept_size_law_is_a_law_with_the_right_mean_and_variance(rates, k):
    rates = np.array(rates)
    law = kept_size_law(rates, k, 0.6)
    keep = keep_probability(rates, k, 0.6)
    sizes = np.arange(len(rates) + 1)
    assert law.sum() == pytest.approx(1)
    assert law @ sizes == pytest.approx(keep.sum())
    variance = law @ (sizes - law @ sizes) ** 2
    assert variance == pytest.approx((keep * (1 - keep)).sum(), abs=1e-12)


def test_laws_against_simulation():
    """40,000 profilings of five turns: sizes, kept rates and their profiled means."""
    rng = np.random.default_rng(0)
    rates, k, n = np.array([0.02, 0.2, 0.5, 0.55, 0.95]), 8, 40_000
    mu = rng.binomial(k, rates, size=(n, 5)) / k
    kept = (mu > 0) & (mu < 1) & (mu < 0.6)
    sizes = np.bincount(kept.sum(1), minlength=6) / n
    assert sizes == pytest.approx(kept_size_law(rates, k, 0.6), abs=5 * 0.5 / n**0.5)
    share = kept.sum(0) / kept.sum()
    law = kept_rate_law(np.full(5, 0.2), rates, k, 0.6)
    assert share == pytest.approx(law, abs=0.01)
    for turn in range(4):
        simulated = mu[kept[:, turn], turn].mean()
        expected = profile_mean_if_kept(rates[turn], k, 0.6)
        assert simulated == pytest.approx(expected, abs=0.01)


def test_profiled_means_of_kept_turns_regress():
    hard, near = profile_mean_if_kept(np.array([0.02, 0.59]), 8, 0.6)
    assert hard > 0.12 and near < 0.52


def test_population_that_can_never_be_kept_is_named():
    with pytest.raises(ValueError, match="K=8, lambda_diff=0.6"):
        kept_rate_law(np.array([0.5, 0.5]), np.array([0.0, 1.0]), 8, 0.6)
