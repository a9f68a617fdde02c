"""The checkers of notebook 09 recognise the mistakes they list."""

from itertools import combinations
from math import comb

import numpy as np
import pytest

from pivotlab.experiments.exercises import recovery as exercises


def interval(won, draws):
    means = sorted(np.mean([won[i].mean() for i in draw]) for draw in draws)
    return np.quantile(means, [0.025, 0.975])


def chance(turns, pivot, m):
    sets = list(combinations(range(turns), m))
    return np.mean([any(abs(t - pivot) <= 1 for t in chosen) for chosen in sets])


def sign(better, worse, same):
    n = better + worse
    tail = sum(comb(n, k) for k in range(max(better, worse), n + 1)) / 2**n
    return min(1.0, 2 * tail)


def test_independent_answers_pass():
    assert exercises.cluster_interval(interval)
    assert exercises.chance_of_a_hit(chance)
    assert exercises.sign_test(sign)


@pytest.mark.parametrize(
    "checker, attempt, diagnosis",
    [
        (
            exercises.cluster_interval,
            lambda won, draws: np.percentile(won.mean(1)[draws].mean(1), [5, 95]),
            "2.5th",
        ),
        (
            exercises.cluster_interval,
            lambda won, draws: np.percentile(won.mean(1)[draws], [2.5, 97.5]),
            "mean of each resample",
        ),
        (
            exercises.chance_of_a_hit,
            lambda turns, pivot, m: 1 - comb(turns - 3, m) / comb(turns, m),
            "two turns, not three",
        ),
        (exercises.sign_test, lambda b, w, s: sign(b, w, s) / 2, "Work one case"),
        (
            exercises.sign_test,
            lambda b, w, s: sign(b + s, w, 0),
            "Work one case",
        ),
    ],
)
def test_mistake_is_diagnosed(checker, attempt, diagnosis):
    with pytest.raises(AssertionError, match=diagnosis):
        checker(attempt)
