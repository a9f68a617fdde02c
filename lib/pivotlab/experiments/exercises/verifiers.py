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


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_same(a[k], b[k]) for k in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_same, a, b))
    return a == b
