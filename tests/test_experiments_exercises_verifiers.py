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
