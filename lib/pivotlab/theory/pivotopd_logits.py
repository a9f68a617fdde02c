"""Where distillation signals go: PivotOPD Props. 1-3 and Lemmas 1-3 in softmax logits.

One recovery turn is one categorical decision. `p` is the action distribution of the
frozen student, `q` the one of the same student shown the hint, `u` the logits of p. All
updates are ascent directions in u at ratio 1 (the start of an update):

    g(a) = E_{b ~ sampler}[w(b) d log p(b) / d u(a)]
         = sampler(a) w(a) - p(a) E_sampler[w].

Recovery samples from q with the clipped weight, prevention from p with the plain one.
With an acceptance filter read q as the law of accepted samples.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from pivotlab.theory.functional_reward import kl_divergence

#: One number or an array of them; arrays broadcast.
Real = float | Float[np.ndarray, "..."]


def softmax_update(
    sampler: Float[np.ndarray, " actions"],
    policy: Float[np.ndarray, " actions"],
    weight: Float[np.ndarray, " actions"],
) -> Float[np.ndarray, " actions"]:
    """Expected update of every logit: sampler * weight - policy * E_sampler[weight].

    On-policy (`sampler` is `policy`) this is p(a) (w(a) - E_p w), Proposition 1 (ii):
    it vanishes with p(a) whatever the weight.

    Reference: PivotOPD Eq. (9); sums to 0.
    """
    weighted = sampler * weight
    return weighted - policy * weighted.sum()


def log_ratio(
    q: Float[np.ndarray, " actions"], p: Float[np.ndarray, " actions"]
) -> Float[np.ndarray, " actions"]:
    """A_distill of Eq. (4) per action: log q - log p, in nats.

    Raises:
        ValueError: one of the two gives some action probability 0.
    """
    if np.any(p <= 0) or np.any(q <= 0):
        raise ValueError("log_ratio needs p and q with full support")
    return np.log(q) - np.log(p)


def clipped_weight(
    q: Float[np.ndarray, " actions"],
    p: Float[np.ndarray, " actions"],
    delta: float,
) -> Float[np.ndarray, " actions"]:
    """phi_delta = log(q/p) clipped to [-delta, delta]; `delta` = inf: unclipped."""
    return np.clip(log_ratio(q, p), -delta, delta)


def recovery_update(
    p: Float[np.ndarray, " actions"],
    q: Float[np.ndarray, " actions"],
    delta: float,
) -> Float[np.ndarray, " actions"]:
    """Update of recovery: samples from q, weight phi_delta.

    If q(a) >= e^delta p(a) then g(a) >= delta (q(a) - p(a)) > 0 (Proposition 1 (iii)):
    the signal stays when p(a) -> 0. Unclipped, g(a) -> inf there, and g = 0 iff p = q
    (Lemma 2).
    """
    return softmax_update(q, p, clipped_weight(q, p, delta))


def reverse_kl_update(
    p: Float[np.ndarray, " actions"], q: Float[np.ndarray, " actions"]
) -> Float[np.ndarray, " actions"]:
    """Update of prevention: -d KL(p || q) / du = p (log(q/p) + KL(p || q)).

    Each component vanishes with p(a) (Proposition 2). With q the reference policy it is
    also the pull of GRPO's KL term, which a constant group still feels.
    """
    return p * (log_ratio(q, p) + kl_divergence(p, q))


def surrogate(
    policy: Float[np.ndarray, " actions"],
    p: Float[np.ndarray, " actions"],
    q: Float[np.ndarray, " actions"],
    delta: float,
) -> float:
    """F = E_policy[r phi_delta] with r = q/p frozen (Lemma 3).

    Its gradient in the logits of `policy` at `policy` = p is `recovery_update`;
    unclipped, F = KL(q || p) there.
    """
    return float(policy @ (q / p * clipped_weight(q, p, delta)))


def recovery_loss_bound(
    p: Float[np.ndarray, " actions"], q: Float[np.ndarray, " actions"], action: int
) -> float:
    """q(a) log(1/p(a)) - log 2, a lower bound of KL(q || p) (Lemma 1, Eq. 8)."""
    return float(-q[action] * np.log(p[action]) - np.log(2.0))


def hit_probability(p: Real, rollouts: int) -> Real:
    """Pr[an action of mass p occurs in G rollouts] = 1 - (1-p)^G <= G p.

    The expected number of samples until the first hit is 1/p (Proposition 2).
    """
    # expm1/log1p keep the digits of the tiny p this statement is about.
    with np.errstate(divide="ignore"):
        return -np.expm1(rollouts * np.log1p(-np.asarray(p)))


def chain_success_bound(epsilon: float, needed: int, enforced: int) -> float:
    """epsilon^(d - K): success when d specific actions are needed and K are enforced.

    Every needed action has mass <= epsilon under the plain policy (Proposition 3).

    Raises:
        ValueError: not 0 <= enforced < needed.
    """
    if not 0 <= enforced < needed:
        raise ValueError(f"need 0 <= enforced < needed, got {enforced} and {needed}")
    return epsilon ** (needed - enforced)
