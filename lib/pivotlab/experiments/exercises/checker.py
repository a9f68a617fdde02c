"""Checks an exercise's answer and says what is wrong with it, not only that it is.

In a notebook an exercise is a stub that raises `NotImplementedError`, a call of
`check`, and a solution folded away below it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np


def check(
    title: str,
    attempt: Callable[..., Any],
    cases: Sequence[tuple],
    truth: Callable[..., Any],
    mistakes: Mapping[str, Callable[..., Any]] | None = None,
    rtol: float = 1e-6,
) -> bool:
    """Compare an attempt with the truth on every case.

    Args:
        title: printed in front of the verdict.
        attempt: the reader's function.
        cases: argument tuples.
        truth: the right function.
        mistakes: diagnosis -> function with that mistake; the diagnosis is given when
            the attempt agrees with it on all cases.
        rtol: allowed relative error.

    Returns:
        True when solved, False when not attempted yet (the stub raises
        `NotImplementedError`).

    Raises:
        AssertionError: wrong; the message names the first wrong case and the diagnosis.
    """
    try:
        answers = [attempt(*case) for case in cases]
    except NotImplementedError:
        print(f"{title}: not attempted yet")
        return False
    expected = [truth(*case) for case in cases]
    for case, answer, right in zip(cases, answers, expected, strict=True):
        if not _close(answer, right, rtol):
            arguments = ", ".join(map(_short, case))
            reason = _diagnose(cases, answers, mistakes or {}, rtol)
            raise AssertionError(
                f"{title}: for ({arguments}) you return {_short(answer)}, "
                f"expected {_short(right)}. {reason}"
            )
    print(f"{title}: solved, {len(cases)} cases agree")
    return True


def _diagnose(cases, answers, mistakes, rtol) -> str:
    for diagnosis, wrong in mistakes.items():
        pairs = zip(answers, (wrong(*case) for case in cases), strict=True)
        if all(_close(answer, guess, rtol) for answer, guess in pairs):
            return diagnosis
    return "Work one case by hand and compare."


def _close(answer: Any, right: Any, rtol: float) -> bool:
    try:
        return bool(np.allclose(answer, right, rtol, atol=1e-12, equal_nan=True))
    except (TypeError, ValueError):
        return False


def _short(value: Any) -> str:
    if isinstance(value, (np.ndarray, list, tuple)):
        try:
            return np.array2string(np.asarray(value), precision=4)
        except ValueError:  # lists of different lengths
            return repr(value)
    return f"{value:.6g}" if isinstance(value, (int, float)) else repr(value)
