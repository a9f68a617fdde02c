"""Checkers for the exercises of notebook 04; see `exercises.check`."""

from __future__ import annotations

from collections.abc import Callable
from math import comb

from scipy.stats import binom

from pivotlab.experiments.exercises.checker import check


def kept_probability(attempt: Callable) -> bool:
    """Pr[a turn of pass rate p is kept by Eq. 5] from (p, K, lambda_diff)."""

    def kept(rate: float, k: int, cut: float, low: int = 1, equal: bool = False):
        good = [s for s in range(low, k) if s / k < cut or (equal and s / k == cut)]
        return float(binom.pmf(good, k, rate).sum())

    return check(
        "exercise 1",
        attempt,
        [(0.5, 16, 0.6), (0.1, 4, 0.5), (0.9, 8, 0.75), (0.3, 2, 0.5)],
        kept,
        {
            "Zero successes have no variance: such a turn is not kept.": (
                lambda rate, k, cut: kept(rate, k, cut, low=0)
            ),
            "Both inequalities are strict: s / K = lambda_diff is out.": (
                lambda rate, k, cut: kept(rate, k, cut, equal=True)
            ),
        },
    )


def silent_subset(attempt: Callable) -> bool:
    """Pr[k of K recorded samples, chosen at random, all agree] from (s, K, k).

    s of the K recorded samples were accepted. The mean over turns is the zero-signal
    share at k without a word about which samples came first.
    """

    def silent(s: int, total: int, k: int) -> float:
        return (comb(s, k) + comb(total - s, k)) / comb(total, k)

    return check(
        "exercise 2",
        attempt,
        [(1, 8, 4), (4, 8, 2), (0, 8, 4), (15, 16, 8), (3, 8, 8)],
        silent,
        {
            "The k samples are k different ones: draw without replacement.": (
                lambda s, total, k: (s / total) ** k + (1 - s / total) ** k
            ),
            "They can also agree on success: add the subsets of accepted samples.": (
                lambda s, total, k: comb(total - s, k) / comb(total, k)
            ),
            "That is the probability that they differ.": (
                lambda s, total, k: 1 - silent(s, total, k)
            ),
        },
    )


def second_look(attempt: Callable) -> bool:
    """Expected mu of fresh samples at a turn that showed s of K, from (s, K, a, b).

    Among all turns the true pass rates follow Beta(a, b).
    """

    def shrunk(s: int, k: int, a: float, b: float) -> float:
        return (a + s) / (a + b + k)

    return check(
        "exercise 3",
        attempt,
        [(1, 8, 0.3, 0.3), (4, 8, 0.5, 2.0), (9, 16, 0.3, 0.3), (0, 4, 1.0, 1.0)],
        shrunk,
        {
            "That is the first look again; a turn is chosen for it, so part of it is "
            "luck.": lambda s, k, a, b: s / k,
            "That is the mean of all turns; this turn's samples count as well.": (
                lambda s, k, a, b: a / (a + b)
            ),
            "a counts like successes and b like failures; you have them swapped.": (
                lambda s, k, a, b: shrunk(s, k, b, a)
            ),
            "The posterior has a + b + K trials in all.": (
                lambda s, k, a, b: (a + s) / (a + k)
            ),
        },
    )
