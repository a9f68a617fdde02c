"""What every environment offers.

An environment is deterministic given its task and the actions taken; a snapshot is a
hashable value that says everything about the state, so restoring is exact and replay is
never needed.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple, Protocol, runtime_checkable

#: Stands in a listed action where any text may stand: `search[...]` is every search.
ANY_TEXT = "..."


class Step(NamedTuple):
    """Answer to one action; `reward` is 1.0 exactly when it solved the task."""

    observation: str
    reward: float
    done: bool


@runtime_checkable
class Environment(Protocol):
    """A text environment with one agent."""

    def reset(self, task: str) -> str:
        """Start `task`; returns the first observation, which states the task.

        Raises:
            ValueError: the task id names no task; the message says which ids exist.
        """
        ...

    def step(self, action: str) -> Step:
        """Take one action. An inadmissible action is answered, never raised."""
        ...

    def admissible(self) -> list[str]:
        """Actions the environment would carry out now, sorted; see `ANY_TEXT`."""
        ...

    def snapshot(self) -> Hashable:
        """The whole state as a hashable value."""
        ...

    def restore(self, snapshot: Hashable) -> None:
        """Go back to a snapshot of this environment's current task."""
        ...


@runtime_checkable
class OracleEnvironment(Environment, Protocol):
    """An environment that knows the shortest way to its goal (for oracle pivots)."""

    def remaining_turns(self) -> float:
        """L(s): fewest turns to the goal from here; `math.inf` if out of reach."""
        ...

    def optimal_actions(self) -> list[str]:
        """Admissible actions after which L has fallen by one, sorted."""
        ...
