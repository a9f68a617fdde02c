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


def repair(p, d, k, group):
    """By adding up the plays before the first repair."""
    one = p ** (d - k) if d > k else 1.0
    return sum((1 - one) ** i * one for i in range(group))


def gain(with_it, without):
    pairs = zip(with_it, without, strict=True)
    rates = [sum(a) / len(a) - sum(b) / len(b) for a, b in pairs]
    return sum(rates) / len(rates)


@pytest.mark.parametrize(
    "checker, attempt, diagnosis",
    [
        (
            exercises.paired_effect,
            lambda a, b: sum(map(sum, a)) / sum(map(len, a)),
            "Work one case",
        ),
        (
            exercises.paired_effect,
            lambda a, b: (
                sum(map(sum, a)) / sum(map(len, a))
                - sum(map(sum, b)) / sum(map(len, b))
            ),
            "rate of each mistake first",
        ),
        (exercises.paired_effect, lambda a, b: gain(b, a), "other way round"),
        (
            exercises.chance_of_repair,
            lambda p, d, k, g: repair(p, d, 0, g),
            "K recovery",
        ),
        (
            exercises.chance_of_repair,
            lambda p, d, k, g: 1 - (1 - p ** (d - k)) ** g,
            "negative power",
        ),
        (
            exercises.step_loss,
            lambda rows: -sum(sum(r) / len(r) for r in rows) / len(rows),
            "mean over rows",
        ),
        (
            exercises.step_loss,
            lambda rows: sum(map(sum, rows)) / sum(map(len, rows)),
            "with a minus",
        ),
    ],
)
def test_mistake_of_the_later_exercises_is_diagnosed(checker, attempt, diagnosis):
    with pytest.raises(AssertionError, match=diagnosis):
        checker(attempt)


def test_right_answers_pass():
    assert exercises.paired_effect(gain)
    assert exercises.chance_of_repair(repair)
    assert exercises.step_loss(lambda rows: -sum(map(sum, rows)) / sum(map(len, rows)))
    assert exercises.recovery_advantage(lambda q, p, w, d: w * max(-d, min(d, q - p)))
    assert exercises.first_pivot(lambda r: late(r) - 1 if late(r) > 0 else -1)
