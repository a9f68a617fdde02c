"""What a player knows: the task and everything the game has told it so far.

Only texts go in, so a belief holds for the twin and for the real engine alike. Beyond
them it uses common knowledge of the game: which types can be opened, and what fits
where.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

from pivotlab.environments.textgame.games import TRANSFORMS, Goal, facts, homes

_N = r"([a-z]+ \d+)"
_SEEN = re.compile(rf"(?:On the|The) {_N}(?: is open. In it)?, you see (.*)\.")
_SHUT = re.compile(rf"The {_N} is closed\.")
_ARRIVE = re.compile(rf"You arrive at {_N}\. (.*)")
_OPEN = re.compile(rf"You open the {_N}\. (.*)")
_CLOSE = re.compile(rf"You close the {_N}\.")
_TAKE = re.compile(rf"You pick up the {_N} from the {_N}\.")
_MOVE = re.compile(rf"You move the {_N} to the {_N}\.")
_CHANGE = re.compile(rf"You (clean|heat|cool) the {_N} using the {_N}\.")
_USE = re.compile(rf"You turn on the {_N}\.")
_NAME = re.compile(r"[a-z]+ \d+")


def kind(name: str) -> str:
    """Type of a numbered name: `mug` of `mug 2`."""
    return name.split(" ", 1)[0]


@cache
def _sentences() -> list[tuple[str, re.Pattern[str]]]:
    """Task type and pattern of every goal sentence."""
    words = {"obj": r"(?P<obj>[a-z]+)", "recep": r"(?P<recep>[a-z]+)"}
    words["toggle"] = r"(?P<toggle>[a-z]+)"
    return [
        (task, re.compile(sentence.format(**words)))
        for task, table in facts()["tasks"].items()
        for sentence in table["sentences"]
    ]


def read_goal(sentence: str) -> Goal:
    """The goal a sentence such as `put a clean mug in desk` states.

    Raises:
        ValueError: no goal sentence of the game reads like this.
    """
    for task, form in _sentences():
        match = form.fullmatch(sentence)
        if match is None:
            continue
        names = match.groupdict()
        word = task.split("_")[1]
        return Goal(
            object=names["obj"],
            destination=names.get("recep"),
            transform=word if word in TRANSFORMS else None,
            lamp=names.get("toggle"),
            count=2 if task == "pick_two_obj_and_place" else 1,
        )
    raise ValueError(f"no goal of this game reads {sentence!r}")


class Belief:
    """Knowledge after the first observation; `observe` adds what later ones tell.

    `inside` maps a receptacle to the objects last seen in it, and misses those never
    looked into; `shut` holds the receptacles known to be closed; `changed` the (verb,
    object) pairs that still hold; `used` the lamps turned on.
    """

    def __init__(self, observation: str) -> None:
        """Read the opening of a game.

        Raises:
            ValueError: the text shows no room or states no task of this game.
        """
        room, _, task = observation.partition("Your task is to: ")
        self.places = _NAME.findall(room.partition("you see")[2])
        if not self.places:
            raise ValueError(f"no room in the first observation {observation!r}")
        self.goal = read_goal(task.strip().removesuffix("."))
        self.at: str | None = None
        self.held: str | None = None
        self.inside: dict[str, list[str]] = {}
        self.shut: set[str] = set()
        self.changed: set[tuple[str, str]] = set()
        self.used: set[str] = set()

    def observe(self, observation: str) -> None:
        """Take in the answer to the player's last command."""
        for form, learn in _LESSONS:
            match = form.fullmatch(observation)
            if match:
                learn(self, *match.groups())
                return

    def where(self, name: str) -> str | None:
        """Receptacle in which the object was seen last."""
        for place, objects in self.inside.items():
            if name in objects:
                return place
        return None

    def seen(self, of_kind: str) -> list[str]:
        """Objects of a type whose place is known, sorted."""
        names = (o for held in self.inside.values() for o in held)
        return sorted(name for name in names if kind(name) == of_kind)

    def of_type(self, of_kind: str | None) -> list[str]:
        """Receptacles of a type, in the order of the room."""
        return [place for place in self.places if kind(place) == of_kind]

    def unseen(self, of_kind: str) -> list[str]:
        """Receptacles never looked into that may hold an object of this type."""
        types = homes(of_kind)
        return [p for p in self.places if p not in self.inside and kind(p) in types]

    def here(self) -> list[str]:
        """Objects seen in or on the receptacle the player stands at, if it is open."""
        if self.at is None or self.at in self.shut:
            return []
        return self.inside.get(self.at, [])

    def ready(self, name: str) -> bool:
        """Whether the object is as the goal wants it (clean, hot, cool or anything)."""
        verb = self.goal.transform
        return verb is None or (verb, name) in self.changed

    def _see(self, place: str, objects: str) -> None:
        self.inside[place] = _NAME.findall(objects)
        self.shut.discard(place)

    def _see_shut(self, place: str) -> None:
        self.shut.add(place)

    def _arrive(self, place: str, rest: str) -> None:
        self.at = place
        self.observe(rest)

    def _open(self, place: str, rest: str) -> None:
        self.observe(rest)

    def _take(self, name: str, place: str) -> None:
        self.held = name
        self.inside[place] = [o for o in self.inside.get(place, []) if o != name]

    def _move(self, name: str, place: str) -> None:
        self.held = None
        self.inside.setdefault(place, []).append(name)

    def _change(self, verb: str, name: str, place: str) -> None:
        self.changed.add((verb, name))
        if verb != "clean":
            self.changed.discard(("cool" if verb == "heat" else "heat", name))

    def _use(self, name: str) -> None:
        self.used.add(name)


#: Form of an observation -> what it teaches.
_LESSONS: tuple[tuple[re.Pattern[str], Callable[..., None]], ...] = (
    (_ARRIVE, Belief._arrive),
    (_OPEN, Belief._open),
    (_CLOSE, Belief._see_shut),
    (_TAKE, Belief._take),
    (_MOVE, Belief._move),
    (_CHANGE, Belief._change),
    (_USE, Belief._use),
    (_SEEN, Belief._see),
    (_SHUT, Belief._see_shut),
)
