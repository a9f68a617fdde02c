"""Checkers for the exercises of notebook 03; see `exercises.check`."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from pivotlab.experiments.exercises.checker import check

#: (gold, said) argument objects.
CASES: tuple[tuple[dict[str, Any], dict[str, Any]], ...] = (
    ({"city": "Graz", "days": 2}, {"days": 2, "city": "Graz"}),
    ({"days": 5}, {"days": 5.0}),
    ({"days": 1}, {"days": True}),
    ({"city": "Graz"}, {"city": "Graz", "days": 2}),
    ({"city": "Graz", "days": 2}, {"city": "Graz"}),
    ({"city": "Graz"}, {"city": "Wien"}),
    ({"stops": ["Graz", "Wien"]}, {"stops": ["Graz", "Wien"]}),
)


def same_arguments(attempt: Callable[[dict, dict], bool]) -> bool:
    """Do two argument objects say the same (numbers by value, booleans apart)?"""
    return check(
        "exercise 1",
        attempt,
        CASES,
        _same,
        {
            "In Python True == 1; a flag is no number.": lambda a, b: a == b,
            "5 and 5.0 are one number: compare values, not text.": (
                lambda a, b: (
                    json.dumps(a, sort_keys=True) == json.dumps(b, sort_keys=True)
                )
            ),
            "The other action says more than the demonstrated one.": (
                lambda a, b: all(k in b and _same(a[k], b[k]) for k in a)
            ),
            "The other action leaves something out.": (
                lambda a, b: all(k in a and _same(a[k], b[k]) for k in b)
            ),
        },
    )


def miss_rate(attempt: Callable) -> bool:
    """Pr[strict = 0 | functional = 1] from two lists of rewards of the same actions;
    NaN if nothing is functionally right."""

    def missed(strict, functional, of=None) -> float:
        right = [s for s, f in zip(strict, functional, strict=True) if f >= 1.0]
        if not right:
            return float("nan")
        return sum(s < 1.0 for s in right) / len(of or right)

    return check(
        "exercise 2",
        attempt,
        [
            ([1, 0, 0, 0], [1, 1, 1, 1]),
            ([1, 0, 0, 0], [1, 1, 0, 0]),
            ([0, 0], [0, 0]),
            ([1, 1, 0], [1, 1, 0.5]),
        ],
        missed,
        {
            "The condition is functionally right; leave the other actions out of the "
            "denominator.": lambda strict, functional: missed(
                strict, functional, strict
            ),
            "That is the share exact match rejects of all actions.": (
                lambda strict, functional: sum(s < 1.0 for s in strict) / len(strict)
            ),
            "That is the share exact match finds; the miss rate is the rest.": (
                lambda strict, functional: 1 - missed(strict, functional)
            ),
        },
    )


def precision_recall(attempt: Callable) -> bool:
    """(precision, recall) of verdicts, from (said, is_right), two lists of booleans.

    NaN where there is nothing to divide by.
    """

    def share(of: list[bool], hits: int) -> float:
        return hits / sum(of) if sum(of) else float("nan")

    def quality(said: list[bool], is_right: list[bool]) -> tuple[float, float]:
        hits = sum(a and b for a, b in zip(said, is_right, strict=True))
        return share(said, hits), share(is_right, hits)

    def accuracy(said: list[bool], is_right: list[bool]) -> float:
        return sum(a == b for a, b in zip(said, is_right, strict=True)) / len(said)

    return check(
        "exercise 3",
        attempt,
        [
            ([True, True, False, False], [True, False, True, True]),
            ([True, True, True, False, False], [True, True, False, False, False]),
            ([False, False], [True, False]),
        ],
        quality,
        {
            "Precision divides by what was accepted, recall by what is right; you have "
            "them swapped.": lambda said, right: quality(said, right)[::-1],
            "True negatives are in neither; that is accuracy.": (
                lambda said, right: (accuracy(said, right),) * 2
            ),
        },
    )


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_same(a[k], b[k]) for k in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_same, a, b))
    return a == b
