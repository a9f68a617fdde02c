"""The embedded encyclopedia: invented people, towns, rivers, firms and books.

Names are the same in every edition, facts are not: edition 7 has Mira Holt born in
another town than edition 8. So no fact can be learnt by heart in one edition and used
in another, and only searching answers a question. Training tasks come from editions 0
to 63, `valid` from 64, `test` from 65.

A question asks for a relation of a relation ... of a named thing, one to three deep:
"Who is the mayor of the birth town of Mira Holt?". Every relation has one value, so the
answer is unique by construction, and each hop is told by one passage: that of the thing
asked about.

A task id is `generated/<train|valid|test>/<edition>/<six digits>`.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from pivotlab.environments.search_qa.library import Corpus, Passage, Question

Split = Literal["train", "valid", "test"]
EDITIONS = {"train": range(64), "valid": range(64, 65), "test": range(65, 66)}
MOST_HOPS = 3
_TEXT_FIRST = """
Ada Boris Clara Dario Elsa Felix Greta Hugo Ines Jonas Karin Leon Mira Nils Olga Pavel
Rosa Sven Tilda Viktor
"""
_FIRST = _TEXT_FIRST.split()
_LAST = ("Adler", "Brandt", "Conti", "Duval", "Eklund", "Ferro", "Grant", "Holt")
_TEXT_TOWNS = """
Arnau Belfort Corva Dunmere Eltham Forli Grasmere Holmsund Ilford Jarnac Kelso Lindau
Morven Nerja Oldham Pergine Quedlin Ravello Selkirk Tarvis Ulverton Varnel Wexford Yarm
Zwettl Ancora Brevik Calder Dornoch Estrel
"""
_TOWNS = _TEXT_TOWNS.split()
_TEXT_RIVERS = """
Alda Berno Cinca Dovra Esk Fenna Garon Hylte Isar Jule Korra Lenne Mosa Nidda Orba Pesca
"""
_RIVERS = _TEXT_RIVERS.split()
_SEAS = ("Amber Sea", "Black Gulf", "Coral Bay", "Dusk Ocean", "Emerald Strait")
_TEXT_FIRMS = """
Axiom Borealis Cobalt Delphi Equinox Fulcrum Granite Helix Isotope Juniper Kestrel
Lantern Meridian Nimbus Obsidian Paragon Quartz Radian Solstice Tundra
"""
_FIRMS = _TEXT_FIRMS.split()
_TEXT_BOOKS = """
Ashes Bells Cinders Driftwood Embers Feathers Glaciers Harbors Islands Journeys Kingdoms
Ladders Mirrors Nightfall Orchards Paper Riddles Shadows Thunder Voyages
"""
_BOOKS = _TEXT_BOOKS.split()
_JOBS = (
    "painter",
    "doctor",
    "lawyer",
    "teacher",
    "sailor",
    "farmer",
    "singer",
    "chemist",
    "baker",
    "pilot",
)
_GOODS = (
    "clocks",
    "paper",
    "bicycles",
    "lamps",
    "boats",
    "pianos",
    "shoes",
    "tractors",
    "cameras",
    "glass",
)
_YEARS = tuple(str(year) for year in range(1801, 1841))


@dataclass(frozen=True)
class Relation:
    """`noun` as in "the mayor of"; `sentence` tells it; `target`: a kind, or values."""

    noun: str
    sentence: str
    target: str | tuple[str, ...]
    who: bool = False


def _people() -> list[str]:
    return [f"{first} {last}" for first in _FIRST for last in _LAST]


#: Kind of thing -> names.
NAMES: dict[str, Sequence[str]] = {
    "person": _people(),
    "town": _TOWNS,
    "river": [f"{name} River" for name in _RIVERS],
    "firm": [f"{name} Works" for name in _FIRMS],
    "book": [f"Book of {name}" for name in _BOOKS],
}
#: Kind of thing -> its relations, in the order in which its passage tells them.
RELATIONS: dict[str, tuple[Relation, ...]] = {
    "person": (
        Relation("birth town", "{name} was born in {value}.", "town"),
        Relation("job", "{name} is a {value}.", tuple(_JOBS)),
    ),
    "town": (
        Relation("river", "{name} lies on the {value}.", "river"),
        Relation("mayor", "The mayor of {name} is {value}.", "person", who=True),
        Relation("year", "{name} was founded in {value}.", _YEARS),
    ),
    "river": (Relation("sea", "The {name} flows into the {value}.", _SEAS),),
    "firm": (
        Relation("founder", "{name} was founded by {value}.", "person", who=True),
        Relation("seat", "The seat of {name} is {value}.", "town"),
        Relation("product", "{name} makes {value}.", tuple(_GOODS)),
    ),
    "book": (
        Relation("author", "{name} was written by {value}.", "person", who=True),
        Relation("year", "{name} was published in {value}.", _YEARS),
    ),
}
_NOUNS = sorted({r.noun for kind in RELATIONS.values() for r in kind})
_QUESTION = re.compile(rf"(?:What|Who) is ((?:the (?:{'|'.join(_NOUNS)}) of )+)(.+)\?")
_TASK = re.compile(r"generated/(train|valid|test)/(\d+)/(\d{6})")


@dataclass(frozen=True)
class Edition:
    """One edition: its corpus and, by name and relation, its facts."""

    corpus: Corpus
    facts: Mapping[tuple[str, str], str]
    places: Mapping[str, int]


@lru_cache(maxsize=80)
def edition(number: int) -> Edition:
    """The edition of a number, the same on every machine."""
    rng = random.Random(f"edition/{number}")
    facts, passages, places = {}, [], {}
    for kind, names in NAMES.items():
        for name in names:
            sentences = []
            for relation in RELATIONS[kind]:
                value = rng.choice(_values(relation))
                facts[name, relation.noun] = value
                sentences.append(relation.sentence.format(name=name, value=value))
            places[name] = len(passages)
            passages.append(Passage(name, " ".join(sentences)))
    return Edition(Corpus(passages), facts, places)


def library(task: str) -> tuple[Corpus, Question]:
    """Corpus and question of a task.

    Raises:
        ValueError: the id names no task.
    """
    found = _TASK.fullmatch(task)
    if found is None or int(found[2]) not in EDITIONS[found[1]]:
        raise ValueError(
            f"no question {task!r}; ids are generated/<split>/<edition>/<six digits>, "
            "editions 0-63 for train, 64 for valid, 65 for test"
        )
    book, rng = edition(int(found[2])), random.Random(task)
    return book.corpus, _question(book, rng.randint(1, MOST_HOPS), rng)


def task_ids(split: Split, count: int, start: int = 0) -> list[str]:
    """Ids of `count` tasks of a split; training tasks go through the editions."""
    editions = EDITIONS[split]
    return [
        f"generated/{split}/{editions[number % len(editions)]}/{number:06d}"
        for number in range(start, start + count)
    ]


def read(question: str) -> tuple[str, tuple[str, ...]]:
    """The named thing of a generated question, and the relations from it outwards.

    Raises:
        ValueError: the question is not worded like the generated ones.
    """
    found = _QUESTION.fullmatch(question)
    if found is None:
        raise ValueError(f"not a question of the encyclopedia: {question!r}")
    nouns = re.findall(r"the (.+?) of ", found[1])
    return found[2], tuple(reversed(nouns))


def told(name: str, noun: str, text: str) -> str | None:
    """The value of a relation as a passage tells it, None if it does not."""
    for relation in (r for rows in RELATIONS.values() for r in rows if r.noun == noun):
        before, after = relation.sentence.format(name=name, value="\n").split("\n")
        found = re.search(re.escape(before) + "(.+?)" + re.escape(after), text)
        if found:
            return found[1]
    return None


def _values(relation: Relation) -> Sequence[str]:
    target = relation.target
    return NAMES[target] if isinstance(target, str) else target


def _question(book: Edition, hops: int, rng: random.Random) -> Question:
    """A question of exactly that many hops through as many different things."""
    while True:
        kind = rng.choice([k for k in sorted(RELATIONS) if _depth(k) >= hops])
        names, nouns = [rng.choice(NAMES[kind])], []
        for left in range(hops - 1, -1, -1):
            fitting = [r for r in RELATIONS[kind] if _depth(r.target) >= left]
            relation = rng.choice(fitting)
            nouns.append(relation.noun)
            names.append(book.facts[names[-1], relation.noun])
            kind = str(relation.target)
        if len(set(names)) == len(names):
            break
    asked = "".join(f"the {noun} of " for noun in reversed(nouns))
    text = f"{'Who' if relation.who else 'What'} is {asked}{names[0]}?"
    evidence = tuple(frozenset([book.places[name]]) for name in names[:-1])
    return Question(text, (names[-1],), evidence)


def _depth(target: str | tuple[str, ...]) -> int:
    """How many hops can start at a kind of thing, up to the most that are asked."""
    if not isinstance(target, str):
        return 0
    return 1 if target == "river" else MOST_HOPS
