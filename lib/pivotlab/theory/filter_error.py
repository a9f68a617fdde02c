"""What K samples can and cannot see: the filter of PivotRL Eq. (5) as a random set.

A turn with pass rate p is kept when its K sampled rewards are mixed and their mean lies
below `lambda_diff`. Which turns are kept is therefore random; here its exact law.

Departures from the paper: rewards are binary and the K samples of a turn independent,
as in Algorithm 1 with a binary verifier.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float
from scipy.stats import binom

#: One number or an array of them; arrays broadcast.
Real = float | Float[np.ndarray, "..."]


def constant_probability(pass_rate: Real, k: int) -> Real:
    """Probability p^K + (1-p)^K that K binary rewards look constant."""
    return pass_rate**k + (1.0 - pass_rate) ** k


def kept_counts(k: int, lambda_diff: float) -> Bool[np.ndarray, " outcomes"]:
    """Which success counts 0..K pass the filter: mixed, and k/K < lambda_diff strictly.

    Example: K = 16 and lambda_diff = 0.6 keep 1 to 9 successes (10/16 = 0.625 is out).

    Reference: PivotRL Eq. (5).
    """
    counts = np.arange(k + 1)
    return (counts > 0) & (counts < k) & (counts / k < lambda_diff)


def keep_probability(pass_rate: Real, k: int, lambda_diff: float) -> Real:
    """Probability that a turn with this pass rate is kept."""
    law = binom.pmf(np.arange(k + 1), k, np.asarray(pass_rate)[..., None])
    return law @ kept_counts(k, lambda_diff).astype(float)


def profile_mean_if_kept(pass_rate: Real, k: int, lambda_diff: float) -> Real:
    """Expected profiled mean of a turn given that it was kept.

    It differs from the pass rate: the filter selects on its own noise, so the profile
    of kept turns is biased (a hard turn looks easier, one near lambda_diff harder).
    NaN where the turn is never kept.
    """
    counts = np.arange(k + 1)
    law = binom.pmf(counts, k, np.asarray(pass_rate)[..., None])
    kept = kept_counts(k, lambda_diff).astype(float)
    with np.errstate(invalid="ignore"):
        return (law @ (kept * counts / k)) / (law @ kept)


def kept_size_law(
    pass_rates: Float[np.ndarray, " turns"], k: int, lambda_diff: float
) -> Float[np.ndarray, " sizes"]:
    """Law of the number of kept turns: entry n is Pr[|D_adv| = n], n = 0..turns.

    Turns are profiled independently, so the size is a sum of unequal coins
    (Poisson-binomial), built here by convolution.
    """
    law = np.ones(1)
    for keep in keep_probability(pass_rates, k, lambda_diff):
        law = np.convolve(law, [1.0 - keep, keep])
    return law


def kept_rate_law(
    prior: Float[np.ndarray, " rates"],
    pass_rates: Float[np.ndarray, " rates"],
    k: int,
    lambda_diff: float,
) -> Float[np.ndarray, " rates"]:
    """Law of the true pass rate among kept turns, from its law among all turns (Bayes).

    Args:
        prior: probability of each entry of `pass_rates` among candidate turns.

    Raises:
        ValueError: no turn of this population can be kept.
    """
    weight = prior * keep_probability(pass_rates, k, lambda_diff)
    if not weight.sum() > 0:
        raise ValueError(
            f"no pass rate of the population survives K={k}, lambda_diff={lambda_diff}"
        )
    return weight / weight.sum()
