"""Checkers for the exercises of notebook 08; see `exercises.check`."""

from __future__ import annotations

import math
from collections.abc import Callable

from pivotlab.experiments.exercises.checker import check


def rlsd_advantage(attempt: Callable) -> bool:
    """A ((1 - lam) + lam w), w = clip(exp(sign(A) gap), 1 - eps, 1 + eps)."""

    def sign(x: float) -> int:
        return (x > 0) - (x < 0)

    def weight(exponent: float, eps: float) -> float:
        return min(max(math.exp(exponent), 1 - eps), 1 + eps)

    def right(a: float, gap: float, eps: float, lam: float) -> float:
        return a * ((1 - lam) + lam * weight(sign(a) * gap, eps))

    return check(
        "exercise 1",
        attempt,
        [
            (1.0, math.log(2), 0.2, 0.5),
            (-1.0, math.log(2), 0.2, 0.5),
            (2.0, -0.1, 0.2, 1.0),
            (0.0, 3.0, 0.2, 0.5),
        ],
        right,
        {
            "The sign of A belongs into the exponent: a token the teacher likes is "
            "punished less when the episode was lost.": lambda a, gap, eps, lam: (
                a * ((1 - lam) + lam * weight(gap, eps))
            ),
            "The weight is not clipped to 1 - eps .. 1 + eps.": (
                lambda a, gap, eps, lam: a * ((1 - lam) + lam * math.exp(sign(a) * gap))
            ),
            "That is lam = 1; a share 1 - lam of A stays as it is.": (
                lambda a, gap, eps, lam: a * weight(sign(a) * gap, eps)
            ),
        },
    )


def sdar_slope(attempt: Callable) -> bool:
    """d loss / d student of c g (teacher - student), the gate without gradient."""

    def gate(student: float, teacher: float, b: float) -> float:
        return 1 / (1 + math.exp(-b * (teacher - student)))

    def right(student: float, teacher: float, c: float, b: float) -> float:
        return -c * gate(student, teacher, b)

    return check(
        "exercise 2",
        attempt,
        [(-1.2, -1.0, 0.01, 5.0), (-1.0, -3.0, 0.01, 5.0), (-2.0, -2.0, 1.0, 1.0)],
        right,
        {
            "That is the reverse-KL gradient, which changes sign with the gap; here "
            "the gap stands in the value only.": lambda s, t, c, b: (
                -c * gate(s, t, b) * (t - s)
            ),
            "The student enters with a minus: raising it lowers the loss.": (
                lambda s, t, c, b: c * gate(s, t, b)
            ),
            "The gate carries no gradient; do not differentiate it.": (
                lambda s, t, c, b: (
                    -c * gate(s, t, b) * (1 + b * (1 - gate(s, t, b)) * (t - s))
                )
            ),
        },
    )
