"""The checkers of notebooks 06 and 07 recognise the mistakes they list."""

import pytest

from pivotlab.experiments.exercises import opd as exercises


def late(remaining):
    for turn in range(1, len(remaining)):
        if remaining[turn] > remaining[turn - 1]:
            return turn
    return -1


@pytest.mark.parametrize(
    "checker, attempt, diagnosis",
    [
        (exercises.first_pivot, late, "the pivot is t, not t \\+ 1"),
        (
            exercises.recovery_advantage,
            lambda q, p, w, d: w * max(-d, min(d, p - q)),
            "not the other way round",
        ),
        (
            exercises.recovery_advantage,
            lambda q, p, w, d: w * min(d, q - p),
            "from below as well",
        ),
    ],
)
def test_mistake_is_diagnosed(checker, attempt, diagnosis):
    with pytest.raises(AssertionError, match=diagnosis):
        checker(attempt)


def test_right_answers_pass():
    assert exercises.recovery_advantage(lambda q, p, w, d: w * max(-d, min(d, q - p)))
    assert exercises.first_pivot(lambda r: late(r) - 1 if late(r) > 0 else -1)
