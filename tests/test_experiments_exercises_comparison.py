"""The checkers of notebook 05 recognise the mistakes they list."""

import numpy as np
import pytest

from pivotlab.experiments.exercises import comparison as exercises


def slope(w, advantage, eps):
    h, low, high = 1e-6, 1 - eps, 1 + eps

    def objective(ratio):
        return min(ratio * advantage, min(max(ratio, low), high) * advantage)

    return round((objective(w + h) - objective(w - h)) / (2 * h), 6)


def kept(success, skills, level):
    for i in range(len(success)):
        if success[i] >= level:
            j = max(i - 1, 0)
            return np.interp(level, [success[j], success[i]], [skills[j], skills[i]])
    return np.nan


def paired(one, other):
    quantile = {3: 4.302653, 5: 2.776445}[len(one)]  # t tables, n - 1 degrees
    gaps = np.array(one) - np.array(other)
    reach = quantile * (gaps.var(ddof=1) / len(gaps)) ** 0.5
    return gaps.mean() - reach, gaps.mean() + reach


def test_independent_answers_pass():
    assert exercises.surrogate_slope(slope)
    assert exercises.kept_at_success(kept)
    assert exercises.paired_interval(paired)


@pytest.mark.parametrize(
    "checker, attempt, diagnosis",
    [
        (
            exercises.surrogate_slope,
            lambda w, a, eps: a if abs(w - 1) <= eps else 0.0,
            "on one side only",
        ),
        (exercises.surrogate_slope, lambda w, a, eps: a, "Nothing is clipped"),
        (
            exercises.surrogate_slope,
            lambda w, a, eps: 0.0 if (w < 0.8 if a > 0 else w > 1.2) else a,
            "sides are swapped",
        ),
        (
            exercises.kept_at_success,
            lambda s, k, level: np.interp(level, s, k),
            "rising order",
        ),
        (
            exercises.kept_at_success,
            lambda s, k, level: next(
                (b for a, b in zip(s, k, strict=True) if a >= level), np.nan
            ),
            "interpolate",
        ),
        (
            exercises.kept_at_success,
            lambda s, k, level: kept(s, k, level) if max(s) >= level else k[-1],
            "NaN, not the last",
        ),
        (
            exercises.paired_interval,
            lambda a, b: tuple(
                np.subtract(a, b).mean()
                + sign * 1.96 * np.subtract(a, b).std(ddof=1) / len(a) ** 0.5
                for sign in (-1, 1)
            ),
            "Student's t",
        ),
    ],
)
def test_mistake_is_diagnosed(checker, attempt, diagnosis):
    with pytest.raises(AssertionError, match=diagnosis):
        checker(attempt)
