"""Players that act only on what they have seen.

The honest player's acceptable set is the game's functional verdict: the commands a
sensible player with the same information might give. Phases: search, take, to_seen,
to_transform, transform, to_dest, put, search_lamp, to_lamp, use, junk (put down a wrong
object). In pick_two the second object goes where the first one went.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from pivotlab.environments.players import Advice, Slipping
from pivotlab.environments.textgame.belief import Belief, kind
from pivotlab.environments.textgame.games import facts

PHASES = (
    "search",
    "take",
    "to_seen",
    "to_transform",
    "transform",
    "to_dest",
    "put",
    "search_lamp",
    "to_lamp",
    "use",
    "junk",
)


class HonestPlayer:
    """Searches, takes, transforms and delivers, using nothing it has not been shown."""

    name = "honest"
    belief: Belief

    def start(self, observation: str) -> None:
        """Begin a game.

        Raises:
            ValueError: the text shows no room or states no task of this game.
        """
        self.belief = Belief(observation)

    def observe(self, observation: str) -> None:
        """Take in the answer to the last command."""
        self.belief.observe(observation)

    def acceptable(self) -> Advice:
        """Sorted commands a sensible player might give now, and the phase."""
        commands, phase = _plan(self.belief)
        return tuple(sorted(commands)), phase

    def act(self, admissible: Sequence[str], rng: random.Random) -> str:
        """One acceptable command, each equally likely."""
        return rng.choice(self.acceptable()[0])


class NoisyPlayer(Slipping, HonestPlayer):
    """Honest, but with probability `eps` a random command, half of them refused."""

    def slip(self, admissible: Sequence[str], rng: random.Random) -> str:
        """Any command, or one that the game refuses."""
        if rng.random() < 0.5:
            return rng.choice(list(admissible))
        return refused(self.belief, admissible, rng)


def refused(belief: Belief, admissible: Sequence[str], rng: random.Random) -> str:
    """A well-formed command with names the player knows that is not admissible now."""
    objects = sorted({o for held in belief.inside.values() for o in held})
    objects = objects or [f"{belief.goal.object} 1"]
    known = set(admissible)
    while True:
        place, item = rng.choice(belief.places), rng.choice(objects)
        held = belief.held or item
        command = rng.choice(
            (
                f"go to {belief.at or item}",
                f"open {belief.at or place}",
                f"open {place}",
                f"take {item} from {place}",
                f"take {item} from {belief.at or place}",
                f"move {held} to {place}",
                f"clean {held} with {place}",
                f"heat {held} with {place}",
                f"cool {held} with {place}",
                f"use {item}",
            )
        )
        if command not in known:
            return command


def _plan(belief: Belief) -> tuple[list[str], str]:
    held, goal = belief.held, belief.goal
    if held is None:
        return _get(belief)
    if kind(held) != goal.object:
        return _drop(belief, held)
    if goal.lamp is not None:
        return _light(belief, goal.lamp)
    if not belief.ready(held):
        return _transform(belief, held)
    return _deliver(belief, held)


def _get(belief: Belief) -> tuple[list[str], str]:
    """Find and take a target that still has to be brought; ready ones first."""
    placed = _collection(belief)
    found = {
        name: belief.where(name)
        for name in belief.seen(belief.goal.object)
        if placed is None or belief.where(name) != placed
    }
    found = {o: p for o, p in found.items() if belief.ready(o)} or found
    takes = [
        f"take {o} from {p}"
        for o, p in found.items()
        if p == belief.at and p not in belief.shut
    ]
    if takes:
        return takes, "take"
    if belief.at in found.values():
        return [f"open {belief.at}"], "to_seen"
    if found:
        return _go(belief, set(found.values())), "to_seen"
    return _search(belief, belief.goal.object), "search"


def _search(belief: Belief, of_kind: str) -> list[str]:
    """Look into any place that may hold the object; at a closed one, open it.

    A place of the destination type needs no look when one object is wanted as it is:
    had it been there, the game would have been over at the start.
    """
    unseen = belief.unseen(of_kind)
    goal = belief.goal
    if of_kind == goal.object and goal.transform is None and goal.count == 1:
        unseen = [p for p in unseen if kind(p) != goal.destination] or unseen
    if belief.at in unseen and belief.at in belief.shut:
        return [f"open {belief.at}"]
    places = unseen or [p for p in belief.places if p not in belief.inside]
    return _go(belief, places or belief.places)


def _go(belief: Belief, places: Sequence[str] | set[str | None]) -> list[str]:
    return [f"go to {place}" for place in places if place != belief.at]


def _drop(belief: Belief, held: str) -> tuple[list[str], str]:
    """Put a wrong object down: here if it fits, else where it can be put at once."""
    fits = facts()["fits"]
    places = [p for p in belief.places if kind(held) in fits[kind(p)]]
    if belief.at in places and belief.at not in belief.shut:
        return [f"move {held} to {belief.at}"], "junk"
    free = [
        p
        for p in places
        if p not in belief.shut
        and (kind(p) not in facts()["openable"] or p in belief.inside)
    ]
    commands = _go(belief, free or places)
    if belief.at in places:
        commands.append(f"open {belief.at}")
    return commands, "junk"


def _light(belief: Belief, lamp_kind: str) -> tuple[list[str], str]:
    """Bring the held target to a lamp and turn the lamp on."""
    lamps = belief.seen(lamp_kind)
    lit = [lamp for lamp in lamps if lamp in belief.used]
    here = [lamp for lamp in lamps if belief.where(lamp) == belief.at]
    if here:
        return [f"use {lamp}" for lamp in here], "use"
    if lamps:
        return _go(belief, {belief.where(lamp) for lamp in lit or lamps}), "to_lamp"
    return _search(belief, lamp_kind), "search_lamp"


def _transform(belief: Belief, held: str) -> tuple[list[str], str]:
    """Bring the held target to where it is cleaned, heated or cooled, and do it."""
    verb = belief.goal.transform
    station = {"clean": "sinkbasin", "heat": "microwave", "cool": "fridge"}[verb or ""]
    if belief.at is not None and kind(belief.at) == station:
        return [f"{verb} {held} with {belief.at}"], "transform"
    return _go(belief, belief.of_type(station)), "to_transform"


def _deliver(belief: Belief, held: str) -> tuple[list[str], str]:
    """Bring the held target to its destination and put it there."""
    first = _collection(belief)
    ends = [first] if first else belief.of_type(belief.goal.destination)
    if belief.at not in ends:
        return _go(belief, ends), "to_dest"
    if belief.at in belief.shut:
        return [f"open {belief.at}"], "to_dest"
    return [f"move {held} to {belief.at}"], "put"


def _collection(belief: Belief) -> str | None:
    """In pick_two, the destination that already holds an object: the fullest, first."""
    if belief.goal.count == 1:
        return None
    counts = {
        place: sum(kind(o) == belief.goal.object for o in belief.inside.get(place, []))
        for place in belief.of_type(belief.goal.destination)
    }
    best = max(counts, key=lambda place: counts[place])
    return best if counts[best] else None
