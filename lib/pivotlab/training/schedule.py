"""Which turns a training step sees: one order for every method compared.

The order is fixed before training by a seed alone, so that two methods with the same
seed see the same turns at the same step, and a resumed run goes on where it stopped.
"""

from __future__ import annotations

import numpy as np


def turn_schedule(turns: int, steps: int, per_step: int, seed: int) -> list[int]:
    """Indices of the turns of all steps, one step after another.

    Passes over all turns follow each other, each in a random order of its own, so
    counts never differ by more than one; no step sees a turn twice unless it has to.

    Args:
        turns: how many there are.
        steps: how many steps.
        per_step: turns of one step.
        seed: of the order.

    Raises:
        ValueError: there is no turn to train on.
    """
    if turns < 1:
        raise ValueError("there is no turn to train on; select at least one")
    generator = np.random.default_rng(seed)
    needed = steps * per_step
    order: list[int] = []
    while len(order) < needed:
        fresh = generator.permutation(turns).tolist()
        order += _apart(fresh, order[len(order) - len(order) % per_step :], per_step)
    return order[:needed]


def _apart(fresh: list[int], begun: list[int], per_step: int) -> list[int]:
    """Reorder a pass so that it repeats nothing of the step that it completes."""
    fitting = [turn for turn in fresh if turn not in begun][: per_step - len(begun)]
    return fitting + [turn for turn in fresh if turn not in fitting]
