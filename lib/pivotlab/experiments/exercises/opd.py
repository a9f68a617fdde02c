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


def paired_effect(attempt: Callable) -> bool:
    """Mean gain of an intervention over none, a mistake counting once.

    From (with_it, without): two lists with one entry a mistake, the list of its plays
    (1 won, 0 lost); mistakes may have been played unequally often.
    """

    def mean(values) -> float:
        return sum(values) / len(values)

    def gain(with_it, without) -> float:
        return mean([mean(a) - mean(b) for a, b in zip(with_it, without, strict=True)])

    def pooled(with_it, without) -> float:
        flat_with, flat_without = (sum(map(list, x), []) for x in (with_it, without))
        return mean(flat_with) - mean(flat_without)

    return check(
        "exercise 2",
        attempt,
        [
            ([[1, 1, 1, 0], [0]], [[0, 0, 0, 0], [0]]),
            ([[1, 0], [1, 1, 1], [0, 1]], [[0, 0], [1, 1, 0], [0, 0]]),
        ],
        gain,
        {
            "That counts every play once; a mistake played more often weighs more. "
            "Take the rate of each mistake first.": pooled,
            "That is success with it; what would have been won anyway?": (
                lambda with_it, without: mean([mean(a) for a in with_it])
            ),
            "With minus without, not the other way round.": (
                lambda with_it, without: gain(without, with_it)
            ),
        },
    )


def chance_of_repair(attempt: Callable) -> bool:
    """Pr[at least one of G plays takes d needed actions in a row], from (p, d, K, G).

    Each needed action has probability p; the first K of them are carried out for the
    student (recovery turns), so d - K are left, none below 0.
    """

    def found(p: float, d: int, k: int, group: int) -> float:
        return 1 - (1 - p ** max(d - k, 0)) ** group

    return check(
        "exercise 2",
        attempt,
        [(0.1, 3, 0, 8), (0.1, 3, 2, 8), (0.02, 4, 1, 8), (0.3, 1, 2, 4)],
        found,
        {
            "That is one play; the group has G of them.": (
                lambda p, d, k, group: p ** max(d - k, 0)
            ),
            "G times the probability of one play can exceed 1; it is the mean number "
            "of repairs.": lambda p, d, k, group: group * p ** max(d - k, 0),
            "The K recovery turns are missing; only d - K are left to chance.": (
                lambda p, d, k, group: found(p, d, 0, group)
            ),
            "With K > d nothing is left to chance; p to a negative power is above 1.": (
                lambda p, d, k, group: 1 - (1 - p ** (d - k)) ** group
            ),
        },
    )


def step_loss(attempt: Callable) -> bool:
    """Loss of one step at ratio 1 from (rows): one mean over all tokens (Eq. 7).

    Every row is the list of the advantages of its tokens; rows differ in length.
    """

    def mean(values) -> float:
        return sum(values) / len(values)

    def pooled(rows) -> float:
        return -mean([a for row in rows for a in row])

    return check(
        "exercise 3",
        attempt,
        [([[1.0, 1.0, 1.0], [-1.0]],), ([[0.998, 1.0, 1.001], [0.025, 1.25]],)],
        pooled,
        {
            "That is the mean over rows of each row's mean; a short recovery row would "
            "weigh as much as a long episode.": lambda rows: (
                -mean([mean(row) for row in rows])
            ),
            "A loss is lowered: the objective with a minus.": (
                lambda rows: -pooled(rows)
            ),
            "That is the sum; divide by the number of tokens of the step.": (
                lambda rows: -sum(a for row in rows for a in row)
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
