"""Checkers for the exercises of notebook 09; see `exercises.check`."""

from __future__ import annotations

from collections.abc import Callable
from math import comb

import numpy as np
from scipy.stats import binomtest

from pivotlab.experiments.exercises.checker import check


def cluster_interval(attempt: Callable) -> bool:
    """95 % percentile bootstrap interval (low, high) of a recovery rate.

    From (won, draws): won[i, j] is play j after mistake i; draws[b] holds the indices
    of the mistakes in resample b, so that the answer has no randomness of its own.
    """
    rng = np.random.default_rng(0)

    def case(mistakes: int, plays: int) -> tuple[np.ndarray, np.ndarray]:
        rates = rng.beta(0.6, 0.9, mistakes)
        won = rng.random((mistakes, plays)) < rates[:, None]
        return won.astype(float), rng.integers(0, mistakes, (400, mistakes))

    def interval(won, draws, levels=(2.5, 97.5)) -> np.ndarray:
        return np.percentile(won.mean(1)[draws].mean(1), levels)

    def by_play(won, draws) -> np.ndarray:
        rate, error = won.mean(), np.sqrt(won.mean() * (1 - won.mean()) / won.size)
        return np.array([rate - 1.96 * error, rate + 1.96 * error])

    return check(
        "exercise 1",
        attempt,
        [case(12, 8), case(30, 8)],
        interval,
        {
            "95 % lies between the 2.5th and the 97.5th percentile.": (
                lambda won, draws: interval(won, draws, (5, 95))
            ),
            "Plays after one mistake resemble each other; the unit is the mistake, "
            "not the play.": by_play,
            "That is the spread of single mistakes; take the mean of each resample "
            "first.": (
                lambda won, draws: np.percentile(won.mean(1)[draws], (2.5, 97.5))
            ),
        },
    )


def chance_of_a_hit(attempt: Callable) -> bool:
    """Pr[m different random turns include one within 1 of the pivot].

    From (turns, pivot, m): turns 0..turns-1 of the episode, the window is cut off at
    its ends.
    """

    def missed(turns: int, window: int, m: int) -> float:
        return comb(turns - window, m) / comb(turns, m)

    def window(turns: int, pivot: int) -> int:
        return min(turns - 1, pivot + 1) - max(0, pivot - 1) + 1

    return check(
        "exercise 2",
        attempt,
        [(10, 4, 5), (10, 0, 5), (30, 12, 5), (8, 7, 1)],
        lambda turns, pivot, m: 1 - missed(turns, window(turns, pivot), m),
        {
            "At the ends of the episode the window has two turns, not three.": (
                lambda turns, pivot, m: 1 - missed(turns, 3, m)
            ),
            "The m turns are different ones: draw without replacement.": (
                lambda turns, pivot, m: 1 - (1 - window(turns, pivot) / turns) ** m
            ),
            "That is the probability of missing it.": (
                lambda turns, pivot, m: missed(turns, window(turns, pivot), m)
            ),
        },
    )


def sign_test(attempt: Callable) -> bool:
    """Two-sided exact p-value that training made recovery better or worse.

    From (better, worse, same): mistakes recovered from more, less and equally often
    than by the base.
    """

    def value(better: int, worse: int, side: str = "two-sided") -> float:
        if better + worse == 0:
            return 1.0
        return binomtest(better, better + worse, alternative=side).pvalue

    return check(
        "exercise 3",
        attempt,
        [(9, 1, 20), (12, 5, 3), (4, 4, 0), (0, 6, 10)],
        lambda better, worse, same: value(better, worse),
        {
            "One side only; before looking nobody knew the direction.": (
                lambda better, worse, same: value(better, worse, "greater")
            ),
            "Ties say nothing about the direction: leave them out.": (
                lambda better, worse, same: (
                    binomtest(better, better + worse + same).pvalue
                )
            ),
        },
    )
