"""Group advantages of GRPO and what they leave of a group's signal (PivotRL Prop. 3.1).

A group is G actions drawn from one policy at one state, with one reward each.

Departures from the paper:
1. The sources do not say which standard deviation Eq. (1) uses. Both are here: the
   population one (`bessel=False`) and the Bessel-corrected one that TRL uses.
2. With `eps_std = 0` a constant group would be 0/0; its advantages are 0, which is the
   limit for every `eps_std > 0` and what Proposition 3.1 says.
3. Expected updates are those of one logit, the log-odds of success, for binary rewards:
   the smallest exact case of the remark that dividing by the group's standard deviation
   changes the size of the step.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int
from scipy.stats import binom

#: One number or an array of them; arrays broadcast.
Real = float | Float[np.ndarray, "..."]


def group_advantages(
    rewards: Float[np.ndarray, "*groups size"],
    *,
    bessel: bool = False,
    eps_std: float = 0.0,
) -> Float[np.ndarray, "*groups size"]:
    """Centred rewards over the group's standard deviation, along the last axis.

    Args:
        rewards: one reward per sampled action; higher is better.
        bessel: divide the squared deviations by G - 1 (TRL) instead of G.
        eps_std: added to the standard deviation (TRL: 1e-4).

    Returns:
        Advantages; they sum to 0 in every group and are all 0 in a constant group.

    Raises:
        ValueError: a group has fewer than two rewards.

    Reference: PivotRL Eq. (1); Proposition 3.1.
    """
    if rewards.shape[-1] < 2:
        raise ValueError(f"a group needs >= 2 rewards, got {rewards.shape[-1]}")
    # A constant group's mean can be off by one rounding; compare before subtracting.
    constant = rewards.max(-1, keepdims=True) == rewards.min(-1, keepdims=True)
    centred = rewards - rewards.mean(-1, keepdims=True)
    std = rewards.std(-1, ddof=int(bessel), keepdims=True) + eps_std
    return np.where(constant, 0.0, centred / np.where(constant, 1.0, std))


def binary_advantages(
    successes: int, size: int, *, bessel: bool = False
) -> tuple[float, float]:
    """(advantage of a success, advantage of a failure) with k of G binary successes.

    With m = k/G the population values are sqrt((1-m)/m) and -sqrt(m/(1-m)); the Bessel
    values are smaller by sqrt((G-1)/G).

    Raises:
        ValueError: the group is constant (k = 0 or k = G).
    """
    if not 0 < successes < size:
        raise ValueError(f"need 0 < successes < size, got {successes} of {size}")
    mean = successes / size
    scale = np.sqrt((size - 1) / size) if bessel else 1.0
    return scale * np.sqrt((1 - mean) / mean), -scale * np.sqrt(mean / (1 - mean))


def group_gradient(
    policy: Float[np.ndarray, " actions"],
    sampled: Int[np.ndarray, " size"],
    advantages: Float[np.ndarray, " size"],
) -> Float[np.ndarray, " actions"]:
    """Policy gradient of one group in softmax logits, at ratio 1 and beta = 0.

    (1/G) sum_i A_i (e_{a_i} - pi), an ascent direction. It is exactly 0 for a constant
    group (Proposition 3.1). With beta > 0 the KL term adds its own gradient, which does
    not vanish there: see `pivotopd_logits.reverse_kl_update`.
    """
    hits = np.zeros_like(policy)
    np.add.at(hits, sampled, advantages)
    return (hits - policy * advantages.sum()) / len(sampled)


def mixed_probability(pass_rate: Real, size: int) -> Real:
    """Probability that G binary rewards with this pass rate are not all equal.

    It is also the expected mean square of the normalised advantages (`eps_std` 0,
    population): 1 in every mixed group, 0 in every constant one.
    """
    return 1.0 - pass_rate**size - (1.0 - pass_rate) ** size


def expected_update(pass_rate: Real, size: int, *, divide: bool) -> Real:
    """Expected GRPO update of the log-odds of success, over all groups of G.

    For binary rewards the score of the log-odds is r - p, so a group with k successes
    moves it by (1/G) sum_i A_i (r_i - p) = v if A is only centred, sqrt(v) if A is also
    divided by the population std, with v = (k/G)(1 - k/G).

    Returns:
        (G-1)/G p(1-p) for `divide=False`; E[sqrt(v)] <= sqrt(p(1-p)) for `divide=True`.
    """
    successes = np.arange(size + 1)
    variance = successes / size * (1 - successes / size)
    step = np.sqrt(variance) if divide else variance
    return binom.pmf(successes, size, np.asarray(pass_rate)[..., None]) @ step


def fisher_update(pass_rate: Real, size: int, *, divide: bool) -> Real:
    """Expected update in the norm Theorem 3.2 speaks of: its Fisher (dual) norm.

    The Fisher information of the log-odds is p(1-p), so the norm is the expected update
    over sqrt(p(1-p)). Only centred, it is (G-1)/G sqrt(p(1-p)), proportional to the
    reward's standard deviation. Divided, it tends to 1 as G grows: the standard
    deviation has cancelled and only constant groups are lost.

    Raises:
        ValueError: a pass rate is not strictly between 0 and 1.
    """
    rate = np.asarray(pass_rate)
    if np.any((rate <= 0) | (rate >= 1)):
        raise ValueError("pass_rate must lie strictly between 0 and 1")
    return expected_update(rate, size, divide=divide) / np.sqrt(rate * (1 - rate))
