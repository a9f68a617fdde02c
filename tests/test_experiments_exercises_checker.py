"""The exercise checker: silent on stubs, precise on mistakes."""

import numpy as np
import pytest

from pivotlab.experiments.exercises.checker import check


def square(x):
    return x * x


CASES = [(2.0,), (3.0,)]


def stub(x):
    raise NotImplementedError


def test_a_stub_is_not_an_error(capsys):
    assert check("exercise 1", stub, CASES, square) is False
    assert capsys.readouterr().out == "exercise 1: not attempted yet\n"


def test_a_right_answer_is_counted(capsys):
    assert check("exercise 1", lambda x: x**2, CASES, square) is True
    assert capsys.readouterr().out == "exercise 1: solved, 2 cases agree\n"


def test_arrays_are_compared_entry_by_entry():
    cases = [(2,)]
    assert check("e", lambda n: np.arange(n), cases, lambda n: [0, 1])
    with pytest.raises(AssertionError, match=r"expected \[0 1\]"):
        check("e", lambda n: [0, 2], cases, lambda n: [0, 1])


def test_a_known_mistake_gets_its_diagnosis():
    mistakes = {"You doubled it.": lambda x: 2 * x}
    # 2 * 2 = 2 ** 2: the first case alone would not tell.
    with pytest.raises(AssertionError) as error:
        check("exercise 1", lambda x: x + x, CASES, square, mistakes)
    assert str(error.value) == (
        "exercise 1: for (3) you return 6, expected 9. You doubled it."
    )


def test_an_unknown_mistake_and_a_missing_return_are_reported():
    with pytest.raises(AssertionError, match="Work one case by hand"):
        check("e", lambda x: 1.0, CASES, square, {"doubled": lambda x: 2 * x})
    with pytest.raises(AssertionError, match="you return None"):
        check("e", lambda x: None, CASES, square)
