"""Checkers for the exercises of notebook 05; see `exercises.check`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.stats import t as student_t

from pivotlab.experiments.exercises.checker import check


def surrogate_slope(attempt: Callable) -> bool:
    """d/dw of min(w A, clip(w, 1 - eps, 1 + eps) A) at a ratio w, from (w, A, eps)."""

    def slope(w: float, advantage: float, eps: float) -> float:
        held = w > 1 + eps if advantage > 0 else w < 1 - eps
        return 0.0 if held else advantage

    def both(w: float, advantage: float, eps: float) -> float:
        return advantage if 1 - eps <= w <= 1 + eps else 0.0

    return check(
        "exercise 1",
        attempt,
        [
            (1.0, 2.0, 0.2),
            (1.5, 2.0, 0.2),
            (0.5, 2.0, 0.2),
            (1.5, -1.0, 0.2),
            (0.5, -1.0, 0.2),
        ],
        slope,
        {
            "The minimum clips on one side only: a ratio that went the wrong way is "
            "still pulled back.": both,
            "The sides are swapped: a success is held from above, a failure from "
            "below.": (
                lambda w, advantage, eps: (
                    0.0
                    if (w < 1 - eps if advantage > 0 else w > 1 + eps)
                    else advantage
                )
            ),
            "Nothing is clipped here; where is the objective flat?": (
                lambda w, advantage, eps: advantage
            ),
        },
    )


def kept_at_success(attempt: Callable) -> bool:
    """Skills kept when the success curve first reaches a level, linear in between.

    From (success, skills, level): equally long curves over the same steps; NaN if the
    level is never reached.
    """

    def reading(success, skills, level, exact: bool = True) -> float:
        for i, value in enumerate(success):
            if value >= level:
                if i == 0 or not exact:
                    return float(skills[i])
                share = (level - success[i - 1]) / (value - success[i - 1])
                return float(skills[i - 1] + share * (skills[i] - skills[i - 1]))
        return float("nan")

    return check(
        "exercise 2",
        attempt,
        [
            ([0.2, 0.4, 0.6, 0.8], [0.9, 0.8, 0.6, 0.5], 0.5),
            ([0.2, 0.6, 0.5], [0.9, 0.7, 0.6], 0.55),
            ([0.3, 0.4], [0.9, 0.8], 0.2),
            ([0.1, 0.2, 0.3], [0.9, 0.9, 0.8], 0.5),
        ],
        reading,
        {
            "That is the first evaluated step at or above the level; interpolate to "
            "the level itself.": (
                lambda success, skills, level: reading(success, skills, level, False)
            ),
            "np.interp wants success in rising order and answers beyond its ends; on a "
            "curve that dips take the first crossing.": (
                lambda success, skills, level: float(np.interp(level, success, skills))
            ),
            "A level that is never reached has no reading: NaN, not the last value.": (
                lambda success, skills, level: (
                    reading(success, skills, level)
                    if max(success) >= level
                    else float(skills[-1])
                )
            ),
        },
    )


def paired_interval(attempt: Callable) -> bool:
    """95 % t interval (low, high) of the mean difference of two arms, by seed.

    From (one, other): success of the two arms, entry i of both from seed i.
    """

    def interval(one, other, ddof: int = 1, quantile: str = "t") -> tuple[float, float]:
        gaps = np.subtract(one, other)
        error = gaps.std(ddof=ddof) / np.sqrt(len(gaps))
        reach = student_t.ppf(0.975, len(gaps) - 1) if quantile == "t" else 1.96
        return gaps.mean() - reach * error, gaps.mean() + reach * error

    def unpaired(one, other) -> tuple[float, float]:
        gap = np.mean(one) - np.mean(other)
        error = np.sqrt((np.var(one, ddof=1) + np.var(other, ddof=1)) / len(one))
        reach = student_t.ppf(0.975, len(one) - 1)
        return gap - reach * error, gap + reach * error

    return check(
        "exercise 3",
        attempt,
        [
            ([0.62, 0.55, 0.70], [0.58, 0.52, 0.65]),
            ([0.4, 0.5, 0.6, 0.7, 0.8], [0.5, 0.45, 0.65, 0.6, 0.7]),
        ],
        interval,
        {
            "With few seeds the normal 1.96 is too narrow: use Student's t with n - 1 "
            "degrees of freedom.": (
                lambda one, other: interval(one, other, quantile="normal")
            ),
            "The sample std of the differences divides by n - 1.": (
                lambda one, other: interval(one, other, ddof=0)
            ),
            "The arms share their seeds: take differences seed by seed first.": (
                unpaired
            ),
        },
    )
