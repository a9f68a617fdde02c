"""Checkers for the exercises of notebooks 06 and 07; see `exercises.check`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pivotlab.experiments.exercises.checker import check


def first_pivot(attempt: Callable) -> bool:
    """The first turn that raised L, -1 if none did, from L before every turn and at the
    end."""

    def first(remaining: Sequence[int], ties: bool = False, shift: int = 0):
        for turn in range(len(remaining) - 1):
            gap = remaining[turn + 1] - remaining[turn]
            if gap > 0 or (ties and gap == 0):
                return turn + shift
        return -1

    return check(
        "exercise 1",
        attempt,
        [((3, 2, 2, 3, 4),), ((2, 3),), ((2, 1, 0),), ((4, 4, 5, 4),)],
        first,
        {
            "A turn that leaves L as it was is idle, not pivotal.": (
                lambda remaining: first(remaining, ties=True)
            ),
            "Turn t leads from s_t to s_{t+1}; the pivot is t, not t + 1.": (
                lambda remaining: first(remaining, shift=1)
            ),
        },
    )


def recovery_advantage(attempt: Callable) -> bool:
    """w_rec clip(log q - log p, -delta, delta) of one token (Eq. 5)."""

    def advantage(q: float, p: float, weight: float, delta: float) -> float:
        return weight * max(-delta, min(delta, q - p))

    return check(
        "exercise 1",
        attempt,
        [
            (-0.1, -6.9, 1.0, 5.0),
            (-0.7, -0.7, 1.0, 5.0),
            (-9.0, -1.0, 0.5, 2.0),
            (0.0, -1.0, 0.25, 0.5),
        ],
        advantage,
        {
            "The clip acts on the log-ratio, before the weight.": (
                lambda q, p, weight, delta: max(-delta, min(delta, weight * (q - p)))
            ),
            "The hinted log-prob minus the plain one, not the other way round.": (
                lambda q, p, weight, delta: advantage(p, q, weight, delta)
            ),
            "Clip from below as well.": (
                lambda q, p, weight, delta: weight * min(delta, q - p)
            ),
        },
    )
