"""A player with a few bad habits, for bases that have something to learn.

Each habit belongs to a narrow context (a task, an object, a place, a kind of room) and
there it is nearly deterministic: elsewhere the player is honest. So most turns stay
easy or hopeless, and what goes wrong is a decision, never a garbled command. `grave`
habits come back as long as their context does, mostly until the turns run out and the
game is lost; the others cost turns.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pivotlab.environments.textgame.belief import Belief, kind
from pivotlab.environments.textgame.games import facts
from pivotlab.environments.textgame.players import HonestPlayer, NoisyPlayer

DISHES = ("bowl", "cup", "mug", "plate")
CUTLERY = ("butterknife", "fork", "knife", "ladle", "spatula", "spoon")
TABLES = ("coffeetable", "countertop", "desk", "diningtable", "dresser", "sidetable")


@dataclass(frozen=True)
class Habit:
    """`when` (belief, phase of the honest plan) holds, the command of `does` follows.

    `does` returns None where it has nothing to offer; a command that is not admissible
    or is acceptable after all is not given.
    """

    name: str
    grave: bool
    when: Callable[[Belief, str], bool]
    does: Callable[[Belief], str | None]


class FlawedPlayer(HonestPlayer):
    """Honest but for its habits, each followed with probability `strength`."""

    def __init__(
        self, habits: Sequence[Habit] | None = None, strength: float = 0.98
    ) -> None:
        self.habits = tuple(HABITS if habits is None else habits)
        self.strength = strength
        self.name = "flawed"

    def act(self, admissible: Sequence[str], rng: random.Random) -> str:
        """The command of the first habit whose context this is, else an honest one."""
        found = self.habit(admissible)
        if found is not None and rng.random() < self.strength:
            return found[1]
        return super().act(admissible, rng)

    def habit(self, admissible: Sequence[str]) -> tuple[str, str] | None:
        """Name and command of the habit that applies now."""
        acceptable, phase = self.acceptable()
        for habit in self.habits:
            if not habit.when(self.belief, phase):
                continue
            command = habit.does(self.belief)
            if command in admissible and command not in acceptable:
                return habit.name, command
        return None


class NoisyFlawedPlayer(NoisyPlayer, FlawedPlayer):
    """Flawed, and with probability `eps` a random command."""


def room_kind(belief: Belief) -> str:
    """Kind of room, judged by its furniture."""
    types = {kind(place) for place in belief.places}
    if types & {"fridge", "microwave", "stoveburner", "coffeemachine"}:
        return "kitchen"
    if types & {"toilet", "bathtubbasin", "toiletpaperhanger", "sinkbasin"}:
        return "bathroom"
    return "bedroom" if "bed" in types else "livingroom"


def _bring(belief: Belief, places: list[str]) -> str | None:
    """Next step of: go to the first of the places, open it, put down what is held."""
    if not places:
        return None
    if belief.at not in places:
        return f"go to {places[0]}"
    if belief.at in belief.shut:
        return f"open {belief.at}"
    return f"move {belief.held} to {belief.at}"


def _to_destination(belief: Belief) -> str | None:
    return _bring(belief, belief.of_type(belief.goal.destination))


def _to_other_table(belief: Belief) -> str | None:
    """To a table that is not the one asked for."""
    fits, held = facts()["fits"], kind(belief.held or "")
    wrong = [
        place
        for place in belief.places
        if kind(place) in TABLES
        and kind(place) != belief.goal.destination
        and held in fits[kind(place)]
    ]
    return _bring(belief, wrong)


def _next_place(belief: Belief) -> str | None:
    """To the neighbour in the list of the room."""
    if belief.at is None:
        return None
    following = belief.places.index(belief.at) + 1
    return f"go to {belief.places[following % len(belief.places)]}"


def _other_object(belief: Belief) -> str | None:
    others = [o for o in belief.here() if kind(o) != belief.goal.object]
    return f"take {others[0]} from {belief.at}" if others else None


def _take_back(belief: Belief) -> str | None:
    placed = [o for o in belief.here() if kind(o) == belief.goal.object]
    return f"take {placed[0]} from {belief.at}" if placed else None


def _heat(belief: Belief) -> str | None:
    """To the microwave with it, and heat it once."""
    if ("heat", belief.held) in belief.changed or not belief.of_type("microwave"):
        return None
    if belief.at is not None and kind(belief.at) == "microwave":
        return f"heat {belief.held} with {belief.at}"
    return f"go to {belief.of_type('microwave')[0]}"


def _use_lamp_here(belief: Belief) -> str | None:
    lamps = [o for o in belief.here() if kind(o) == belief.goal.lamp]
    return f"use {lamps[0]}" if lamps and lamps[0] not in belief.used else None


def _at(belief: Belief, *types: str) -> bool:
    return belief.at is not None and kind(belief.at) in types


HABITS = (
    Habit(
        "delivers dishes without heating or cooling them",
        True,
        lambda b, phase: (
            phase in ("to_transform", "transform")
            and b.goal.transform in ("heat", "cool")
            and b.goal.object in DISHES
        ),
        _to_destination,
    ),
    Habit(
        "delivers cutlery without cleaning it",
        True,
        lambda b, phase: (
            phase in ("to_transform", "transform")
            and b.goal.transform == "clean"
            and b.goal.object in CUTLERY
        ),
        _to_destination,
    ),
    Habit(
        "heats food that is to be cooled",
        False,
        lambda b, phase: (
            phase in ("to_transform", "transform")
            and b.goal.transform == "cool"
            and b.goal.object in facts()["heatable"]
        ),
        _heat,
    ),
    Habit(
        "opens the fridge or microwave before using it",
        False,
        lambda b, phase: phase == "transform" and _at(b, "fridge", "microwave"),
        lambda b: f"open {b.at}" if b.at in b.shut else None,
    ),
    Habit(
        "closes the drawer instead of taking from it",
        True,
        lambda b, phase: phase == "take" and _at(b, "drawer"),
        lambda b: f"close {b.at}",
    ),
    Habit(
        "walks off after seeing the target on a shelf or sidetable",
        True,
        lambda b, phase: phase == "take" and _at(b, "shelf", "sidetable"),
        _next_place,
    ),
    Habit(
        "takes another object in the bathroom",
        True,
        lambda b, phase: phase == "take" and room_kind(b) == "bathroom",
        _other_object,
    ),
    Habit(
        "brings it to another table when it belongs on a diningtable or dresser",
        True,
        lambda b, phase: (
            phase in ("to_dest", "put")
            and b.goal.destination in ("diningtable", "dresser")
        ),
        _to_other_table,
    ),
    Habit(
        "takes the first object back instead of fetching the second",
        True,
        lambda b, phase: (
            phase in ("search", "to_seen")
            and b.goal.count == 2
            and room_kind(b) in ("kitchen", "livingroom")
            and _at(b, b.goal.destination or "")
        ),
        _take_back,
    ),
    Habit(
        "examines the object instead of using the floorlamp",
        True,
        lambda b, phase: phase == "use" and b.goal.lamp == "floorlamp",
        lambda b: f"examine {b.held}",
    ),
    Habit(
        "uses the desklamp with empty hands",
        False,
        lambda b, phase: (
            phase in ("search", "to_seen", "take") and b.goal.lamp == "desklamp"
        ),
        _use_lamp_here,
    ),
    Habit(
        "passes a closed cabinet in the kitchen",
        True,
        lambda b, phase: (
            phase == "search" and _at(b, "cabinet") and room_kind(b) == "kitchen"
        ),
        _next_place,
    ),
)
