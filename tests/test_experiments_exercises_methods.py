"""The checkers of notebook 08 recognise the mistakes they list."""

import math

import pytest

from pivotlab.experiments.exercises import methods as exercises


def clip(x, eps):
    return min(max(x, 1 - eps), 1 + eps)


def rlsd(a, gap, eps, lam):
    signed = math.copysign(1, a) * gap
    return a * (1 + lam * (clip(math.exp(signed), eps) - 1))


def gate(s, t, b):
    return 0.5 * (1 + math.tanh(b * (t - s) / 2))


@pytest.mark.parametrize(
    "checker, attempt, diagnosis",
    [
        (
            exercises.rlsd_advantage,
            lambda a, g, e, lam: a * ((1 - lam) + lam * clip(math.exp(g), e)),
            "sign of A belongs into the exponent",
        ),
        (
            exercises.rlsd_advantage,
            lambda a, g, e, lam: a * clip(math.exp(math.copysign(1, a) * g), e),
            "That is lam = 1",
        ),
        (
            exercises.sdar_slope,
            lambda s, t, c, b: -c * gate(s, t, b) * (t - s),
            "reverse-KL gradient",
        ),
        (exercises.sdar_slope, lambda s, t, c, b: c * gate(s, t, b), "with a minus"),
    ],
)
def test_mistake_is_diagnosed(checker, attempt, diagnosis):
    with pytest.raises(AssertionError, match=diagnosis):
        checker(attempt)


def test_right_answers_pass():
    assert exercises.rlsd_advantage(rlsd)
    assert exercises.sdar_slope(lambda s, t, c, b: -c * gate(s, t, b))
