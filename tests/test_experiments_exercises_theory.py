"""The checkers of notebooks 01 and 02 recognise the mistakes they list."""

import numpy as np
import pytest

from pivotlab.experiments.exercises import theory as exercises


def forgets_normalising(pi0, accepted, beta):
    return pi0 * np.exp(accepted / beta)


def multiplies_by_beta(pi0, accepted, beta):
    weight = pi0 * np.exp(accepted * beta)
    return weight / weight.sum()


@pytest.mark.parametrize(
    "checker, attempt, diagnosis",
    [
        (exercises.success_advantage, lambda k, G: 1 - k / G, "std is missing"),
        (
            exercises.success_advantage,
            lambda k, G: ((1 - k / G) / (k / G) * (G - 1) / G) ** 0.5,
            "Bessel",
        ),
        (
            exercises.samples_needed,
            lambda p, risk: int(np.ceil(np.log(risk) / np.log(1 - p))),
            r"add p\^K",
        ),
        (
            exercises.binary_gamma,
            lambda rho, beta: (rho * (1 - rho)) ** 0.5 / beta**2,
            "belongs to the tilted policy",
        ),
        (
            exercises.beta_for_mass,
            lambda rho, q: np.log(q / (1 - q)) - np.log(rho / (1 - rho)),
            "invert it",
        ),
        (exercises.tilt, forgets_normalising, "divide by Z"),
        (exercises.tilt, multiplies_by_beta, "r / beta, not r"),
        (exercises.loss_of_correct, lambda p, beta: 1.0, "Work one case by hand"),
    ],
)
def test_mistake_is_diagnosed(checker, attempt, diagnosis):
    with pytest.raises(AssertionError, match=diagnosis):
        checker(attempt)
