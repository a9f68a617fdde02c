"""Judges of the actions of a played episode: one verdict per turn.

PivotRL's verdict is functional: what might a sensible player with the same information
have done (`Functional`)? Where nobody labels an environment's episodes, whether the
action brought the goal nearer stands in for it (`NearerGoal`): that judge knows where
everything is, so in a search it rewards luck, and it blames whoever settles for less
than the best.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pivotlab.distillation.recovery import enter
from pivotlab.environments.protocol import Environment, OracleEnvironment
from pivotlab.pivots.candidates import enumerate_turns
from pivotlab.records import Message, Rollout, Trajectory
from pivotlab.verifiers.protocol import Verifier, judged

#: 1 or 0 for the action of every turn, None where it cannot be judged.
Judge = Callable[[Rollout], list[float | None]]


@dataclass(frozen=True)
class Functional:
    """What a verifier says of every action, at the state an honest player labelled.

    Attributes:
        relabel: the episode of given actions at a task as a labelled trajectory.
        verifier: reads those labels.
    """

    relabel: Callable[[str, Sequence[str]], Trajectory]
    verifier: Verifier

    def __call__(self, rollout: Rollout) -> list[float | None]:
        """Every turn has a verdict.

        Raises:
            ValueError: the task is unknown, or the verifier broke its promise.
        """
        actions = [turn.action for turn in rollout.turns]
        found = enumerate_turns(self.relabel(rollout.task, actions))
        return [
            judged(self.verifier, candidate, Message("assistant", action)).reward
            for (_, candidate), action in zip(found, actions, strict=True)
        ]


@dataclass(frozen=True)
class NearerGoal:
    """1 for an action after which the goal is one turn nearer, else 0.

    Attributes:
        environment: makes a fresh one.
    """

    environment: Callable[[], Environment]

    def __call__(self, rollout: Rollout) -> list[float | None]:
        """None where the goal is out of reach or the state cannot be entered again.

        Raises:
            ValueError: the environment has no oracle.
        """
        world = self.environment()
        if not isinstance(world, OracleEnvironment):
            raise ValueError(
                f"{type(world).__name__} does not know the way to its goal, so its "
                "turns cannot be judged; give it remaining_turns() and "
                "optimal_actions(), or pass judge=..."
            )
        verdicts: list[float | None] = []
        for index, turn in enumerate(rollout.turns):
            if not enter(world, rollout, index):
                verdicts.append(None)
                continue
            before = world.remaining_turns()
            world.step(turn.action)
            nearer = float(world.remaining_turns() < before)
            verdicts.append(nearer if before < math.inf else None)
        return verdicts
