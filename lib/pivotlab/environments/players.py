"""Who plays: the interface of scripted players, and slips for any of them.

An honest player of an environment offers `acceptable`: what a sensible player with the
same information might do now, which is that environment's functional verdict.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

#: Sorted acceptable actions, and the phase the player is in.
Advice = tuple[tuple[str, ...], str]


@runtime_checkable
class Player(Protocol):
    """Plays one episode: `start`, then `act` and `observe` in turn."""

    name: str

    def start(self, observation: str) -> None:
        """Begin an episode with its first observation."""
        ...

    def act(self, admissible: Sequence[str], rng: random.Random) -> str:
        """Next action; `admissible` are those that would be carried out now."""
        ...

    def observe(self, observation: str) -> None:
        """Take in the answer to the last action, whoever gave it."""
        ...


class Script:
    """Player whose actions are fixed beforehand, such as a model's own."""

    def __init__(self, actions: Sequence[str], name: str = "script") -> None:
        self.name = name
        self._actions = iter(actions)

    def start(self, observation: str) -> None:
        """Nothing to prepare."""

    def act(self, admissible: Sequence[str], rng: random.Random) -> str:
        """The next action of the list."""
        return next(self._actions)

    def observe(self, observation: str) -> None:
        """Answers change nothing."""


class Slipping:
    """Put before a player's class: with probability `eps` a turn `slip` acts instead.

        class NoisyPlayer(Slipping, HonestPlayer): ...

    `slips` holds the turns, from 0, at which it did.
    """

    def __init__(self, eps: float, *given: Any, **named: Any):
        super().__init__(*given, **named)
        self.eps = eps
        self.name = f"noisy-{eps:g}"

    def start(self, observation: str) -> None:
        """Begin an episode."""
        super().start(observation)
        self.turn, self.slips = -1, []

    def act(self, admissible: Sequence[str], rng: random.Random) -> str:
        """The player's action, or a slip."""
        self.turn += 1
        if rng.random() >= self.eps:
            return super().act(admissible, rng)
        self.slips.append(self.turn)
        return self.slip(admissible, rng)

    def slip(self, admissible: Sequence[str], rng: random.Random) -> str:
        """What is done by mistake."""
        raise NotImplementedError
