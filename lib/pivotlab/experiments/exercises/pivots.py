"""Checkers for the exercises of notebook 04; see `exercises.check`."""

from __future__ import annotations

from collections.abc import Callable

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
