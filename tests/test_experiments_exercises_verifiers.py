"""The checker of notebook 03 accepts the truth and names the known mistakes."""

import json

import pytest

from pivotlab.experiments.exercises import verifiers as exercises


def as_text(a, b):
    return json.dumps(a, sort_keys=True) == json.dumps(b, sort_keys=True)


def test_the_truth_passes_and_a_stub_is_not_attempted(capsys):
    def stub(a, b):
        raise NotImplementedError

    assert exercises.same_arguments(exercises._same)
    assert not exercises.same_arguments(stub)
    assert "not attempted" in capsys.readouterr().out


@pytest.mark.parametrize(
    "attempt, hint",
    [
        (lambda a, b: a == b, "True == 1"),
        (as_text, "5 and 5.0"),
        (
            lambda a, b: all(k in b and exercises._same(a[k], b[k]) for k in a),
            "says more",
        ),
        (
            lambda a, b: all(k in a and exercises._same(a[k], b[k]) for k in b),
            "leaves something out",
        ),
    ],
)
def test_mistakes_are_named(attempt, hint):
    with pytest.raises(AssertionError, match=hint):
        exercises.same_arguments(attempt)


def missed(strict, functional):
    right = [s for s, f in zip(strict, functional, strict=True) if f == 1]
    return right.count(0) / len(right) if right else float("nan")


def quality(said, right):
    pairs = list(zip(said, right, strict=True))
    hits, wrong, lost = (
        pairs.count(p) for p in ((True, True), (True, False), (False, True))
    )
    nan = float("nan")
    return (
        hits / (hits + wrong) if hits + wrong else nan,
        hits / (hits + lost) if hits + lost else nan,
    )


def test_independent_answers_pass():
    assert exercises.miss_rate(missed)
    assert exercises.precision_recall(quality)


@pytest.mark.parametrize(
    "checker, attempt, hint",
    [
        (
            exercises.miss_rate,
            lambda strict, functional: strict.count(0) / len(strict),
            "of all actions",
        ),
        (
            exercises.miss_rate,
            lambda strict, functional: 1 - missed(strict, functional),
            "is the rest",
        ),
        (exercises.precision_recall, lambda a, b: quality(b, a), "swapped"),
    ],
)
def test_mistakes_of_the_later_exercises_are_named(checker, attempt, hint):
    with pytest.raises(AssertionError, match=hint):
        checker(attempt)
