"""The KL path and the size of its signal (PivotRL Theorem 3.2, Eqs. 9-10).

At one state with reference policy pi0 and rewards r, the path is
pi_beta(a) proportional to pi0(a) exp(r(a) / beta): beta = inf is pi0, beta -> 0 puts
all mass on the best actions. Theorem 3.2:

    gamma = (1 / beta^2) ||nat. gradient of J at pi_beta||_Fisher
          = sqrt(Var_{pi_beta} r) / beta^2,

and gamma is the speed of the path in the Fisher metric. Each of the three is computed
here by its own route: differentiate the path, solve the Fisher system in softmax
coordinates, take the variance.

Scope: a statement about this exact tabular path. It doesn't say that a GRPO step is
proportional to the standard deviation (`group_advantage.fisher_update` shows why not).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.linalg import cho_factor, cho_solve
from scipy.special import logsumexp


def kl_path(
    pi0: Float[np.ndarray, "*batch actions"],
    rewards: Float[np.ndarray, "*batch actions"],
    beta: float,
) -> Float[np.ndarray, "*batch actions"]:
    """pi_beta along the last axis, computed with log weights so that no beta overflows.

    Raises:
        ValueError: `beta` is not positive (inf is allowed and gives `pi0`).
    """
    with np.errstate(divide="ignore"):
        # Shifted so that a tiny beta costs the best actions no digits.
        shifted = rewards - rewards.max(-1, keepdims=True)
        log_weight = np.log(pi0) + shifted / _positive(beta)
    return np.exp(log_weight - logsumexp(log_weight, axis=-1, keepdims=True))


def centred_rewards(
    policy: Float[np.ndarray, " actions"], rewards: Float[np.ndarray, " actions"]
) -> Float[np.ndarray, " actions"]:
    """r - E_policy[r], the natural gradient of J seen as a function on actions.

    Shifted by the most likely action's reward first: near a deterministic policy the
    plain difference would lose every digit of the variance.
    """
    shifted = rewards - rewards[policy.argmax()]
    return shifted - policy @ shifted


def reward_std(
    policy: Float[np.ndarray, " actions"], rewards: Float[np.ndarray, " actions"]
) -> float:
    """sqrt(Var_{a ~ policy} r(a))."""
    return float(np.sqrt(policy @ centred_rewards(policy, rewards) ** 2))


def path_velocity(
    pi0: Float[np.ndarray, " actions"],
    rewards: Float[np.ndarray, " actions"],
    beta: float,
) -> Float[np.ndarray, " actions"]:
    """d pi_beta / d beta, a tangent of the simplex (sums to 0).

    d log pi_beta(a) / d beta = -(r(a) - E r) / beta^2; the -E r comes from the
    log-normaliser.
    """
    policy = kl_path(pi0, rewards, beta)
    return -policy * centred_rewards(policy, rewards) / beta**2


def fisher_norm(
    policy: Float[np.ndarray, " actions"], tangent: Float[np.ndarray, " actions"]
) -> float:
    """Length sqrt(sum_a v(a)^2 / policy(a)) of a tangent v of the simplex.

    Actions of probability 0 must have v(a) = 0 and do not count.
    """
    support = policy > 0
    return float(np.sqrt(np.sum(tangent[support] ** 2 / policy[support])))


def softmax_fisher(
    policy: Float[np.ndarray, " actions"],
) -> Float[np.ndarray, " actions actions"]:
    """Fisher matrix diag(p) - p p^T in softmax logits; singular along (1, ..., 1)."""
    return np.diag(policy) - np.outer(policy, policy)


def natural_gradient(
    policy: Float[np.ndarray, " actions"], rewards: Float[np.ndarray, " actions"]
) -> Float[np.ndarray, " actions"]:
    """Natural gradient of J = E_policy[r] in softmax logits: solves F x = dJ/du.

    The gauge is fixed by holding the most likely action's logit, which leaves a
    positive definite system. Up to that constant, x is the centred reward.

    Raises:
        ValueError: the policy gives some action probability 0 (F x = g has no unique
            solution there).
    """
    if np.any(policy <= 0):
        raise ValueError("natural_gradient needs a policy with full support")
    held = policy.argmax()
    free = np.delete(np.arange(len(policy)), held)
    gradient = policy * centred_rewards(policy, rewards)
    fisher = softmax_fisher(policy)[np.ix_(free, free)]
    direction = np.zeros_like(policy)
    direction[free] = cho_solve(cho_factor(fisher), gradient[free])
    return direction


def natural_gradient_norm(
    policy: Float[np.ndarray, " actions"], rewards: Float[np.ndarray, " actions"]
) -> float:
    """Fisher norm sqrt(x^T F x) of the natural gradient, from the solved system."""
    direction = natural_gradient(policy, rewards)
    spread = direction - policy @ direction
    return float(np.sqrt(policy @ spread**2))


class SignalSize(NamedTuple):
    """gamma of Theorem 3.2 by three routes."""

    speed: float
    natural: float
    closed: float


def signal_size(
    pi0: Float[np.ndarray, " actions"],
    rewards: Float[np.ndarray, " actions"],
    beta: float,
) -> SignalSize:
    """Fisher speed of the path, natural-gradient norm / beta^2, sqrt(Var) / beta^2.

    Reference: PivotRL Theorem 3.2, Eqs. (9)-(10).
    """
    policy = kl_path(pi0, rewards, beta)
    return SignalSize(
        speed=fisher_norm(policy, path_velocity(pi0, rewards, beta)),
        natural=natural_gradient_norm(policy, rewards) / beta**2,
        closed=reward_std(policy, rewards) / beta**2,
    )


def _positive(beta: float) -> float:
    if not beta > 0:
        raise ValueError(f"beta must be > 0 (inf gives the reference), got {beta}")
    return beta
