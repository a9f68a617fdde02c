"""Unrelated text skills with exact answers: the retention suite.

Each skill asks one short question and has exactly one right answer. Most share no
token that matters with the text game; some are made of the game's own entities and
commands, so that training on the game has to touch the tokens they need. A skill is in
`SKILLS` only if the shipped model answers at least 0.9 of its held-out questions.

Train and held-out questions are disjoint by construction: a question belongs to the
held-out tenth when the first byte of its SHA-256 is below 26, a property of its text
alone, and `Skill.draw` redraws until the question lies in the split asked for. The
pretraining recipe draws from "train" only.
"""

from __future__ import annotations

import hashlib
import random
import string
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Literal

from pivotlab.environments.textgame import games
from pivotlab.records import Message

Split = Literal["train", "held_out"]
#: A question is held out when the first byte of its hash is below this (10.2 %).
HELD_OUT_BELOW = 26

UNITS = (
    ("centimeters", "millimeters", 10),
    ("meters", "centimeters", 100),
    ("dollars", "cents", 100),
    ("kilometers", "meters", 1000),
    ("kilograms", "grams", 1000),
    ("liters", "milliliters", 1000),
)
#: The words of all questions, beside letters, digits and the game's entities.
WORDS = (
    *("add", "and", "sort", "reverse", "replace", "with", "in", "shift"),
    *("where", "is", "on", "undo", "to", "from", "open", "close"),
    *("take", "move", "what", *sorted({name for unit in UNITS for name in unit[:2]})),
    *string.ascii_lowercase,
)


@dataclass(frozen=True)
class Skill:
    """One skill; `make` draws a question and its answer from the generator it gets."""

    name: str
    make: Callable[[random.Random], tuple[str, str]]
    shares_game_tokens: bool = False

    def draw(self, rng: random.Random, split: Split = "train") -> tuple[str, str]:
        """A question of one split, and its answer."""
        while True:
            question, answer = self.make(rng)
            if is_held_out(question) == (split == "held_out"):
                return question, answer


def is_held_out(question: str) -> bool:
    """Whether the question belongs to the held-out tenth."""
    return hashlib.sha256(question.encode()).digest()[0] < HELD_OUT_BELOW


def messages(question: str, answer: str) -> tuple[Message, Message]:
    """Question and answer as a conversation of two turns."""
    return Message("user", question), Message("assistant", answer)


def _add(rng: random.Random) -> tuple[str, str]:
    a, b = rng.randint(10, 99), rng.randint(10, 99)
    return f"add {a} and {b}", str(a + b)


def _sort(rng: random.Random) -> tuple[str, str]:
    letters = rng.sample(string.ascii_lowercase, rng.randint(3, 6))
    return f"sort {' '.join(letters)}", " ".join(sorted(letters))


def _reverse(rng: random.Random) -> tuple[str, str]:
    letters = rng.choices(string.ascii_lowercase, k=rng.randint(3, 6))
    return f"reverse {' '.join(letters)}", " ".join(reversed(letters))


def _replace(rng: random.Random) -> tuple[str, str]:
    old, new, *others = rng.sample(string.ascii_lowercase, 4)
    text = rng.choices([old, *others], k=rng.randint(3, 6))
    changed = [new if letter == old else letter for letter in text]
    return f"replace {old} with {new} in {' '.join(text)}", " ".join(changed)


def _shift(rng: random.Random) -> tuple[str, str]:
    letters = rng.choices(string.ascii_lowercase[:-1], k=rng.randint(3, 6))
    moved = [chr(ord(letter) + 1) for letter in letters]
    return f"shift {' '.join(letters)}", " ".join(moved)


def _convert(rng: random.Random) -> tuple[str, str]:
    big, small, factor = rng.choice(UNITS)
    amount = rng.randint(2, 999)
    return f"{amount} {big} in {small}", str(amount * factor)


def _look_up(rng: random.Random) -> tuple[str, str]:
    keys = rng.sample(string.ascii_lowercase, rng.randint(3, 5))
    pairs = {key: rng.randint(0, 9) for key in keys}
    listed = ", ".join(f"{key} is {value}" for key, value in pairs.items())
    key = rng.choice(keys)
    return f"{listed}. what is {key}", str(pairs[key])


def _undo(rng: random.Random) -> tuple[str, str]:
    thing, place = _object(rng), _receptacle(rng)
    pairs = (
        (f"take {thing} from {place}", f"move {thing} to {place}"),
        (f"move {thing} to {place}", f"take {thing} from {place}"),
        (f"open {place}", f"close {place}"),
        (f"close {place}", f"open {place}"),
    )
    done, undone = rng.choice(pairs)
    return f"undo {done}", undone


def _find(rng: random.Random) -> tuple[str, str]:
    things = sorted({_object(rng) for _ in range(rng.randint(3, 5))})
    rng.shuffle(things)
    places = {thing: _receptacle(rng) for thing in things}
    listed = ", ".join(f"{thing} on {place}" for thing, place in places.items())
    thing = rng.choice(things)
    return f"{listed}. where is {thing}", f"on {places[thing]}"


def _object(rng: random.Random) -> str:
    return f"{rng.choice(object_types())} {rng.randint(1, 2)}"


def _receptacle(rng: random.Random) -> str:
    kind = rng.choice(sorted(receptacle_numbers()))
    return f"{kind} {rng.randint(1, receptacle_numbers()[kind])}"


@cache
def object_types() -> tuple[str, ...]:
    """Every object type of the game's rooms, sorted."""
    rooms = games.facts()["rooms"].values()
    return tuple(sorted({kind for room in rooms for kind in room["objects"]}))


@cache
def receptacle_numbers() -> dict[str, int]:
    """Receptacle type -> the most of it in any of the game's rooms."""
    most: dict[str, int] = {}
    for room in games.facts()["rooms"].values():
        for kind, count in room["receptacles"].items():
            most[kind] = max(count, most.get(kind, 0))
    return most


SKILLS: dict[str, Skill] = {
    skill.name: skill
    for skill in (
        Skill("add", _add),
        Skill("sort", _sort),
        Skill("reverse", _reverse),
        Skill("replace", _replace),
        Skill("shift", _shift),
        Skill("convert", _convert),
        Skill("undo", _undo, shares_game_tokens=True),
    )
}
#: Asked in pretraining as well, but the shipped model never got above chance at them
#: (0.33 and 0.25 of 100 held-out questions, greedy), so they measure no forgetting.
UNLEARNT: dict[str, Skill] = {
    "look_up": Skill("look_up", _look_up),
    "find": Skill("find", _find, shares_game_tokens=True),
}
