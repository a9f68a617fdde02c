"""Games of the household text game: what is where, and what is to be done.

A game is a pure function of its id, which reads
`<task type>/<split>/<six digits>` or `<task type>/<split>/full/<six digits>`, for
example `pick_heat_then_place_in_recep/valid_seen/000123`. Without `full` the room is
capped at 10 receptacles and 12-15 objects; `full` rooms keep all receptacles of the
floor plan.

Rooms, goal sentences and what fits where come from ALFWorld (`data/alfworld`). Splits
are by room: `valid_unseen` rooms never occur in `train`; `valid_seen` plays other games
in the rooms of `train`.

Departures from the official games: (1) placements are sampled from what fits where, not
taken from a simulator; (2) every receptacle has a location of its own; (3) one in ten
openable receptacles is open at the start; (4) a floor lamp stands in or on a
receptacle, as the rules demand of every lamp that is to be used; (5) the place where an
object is cleaned, heated or cooled is never also its destination.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from dataclasses import dataclass
from functools import cache
from typing import Any

from pivotlab import paths

TASK_TYPES = (
    "pick_and_place_simple",
    "look_at_obj_in_light",
    "pick_clean_then_place_in_recep",
    "pick_heat_then_place_in_recep",
    "pick_cool_then_place_in_recep",
    "pick_two_obj_and_place",
)
SPLITS = ("train", "valid_seen", "valid_unseen")
#: Transform -> (property of the object type, receptacle type that does it).
TRANSFORMS = {
    "clean": ("cleanable", "sinkbasin"),
    "heat": ("heatable", "microwave"),
    "cool": ("coolable", "fridge"),
}
#: Where lamps stand, best place first.
LAMP_PLACES = ("desk", "sidetable", "dresser", "coffeetable", "diningtable", "shelf")
CAP_RECEPTACLES = 10
CAP_PER_TYPE = 3
CAP_OBJECTS = (12, 15)
OPEN_AT_START = 0.1
_ID = re.compile(rf"({'|'.join(TASK_TYPES)})/({'|'.join(SPLITS)})/(full/)?(\d{{6}})")


@dataclass(frozen=True)
class Receptacle:
    """A place. `name` is type and number, `open` its state at the start."""

    name: str
    type: str
    openable: bool
    open: bool


@dataclass(frozen=True)
class Item:
    """An object and the name of the receptacle it starts in; lamps cannot be taken."""

    name: str
    type: str
    receptacle: str


@dataclass(frozen=True)
class Goal:
    """What wins. `destination` is None for looking at an object under `lamp`.

    `count` objects of type `object`, after `transform` (clean, heat, cool or None),
    must lie in one receptacle of type `destination`.
    """

    object: str
    destination: str | None
    transform: str | None = None
    lamp: str | None = None
    count: int = 1


@dataclass(frozen=True)
class Game:
    """One game. Receptacles and objects are sorted by type, then number.

    Numbers of one type run from 1 without gaps, so an engine that numbers by counting
    gives the same names.
    """

    id: str
    task_type: str
    split: str
    room: int
    room_kind: str
    receptacles: tuple[Receptacle, ...]
    objects: tuple[Item, ...]
    goal: Goal
    sentence: str


@cache
def facts() -> dict[str, Any]:
    """Content of `data/alfworld/rooms.json`; its keys are described by `derive.py`.

    Raises:
        FileNotFoundError: the data file is missing from the checkout.
    """
    path = paths.DATA / "alfworld" / "rooms.json"
    data = json.loads(path.read_text(encoding="utf-8"))
    data["fits"] = {kind: frozenset(held) for kind, held in data["fits"].items()}
    return data


@cache
def homes(kind: str) -> tuple[str, ...]:
    """Receptacle types on which an object of type `kind` fits, sorted."""
    if kind in facts()["toggleable"]:
        return LAMP_PLACES
    return tuple(place for place, held in facts()["fits"].items() if kind in held)


def task_ids(
    split: str,
    count: int,
    start: int = 0,
    types: tuple[str, ...] = TASK_TYPES,
    full: bool = False,
) -> list[str]:
    """`count` ids of one split, the task types in turn, numbers from `start` on."""
    size = "full/" if full else ""
    n = len(types)
    return [f"{types[i % n]}/{split}/{size}{start + i // n:06d}" for i in range(count)]


def make_game(task_id: str) -> Game:
    """The game of this id, the same on every machine.

    Raises:
        ValueError: the id is not of the documented form; the message names the forms.
    """
    match = _ID.fullmatch(task_id)
    if match is None:
        raise ValueError(
            f"no game {task_id!r}: ids read <task type>/<split>/[full/]<six digits>, "
            f"task types {', '.join(TASK_TYPES)}, splits {', '.join(SPLITS)}"
        )
    task_type, split, full, _ = match.groups()
    rng = random.Random(task_id)
    room = rng.choice(sorted(_choices(task_type, split)))
    goal = _choose_goal(task_type, split, room, rng)
    places = _choose_receptacles(goal, room, bool(full), rng)
    things = _place_objects(goal, room, places, bool(full), rng)
    return Game(
        id=task_id,
        task_type=task_type,
        split=split,
        room=room,
        room_kind=facts()["rooms"][str(room)]["kind"],
        receptacles=places,
        objects=things,
        goal=goal,
        sentence=_sentence(task_type, goal, rng),
    )


@cache
def _choices(task_type: str, split: str) -> dict[int, dict[str, tuple[str, ...]]]:
    """Room -> object type -> destination (or lamp) types that make a solvable goal."""
    numbers = facts()["unseen" if split == "valid_unseen" else "train"]
    kinds = facts()["tasks"][task_type]["rooms"]
    rooms = facts()["rooms"]
    found = {
        n: _room_choices(task_type, rooms[str(n)])
        for n in numbers
        if rooms[str(n)]["kind"] in kinds
    }
    return {n: choices for n, choices in found.items() if choices}


def _room_choices(task_type: str, room: dict[str, Any]) -> dict[str, tuple[str, ...]]:
    """Object type -> destination (or lamp) types for one room."""
    present = room["receptacles"]
    lamps = tuple(k for k in facts()["toggleable"] if k in room["objects"])
    transform = _transform(task_type)
    needed, station = TRANSFORMS.get(transform or "", (None, None))
    if station is not None and station not in present:
        return {}
    choices = {}
    for kind in room["objects"]:
        if kind in lamps or (needed and kind not in facts()[needed]):
            continue
        places = [p for p in homes(kind) if p in present]
        if task_type == "look_at_obj_in_light":
            ends = lamps if any(p in present for p in LAMP_PLACES) and places else ()
        elif len(places) > 1:
            ends = tuple(p for p in places if p != station)
        else:
            ends = ()
        if ends:
            choices[kind] = ends
    return choices


def _transform(task_type: str) -> str | None:
    word = task_type.split("_")[1]
    return word if word in TRANSFORMS else None


def _choose_goal(task_type: str, split: str, room: int, rng: random.Random) -> Goal:
    choices = _choices(task_type, split)[room]
    kind = rng.choice(sorted(choices))
    end = rng.choice(choices[kind])
    if task_type == "look_at_obj_in_light":
        return Goal(kind, None, lamp=end)
    count = 2 if task_type == "pick_two_obj_and_place" else 1
    return Goal(kind, end, transform=_transform(task_type), count=count)


def _choose_receptacles(
    goal: Goal, room: int, full: bool, rng: random.Random
) -> tuple[Receptacle, ...]:
    """All receptacles of the room, or a capped choice that serves the goal."""
    counts = facts()["rooms"][str(room)]["receptacles"]
    if not full:
        counts = _capped(goal, counts, rng)
    openable = facts()["openable"]
    return tuple(
        Receptacle(
            name=f"{kind} {number}",
            type=kind,
            openable=kind in openable,
            open=kind in openable and rng.random() < OPEN_AT_START,
        )
        for kind in sorted(counts)
        for number in range(1, counts[kind] + 1)
    )


def _capped(goal: Goal, counts: dict[str, int], rng: random.Random) -> Counter[str]:
    """Receptacle counts cut to the cap; the types the goal needs stay."""
    starts = [p for p in homes(goal.object) if p in counts and p != goal.destination]
    chosen = Counter([rng.choice(starts)])
    if goal.lamp is not None:
        chosen[next(p for p in LAMP_PLACES if p in counts)] |= 1
    if goal.destination is not None:
        chosen[goal.destination] |= 1
    if goal.transform is not None:
        chosen[TRANSFORMS[goal.transform][1]] |= 1
    pool = [
        kind
        for kind in sorted(counts)
        for _ in range(min(counts[kind], CAP_PER_TYPE) - chosen[kind])
    ]
    rng.shuffle(pool)
    return +(chosen + Counter(pool[: CAP_RECEPTACLES - chosen.total()]))


def _place_objects(
    goal: Goal,
    room: int,
    places: tuple[Receptacle, ...],
    full: bool,
    rng: random.Random,
) -> tuple[Item, ...]:
    """Targets, the lamp and other objects of the room, each where it fits."""
    by_type: dict[str, list[str]] = {}
    for place in places:
        by_type.setdefault(place.type, []).append(place.name)
    counts = _object_counts(goal, room, set(by_type), full, rng)
    items = []
    for kind in sorted(counts):
        types = [p for p in homes(kind) if p in by_type]
        if kind == goal.object and goal.transform is None:
            types = [p for p in types if p != goal.destination]
        if kind in facts()["toggleable"]:
            types = types[:1]
        for number in range(1, counts[kind] + 1):
            spot = rng.choice(by_type[rng.choice(types)])
            items.append(Item(f"{kind} {number}", kind, spot))
    return tuple(items)


def _object_counts(
    goal: Goal, room: int, present: set[str], full: bool, rng: random.Random
) -> Counter[str]:
    """How many objects of each type the room holds."""
    counts = Counter({goal.object: goal.count + rng.randrange(2)})
    if goal.lamp is not None:
        counts[goal.lamp] = 1
    others = [
        kind
        for kind in facts()["rooms"][str(room)]["objects"]
        if kind not in counts and any(p in present for p in homes(kind))
    ]
    rng.shuffle(others)
    limit = rng.randint(*CAP_OBJECTS) if not full else 3 * len(others)
    for kind in others:
        room_left = limit - counts.total()
        if room_left <= 0:
            break
        most = 1 if kind in facts()["toggleable"] else 3 if full else 2
        counts[kind] = min(rng.randint(1, most), room_left)
    return counts


def _sentence(task_type: str, goal: Goal, rng: random.Random) -> str:
    """Goal sentence as the intro states it, without `Your task is to: `."""
    template = rng.choice(facts()["tasks"][task_type]["sentences"])
    return template.format(obj=goal.object, recep=goal.destination, toggle=goal.lamp)
