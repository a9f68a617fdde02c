"""The functional reward moves mass between two blocks and nothing else (Theorem 3.3).

At one state let M be the accepted actions and rho = pi0(M). The minimiser of

    L(pi) = -E_pi[1_M] + beta KL(pi || pi0)

is pi0 with every accepted action multiplied by e^{1/beta}/Z and every other one by 1/Z,
Z = rho e^{1/beta} + 1 - rho. Hence the accepted mass is
q = sigmoid(logit rho + 1/beta), and ratios inside M and inside its complement stay.

Departures from the paper:
1. The closed form of q, the optimal value and the Bernoulli KL are derived here.
2. Exact match is the special case M = {a*}; ratios inside its complement stay as well,
   but the other correct actions are in that complement and lose mass.
3. Per state and tabular: nothing here speaks of parameters that states share.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float
from scipy.special import expit, logit, logsumexp, rel_entr

from pivotlab.theory.kl_path import kl_path

#: One number or an array of them; arrays broadcast.
Real = float | Float[np.ndarray, "..."]


def tilted_policy(
    pi0: Float[np.ndarray, "*batch actions"],
    accepted: Bool[np.ndarray, "*batch actions"],
    beta: float,
) -> Float[np.ndarray, "*batch actions"]:
    """The minimiser pi*_beta of the functional loss, as the exact tilt of `pi0`.

    Reference: PivotRL Theorem 3.3, Eqs. (11)-(14).
    """
    return kl_path(pi0, accepted.astype(float), beta)


def accepted_mass(rho: Real, beta: Real) -> Real:
    """q_beta(rho) = sigmoid(logit(rho) + 1/beta) >= rho; 0 and 1 are unchanged.

    Example: rho = 0.2, beta = 0.5 gives 0.648786.
    """
    return expit(logit(rho) + 1.0 / beta)


def project_mass(
    pi0: Float[np.ndarray, " actions"],
    accepted: Bool[np.ndarray, " actions"],
    mass: float,
) -> Float[np.ndarray, " actions"]:
    """KL projection of `pi0` on {pi : pi(M) = mass}: rescale each block.

    Raises:
        ValueError: a block that has to receive mass has none under `pi0`.
    """
    rho = pi0[accepted].sum()
    for block, want, have in (("M", mass, rho), ("complement", 1 - mass, 1 - rho)):
        if want > 0 and not have > 0:
            raise ValueError(
                f"pi0 gives the {block} no mass, cannot scale it to {want}"
            )
    inside = pi0 * (mass / rho if rho > 0 else 0.0)
    outside = pi0 * ((1 - mass) / pi0[~accepted].sum() if mass < 1 else 0.0)
    return np.where(accepted, inside, outside)


def kl_divergence(
    p: Float[np.ndarray, "*batch actions"], q: Float[np.ndarray, "*batch actions"]
) -> Real:
    """KL(p || q) in nats along the last axis; inf where p has mass and q has none."""
    return rel_entr(p, q).sum(-1)


def bernoulli_kl(q: Real, rho: Real) -> Real:
    """KL in nats between coins of success probability `q` and `rho`."""
    return rel_entr(q, rho) + rel_entr(1.0 - np.asarray(q), 1.0 - np.asarray(rho))


def functional_loss(
    policy: Float[np.ndarray, "*batch actions"],
    pi0: Float[np.ndarray, "*batch actions"],
    accepted: Bool[np.ndarray, "*batch actions"],
    beta: float,
) -> Real:
    """-policy(M) + beta KL(policy || pi0) at one state; lower is better.

    For every policy it exceeds the optimum by exactly beta KL(policy || pi*_beta).
    """
    reward = (policy * accepted).sum(-1)
    return -reward + beta * kl_divergence(policy, pi0)


def optimal_value(rho: Real, beta: float) -> Real:
    """-beta log Z, the loss at the minimiser; no overflow for small beta."""
    rho = np.asarray(rho, dtype=float)
    with np.errstate(divide="ignore"):
        terms = np.stack([np.log(rho) + 1.0 / beta, np.log1p(-rho)])
    return -beta * logsumexp(terms, axis=0)


def swapped_pairs(
    pi0: Float[np.ndarray, " actions"],
    accepted: Bool[np.ndarray, " actions"],
    other: Bool[np.ndarray, " actions"],
    shift: float,
) -> float:
    """Share of pairs inside a block that flip when `other` gains `shift` logits.

    What the theorem does not cover: `other` are the accepted actions of another state
    that shares parameters with this one. With unit features of overlap c in a linear
    layer, training that state to its optimum shifts the logits here by c / beta.

    Raises:
        ValueError: no block has two actions.
    """
    same = np.triu(accepted[:, None] == accepted[None, :], 1)
    if not same.any():
        raise ValueError("no block has two actions, so there is no order to keep")
    after = np.log(pi0) + shift * other
    before_order = np.sign(np.subtract.outer(pi0, pi0))
    after_order = np.sign(np.subtract.outer(after, after))
    return float((before_order * after_order < 0)[same].mean())
