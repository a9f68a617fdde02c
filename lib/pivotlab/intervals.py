"""Intervals for shares and means: every printed number carries one.

All intervals are two-sided at `level`. Shares use score intervals, which stay inside
[0, 1] and behave at 0 and n; means of clustered measurements (turns of one trajectory,
episodes of one seed) use a bootstrap over whole clusters.

References: Wilson (1927) for one share; Newcombe (1998a) method 10 for the difference
of two independent shares; Newcombe (1998b) method 10 for paired shares.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from math import sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import norm
from scipy.stats import t as student_t


class Interval(NamedTuple):
    """A point estimate with its lower and upper limit, in the unit of the estimate."""

    value: float
    lo: float
    hi: float


def wilson(successes: int, n: int, level: float = 0.95) -> Interval:
    """Wilson score interval of a share.

    Example: `wilson(0, 10)` is (0.0, 0.0, 0.2775).

    Raises:
        ValueError: `n` is not positive or `successes` lies outside 0..n.
    """
    if n <= 0 or not 0 <= successes <= n:
        raise ValueError(f"need 0 <= successes <= n and n > 0, got {successes} of {n}")
    z = _quantile(level)
    share = successes / n
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z * sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    lo = 0.0 if successes == 0 else centre - half
    hi = 1.0 if successes == n else centre + half
    return Interval(share, lo, hi)


def t_mean(values: ArrayLike, level: float = 0.95) -> Interval:
    """Mean of independent measurements, such as seeds, with Student's t.

    Example: `t_mean([1.0, 3.0])` is (2.0, -10.706, 14.706).

    Raises:
        ValueError: there are fewer than two.
    """
    x = np.asarray(values, dtype=float)
    if len(x) < 2:
        raise ValueError(f"an interval over {len(x)} values does not exist; need two")
    mean = float(x.mean())
    reach = student_t.ppf((1 + level) / 2, len(x) - 1)
    half = float(reach * x.std(ddof=1) / sqrt(len(x)))
    return Interval(mean, mean - half, mean + half)


def newcombe(
    successes_a: int, n_a: int, successes_b: int, n_b: int, level: float = 0.95
) -> Interval:
    """Difference a - b of two independent shares (Newcombe 1998a, method 10).

    Raises:
        ValueError: a count is impossible (see `wilson`).
    """
    a, b = wilson(successes_a, n_a, level), wilson(successes_b, n_b, level)
    difference = a.value - b.value
    lo = difference - sqrt((a.value - a.lo) ** 2 + (b.hi - b.value) ** 2)
    hi = difference + sqrt((a.hi - a.value) ** 2 + (b.value - b.lo) ** 2)
    return Interval(difference, lo, hi)


def paired_difference(a: ArrayLike, b: ArrayLike, level: float = 0.95) -> Interval:
    """Difference a - b of two shares measured on the same items (games, seeds).

    `a` and `b` hold one outcome (true or false) per item, in the same order. Newcombe
    (1998b), method 10 with the continuity-corrected phi; narrower than `newcombe` when
    the two outcomes go together.

    Raises:
        ValueError: the sequences are empty or of different length.
    """
    x, y = np.asarray(a, dtype=bool), np.asarray(b, dtype=bool)
    if len(x) != len(y) or not len(x):
        raise ValueError(f"need two equally long, non-empty lists: {len(x)}, {len(y)}")
    n = len(x)
    first, second = wilson(int(x.sum()), n, level), wilson(int(y.sum()), n, level)
    table = [int((p & q).sum()) for p in (x, ~x) for q in (y, ~y)]
    phi = _corrected_phi(*table)
    difference = first.value - second.value
    below = _distance(first.value - first.lo, second.hi - second.value, phi)
    above = _distance(first.hi - first.value, second.value - second.lo, phi)
    return Interval(difference, difference - below, difference + above)


def bootstrap_mean(
    values: ArrayLike,
    clusters: Iterable[Hashable] | None = None,
    *,
    level: float = 0.95,
    draws: int = 2000,
    seed: int = 0,
) -> Interval:
    """Mean with a percentile bootstrap that redraws whole clusters.

    Args:
        values: one measurement each, any unit.
        clusters: the cluster of each value (trajectory, seed); None: each its own. A
            cluster weighs by its number of values, as in the plain mean.
        draws: bootstrap replicates.
        seed: of the resampling; the result is a pure function of the arguments.

    Raises:
        ValueError: `values` is empty or `clusters` has another length.
    """
    x = np.asarray(values, dtype=float)
    labels = list(range(len(x))) if clusters is None else list(clusters)
    if not len(x) or len(labels) != len(x):
        raise ValueError(f"need one cluster per value: {len(x)} values, {len(labels)}")
    index = {label: i for i, label in enumerate(dict.fromkeys(labels))}
    member = np.array([index[label] for label in labels])
    sums = np.bincount(member, weights=x)
    counts = np.bincount(member).astype(float)
    rng = np.random.default_rng(seed)
    picks = rng.integers(0, len(sums), size=(draws, len(sums)))
    means = sums[picks].sum(1) / counts[picks].sum(1)
    lo, hi = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(x.mean()), float(lo), float(hi))


def _quantile(level: float) -> float:
    if not 0 < level < 1:
        raise ValueError(f"level must lie in (0, 1), got {level}")
    return float(norm.ppf((1 + level) / 2))


def _distance(u: float, v: float, phi: float) -> float:
    return sqrt(max(0.0, u * u - 2 * phi * u * v + v * v))


def _corrected_phi(both: int, only_a: int, only_b: int, neither: int) -> float:
    """Phi coefficient of the 2x2 table, shrunk towards 0 by n/2 where positive."""
    margins = (
        (both + only_a) * (only_b + neither) * (both + only_b) * (only_a + neither)
    )
    if not margins:
        return 0.0
    cross = both * neither - only_a * only_b
    n = both + only_a + only_b + neither
    if cross > 0:
        cross = max(cross - n / 2, 0)
    return cross / sqrt(margins)
