"""Checkers for the exercises of notebooks 01 and 02, with the mistakes they know.

Each takes the reader's function and answers as `exercises.check` does.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pivotlab.experiments.exercises.checker import check
from pivotlab.theory import filter_error, functional_reward, group_advantage, kl_path


def success_advantage(attempt: Callable) -> bool:
    """Advantage of a success from (k, G), population std."""
    return check(
        "exercise 1",
        attempt,
        [(1, 4), (4, 8), (7, 8), (1, 16)],
        lambda k, size: group_advantage.binary_advantages(k, size)[0],
        {
            "That is the Bessel-corrected std; divide by G, not by G - 1.": (
                lambda k, size: group_advantage.binary_advantages(k, size, bessel=True)[
                    0
                ]
            ),
            "That is the deviation 1 - k/G; the division by the std is missing.": (
                lambda k, size: 1 - k / size
            ),
            "That is the failure's advantage; a success gets sqrt((1-m)/m).": (
                lambda k, size: group_advantage.binary_advantages(k, size)[1]
            ),
        },
    )


def samples_needed(attempt: Callable) -> bool:
    """Smallest K with Pr[K samples agree] <= risk from (p, risk)."""

    def first(probability: Callable, rate: float, risk: float) -> int:
        return next(k for k in range(1, 10_000) if probability(rate, k) <= risk)

    return check(
        "exercise 2",
        attempt,
        [(0.18, 0.05), (0.5, 0.01), (0.4, 0.1), (0.97, 0.2)],
        lambda rate, risk: first(filter_error.constant_probability, rate, risk),
        {
            "K samples can also agree on success: add p^K.": (
                lambda rate, risk: first(lambda p, k: (1 - p) ** k, rate, risk)
            ),
            "One too few: the probability must be at most the risk.": (
                lambda rate, risk: (
                    first(filter_error.constant_probability, rate, risk) - 1
                )
            ),
        },
    )


def binary_gamma(attempt: Callable) -> bool:
    """gamma of Theorem 3.2 for a binary reward from (rho, beta)."""

    def truth(rho: float, beta: float) -> float:
        pi0, rewards = np.array([rho, 1 - rho]), np.array([1.0, 0.0])
        return kl_path.signal_size(pi0, rewards, beta).closed

    return check(
        "exercise 3",
        attempt,
        [(0.2, 0.5), (0.5, 1.0), (0.9, 2.0)],
        truth,
        {
            "The variance belongs to the tilted policy, not to the reference.": (
                lambda rho, beta: np.sqrt(rho * (1 - rho)) / beta**2
            ),
            "Theorem 3.2 has the square root of the variance.": (
                lambda rho, beta: truth(rho, beta) ** 2 * beta**2
            ),
            "Theorem 3.2 divides by beta squared.": (
                lambda rho, beta: truth(rho, beta) * beta
            ),
        },
    )


def beta_for_mass(attempt: Callable) -> bool:
    """The beta that lifts the accepted mass from rho to q, from (rho, q)."""

    def truth(rho: float, mass: float) -> float:
        return 1 / (np.log(mass / (1 - mass)) - np.log(rho / (1 - rho)))

    return check(
        "exercise 1",
        attempt,
        [(0.2, 0.648786), (0.05, 0.5), (0.5, 0.9)],
        truth,
        {
            "That is 1/beta; invert it.": lambda rho, mass: 1 / truth(rho, mass),
            "Use log-odds of both masses, not logarithms of the masses.": (
                lambda rho, mass: 1 / np.log(mass / rho)
            ),
        },
        rtol=1e-5,
    )


def tilt(attempt: Callable) -> bool:
    """The minimiser from (pi0, accepted, beta), by scaling two blocks."""
    rng = np.random.default_rng(0)
    cases = [(rng.dirichlet(np.ones(6)), np.arange(6) < m, 0.5) for m in (1, 3, 5)]

    def additive(pi0: np.ndarray, accepted: np.ndarray, beta: float) -> np.ndarray:
        shifted = pi0 + accepted * np.exp(1 / beta)
        return shifted / shifted.sum()

    return check(
        "exercise 2",
        attempt,
        cases,
        functional_reward.tilted_policy,
        {
            "The weights do not sum to 1: divide by Z.": (
                lambda pi0, accepted, beta: pi0 * np.exp(accepted / beta)
            ),
            "The tilt multiplies the reference, it does not add to it.": additive,
            "The exponent is r / beta, not r * beta.": (
                lambda pi0, accepted, beta: functional_reward.tilted_policy(
                    pi0, accepted, 1 / beta
                )
            ),
        },
    )


def loss_of_correct(attempt: Callable) -> bool:
    """Factor by which exact match scales another correct action, from (pi0*, beta)."""
    return check(
        "exercise 3",
        attempt,
        [(0.15, 0.5), (0.5, 0.1), (0.01, 1.0)],
        lambda mass, beta: 1 / (mass * np.exp(1 / beta) + 1 - mass),
        {
            "That is the factor of a* itself; the others lack e^(1/beta).": (
                lambda mass, beta: (
                    np.exp(1 / beta) / (mass * np.exp(1 / beta) + 1 - mass)
                )
            ),
        },
    )
