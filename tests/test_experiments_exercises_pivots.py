"""The checker of notebook 04 accepts the truth and names the known mistakes."""

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import binom

from pivotlab.experiments.exercises import pivots as exercises_pivots


def answer(low, strict):
    def attempt(rate, k, cut):
        good = [s for s in range(low, k) if (s / k < cut if strict else s / k <= cut)]
        return binom.pmf(good, k, rate).sum()

    return attempt


def test_the_truth_passes_and_a_stub_is_not_attempted(capsys):
    def stub(rate, k, cut):
        raise NotImplementedError

    assert exercises_pivots.kept_probability(answer(1, True))
    assert not exercises_pivots.kept_probability(stub)
    assert "not attempted" in capsys.readouterr().out


@pytest.mark.parametrize(
    "attempt, hint", [(answer(0, True), "no variance"), (answer(1, False), "strict")]
)
def test_mistakes_are_named(attempt, hint):
    with pytest.raises(AssertionError, match=hint):
        exercises_pivots.kept_probability(attempt)


def counted(s, total, k):
    """Over all subsets, one by one."""
    rewards = [1] * s + [0] * (total - s)
    chosen = list(combinations(rewards, k))
    return sum(len(set(c)) == 1 for c in chosen) / len(chosen)


def integrated(s, k, a, b):
    """Bayes on a grid of pass rates."""
    p = (np.arange(400_000) + 0.5) / 400_000
    weight = p ** (a + s - 1) * (1 - p) ** (b + k - s - 1)
    return float((p * weight).sum() / weight.sum())


def test_independent_answers_pass():
    assert exercises_pivots.silent_subset(counted)
    # The grid is exact to 1e-4 where the density has a pole.
    for case in ((1, 8, 0.3, 0.3), (9, 16, 0.3, 0.3)):
        s, k, a, b = case
        assert integrated(*case) == pytest.approx((a + s) / (a + b + k), rel=1e-4)
    assert exercises_pivots.second_look(lambda s, k, a, b: (a + s) / (a + b + k))


@pytest.mark.parametrize(
    "checker, attempt, hint",
    [
        (
            exercises_pivots.silent_subset,
            lambda s, n, k: (s / n) ** k + (1 - s / n) ** k,
            "without replacement",
        ),
        (
            exercises_pivots.silent_subset,
            lambda s, n, k: 1 - counted(s, n, k),
            "differ",
        ),
        (exercises_pivots.second_look, lambda s, k, a, b: s / k, "part of it is luck"),
        (
            exercises_pivots.second_look,
            lambda s, k, a, b: (b + s) / (a + b + k),
            "swapped",
        ),
    ],
)
def test_mistakes_of_the_later_exercises_are_named(checker, attempt, hint):
    with pytest.raises(AssertionError, match=hint):
        checker(attempt)
