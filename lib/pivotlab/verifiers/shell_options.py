"""Options of common programs: which order, bundling and spelling mean the same.

`shell_options.json` holds, per program: `flags` and `values` (short options without and
with a value), `long` (long names of short ones), `named` (long options taken only as
`--name=value`), `same` (synonyms), `last` (groups in which the last one wins), `digits`
(what `-5` means), `final` (a flag that may only end a bundle), `skip` (leading operands
that are no paths, unless an option in `scripted` replaced them), `stop` (options end at
the first operand), `bare` (a first word of letters is a bundle) and `inner` (the
operands are a command of their own).

Nothing is guessed: a program without an entry, or an option its entry does not know,
leaves the words as they were written.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any

#: A word: text (quoted specials escaped), or pieces of text and expansions.
Word = str | tuple
Parsed = tuple[str, tuple[str, ...], tuple[tuple[str, Word], ...], list[Word]]
_URL = re.compile(r"^[a-z][a-z0-9+.-]*://")


class _Unknown(Exception):
    """An option the table does not know."""


@cache
def table() -> dict[str, dict[str, Any]]:
    """The option table, program -> entry."""
    text = files("pivotlab.verifiers").joinpath("shell_options.json").read_text()
    return json.loads(text)


def parse(program: str, words: Sequence[Word]) -> Parsed | None:
    """(program, flags, valued options, operands) in one canonical order.

    None where the program or one of the options is not in the table.
    """
    entry = table().get(program)
    if entry is None:
        return None
    added = entry.get("add", "")
    if "as" in entry:
        program, entry = entry["as"], table()[entry["as"]]
    reader = _Reader(entry)
    try:
        reader.read(_with_dash(entry, words))
    except _Unknown:
        return None
    flags = [*added, *reader.flags]
    for group in entry.get("last", ()):
        present = [f for f in flags if f in group]
        flags = [f for f in flags if f not in group or f == present[-1]]
    operands = _paths(entry, reader)
    valued = tuple(sorted(reader.valued, key=lambda option: option[0]))
    return program, tuple(sorted(set(flags))), valued, operands


def takes_command(program: str) -> bool:
    """Are the operands of the program a command of their own (xargs)?"""
    return bool(table().get(program, {}).get("inner"))


def path(word: Word) -> Word:
    """One spelling of a path: no `./` in front, no doubled or trailing slash."""
    if not isinstance(word, str) or _URL.match(word) or "/" not in word:
        return word
    shown = re.sub(r"/{2,}", "/", word)
    shown = re.sub(r"/(?:\./)+", "/", shown)
    shown = shown.rstrip("/") or "/"
    if shown.startswith("./") and len(shown) > 2:
        shown = shown[2:]
    return "." if shown == "./" else shown.removesuffix("/.") or "/"


class _Reader:
    def __init__(self, entry: dict[str, Any]):
        self.entry = entry
        self.flags: list[str] = []
        self.valued: list[tuple[str, Word]] = []
        self.operands: list[Word] = []

    def read(self, words: Sequence[Word]) -> None:
        rest = list(words)
        while rest:
            word = rest.pop(0)
            if word == "--":
                self.operands += rest
                return
            start = word if isinstance(word, str) else word[0]
            if not isinstance(start, str) or not start.startswith("-") or start == "-":
                self.operands.append(word)
                if self.entry.get("stop"):
                    self.operands += rest
                    return
            elif start.startswith("--"):
                self._long(word, rest)
            else:
                self._bundle(word, rest)

    def _long(self, word: Word, rest: list[Word]) -> None:
        if not isinstance(word, str):
            raise _Unknown
        name, given, value = word.partition("=")
        if given and name in self.entry.get("named", ()):
            self.valued.append((name, value))
            return
        short = self.entry.get("long", {}).get(name)
        if short is None or (given and short in self.entry.get("flags", "")):
            raise _Unknown
        self._add(short, value if given else None, rest)

    def _bundle(self, word: Word, rest: list[Word]) -> None:
        if not isinstance(word, str):
            raise _Unknown
        letters = word[1:]
        if letters.isdigit() and "digits" in self.entry:
            self.valued.append((self.entry["digits"], letters))
            return
        for i, letter in enumerate(letters):
            if letter in self.entry.get("values", ""):
                self._add(letter, letters[i + 1 :] or None, rest)
                return
            if letter == self.entry.get("final") and i == len(letters) - 1:
                self.flags.append(letter)
            else:
                self._add(letter, None, rest)

    def _add(self, letter: str, value: Word | None, rest: list[Word]) -> None:
        if letter in self.entry.get("values", ""):
            if value is None and not rest:
                raise _Unknown
            self.valued.append((letter, rest.pop(0) if value is None else value))
        elif letter in self.entry.get("flags", ""):
            self.flags.append(self.entry.get("same", {}).get(letter, letter))
        else:
            raise _Unknown


def _with_dash(entry: dict[str, Any], words: Sequence[Word]) -> list[Word]:
    """`tar xzf a` as `tar -xzf a`, where only the last letter takes a value."""
    first = words[0] if words else ""
    if not entry.get("bare") or not isinstance(first, str) or first[:1] in ("", "-"):
        return list(words)
    if any(letter in entry["values"] for letter in first[:-1]):
        raise _Unknown
    return ["-" + first, *words[1:]]


def _paths(entry: dict[str, Any], reader: _Reader) -> list[Word]:
    """Operands with the paths among them in one spelling."""
    skip = entry.get("skip", 0)
    if any(name in entry.get("scripted", "") for name, _ in reader.valued):
        skip = 0
    kept = reader.operands[:skip]
    return kept + [path(word) for word in reader.operands[skip:]]
