import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, ttest_1samp

from pivotlab.intervals import (
    bootstrap_mean,
    newcombe,
    paired_difference,
    t_mean,
    wilson,
)


def test_wilson_by_hand():
    # 81 of 263 is the worked example of Newcombe (1998a): 0.2553 to 0.3662.
    assert wilson(81, 263).lo == pytest.approx(0.2553, abs=5e-5)
    assert wilson(81, 263).hi == pytest.approx(0.3662, abs=5e-5)
    assert wilson(0, 10) == pytest.approx((0.0, 0.0, 0.27753), abs=1e-5)


@given(st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_equals_scipy(counts):
    k, n = counts
    theirs = binomtest(k, n).proportion_ci(0.9, method="wilson")
    assert wilson(k, n, 0.9)[1:] == pytest.approx((theirs.low, theirs.high), abs=1e-9)


def test_newcombe_by_hand():
    # Newcombe (1998a), contrast a: 56/70 - 48/80, 0.0524 to 0.3339.
    assert newcombe(56, 70, 48, 80) == pytest.approx((0.2, 0.0524, 0.3339), abs=5e-5)


def _pairs(both: int, only_a: int, only_b: int, neither: int):
    rows = [(1, 1)] * both + [(1, 0)] * only_a + [(0, 1)] * only_b + [(0, 0)] * neither
    return [r[0] for r in rows], [r[1] for r in rows]


def test_paired_difference_by_hand():
    # With phi = 0 (product table) the paired interval is the unpaired one.
    a, b = _pairs(25, 25, 25, 25)
    assert paired_difference(a, b) == pytest.approx(newcombe(50, 100, 50, 100))
    # Agreement narrows it: phi = (12*14 - 9*1 - 36/2) / sqrt(21*15*13*23) = 0.459.
    a, b = _pairs(12, 9, 1, 14)
    paired, free = paired_difference(a, b), newcombe(21, 36, 13, 36)
    assert paired.value == pytest.approx(8 / 36)
    assert paired.hi - paired.lo < 0.85 * (free.hi - free.lo)


def test_paired_difference_of_identical_outcomes_contains_zero_only_nearly():
    a, b = _pairs(30, 0, 0, 20)
    interval = paired_difference(a, b)
    assert interval.value == 0
    assert interval.lo == pytest.approx(-interval.hi)
    assert interval.hi < newcombe(30, 50, 30, 50).hi / 2


def test_bootstrap_clusters_widen():
    rng = np.random.default_rng(0)
    level = rng.normal(size=20)
    values = np.repeat(level, 10)
    clusters = np.repeat(np.arange(20), 10)
    free = bootstrap_mean(values, seed=1)
    honest = bootstrap_mean(values, list(clusters), seed=1)
    assert free.value == honest.value == pytest.approx(values.mean())
    # Ten copies of each value carry no information: the interval is sqrt(10) wider.
    ratio = (honest.hi - honest.lo) / (free.hi - free.lo)
    assert ratio == pytest.approx(np.sqrt(10), rel=0.15)


def test_bootstrap_covers():
    inside = 0
    for trial in range(200):
        x = np.random.default_rng(trial).exponential(size=60)
        interval = bootstrap_mean(x, draws=500, seed=trial)
        inside += interval.lo <= 1.0 <= interval.hi
    assert 0.87 <= inside / 200 <= 0.99


@pytest.mark.parametrize("k, n", [(1, 0), (-1, 5), (6, 5)])
def test_impossible_counts_are_named(k, n):
    with pytest.raises(ValueError, match=f"{k} of {n}"):
        wilson(k, n)


def test_t_mean_by_hand():
    # t(1, 0.975) = 12.706, standard error 1.
    assert t_mean([1.0, 3.0]) == pytest.approx((2.0, -10.706, 14.706), abs=1e-3)
    with pytest.raises(ValueError, match="over 1 values"):
        t_mean([1.0])


@given(st.lists(st.floats(-9, 9), min_size=2, max_size=9), st.floats(0.5, 0.99))
def test_t_mean_equals_scipy(values, level):
    theirs = ttest_1samp(np.array([*values, 10.0]), 0.0).confidence_interval(level)
    found = t_mean([*values, 10.0], level)
    assert found[1:] == pytest.approx((theirs.low, theirs.high), abs=1e-9)
