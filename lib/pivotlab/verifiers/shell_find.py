"""`find`: which orders of its expression mean the same.

Plain tests joined by "and" commute as long as nothing has an effect or a choice between
them; `-maxdepth` and its kind apply everywhere; a final `-print` is the default; no
starting point means the current folder. Any `-o`, parenthesis or action that is
followed by more keeps its place.
"""

from __future__ import annotations

from collections.abc import Sequence

from pivotlab.verifiers import shell_options
from pivotlab.verifiers.shell_options import Word

#: Tests without an effect that take one argument.
_TESTS = """
-name -iname -path -ipath -regex -iregex -type -size -mtime -mmin -atime -amin -ctime
-cmin -newer -perm -user -group -links -inum -samefile -xtype
"""
#: Tests without an effect and without an argument.
_BARE_TESTS = "-empty -readable -writable -executable -nouser -nogroup -true -false"
_WITH_VALUE, _BARE = frozenset(_TESTS.split()), frozenset(_BARE_TESTS.split())
#: Options that apply to the whole expression wherever they stand.
_GLOBAL = frozenset({"-maxdepth", "-mindepth"})
_SAME = {"-not": "!", "-and": "-a", "-or": "-o", "\\!": "!"}


def normalise(words: Sequence[Word]) -> tuple:
    """(starting points, global options, expression) of the words after `find`."""
    rest = [_SAME.get(w, w) if isinstance(w, str) else w for w in words]
    starts: list[Word] = []
    while rest and not _is_expression(rest[0]):
        starts.append(shell_options.path(rest.pop(0)))
    options, expression, run = [], [], []
    while rest:
        term = _term(rest)
        if term[0] in _GLOBAL:
            options.append(term)
        elif term == ("-a",):
            continue
        elif _is_plain(term):
            run.append(term)
        else:
            expression += [*sorted(set(run), key=repr), term]
            run = []
    expression += sorted(set(run), key=repr)
    if expression[-1:] == [("-print",)] and not _acts(expression[:-1]):
        expression.pop()
    return tuple(starts) or (".",), tuple(sorted(options, key=repr)), tuple(expression)


def _is_expression(word: Word) -> bool:
    first = word if isinstance(word, str) else word[0]
    return isinstance(first, str) and (first.startswith("-") or first in ("(", "!"))


def _term(rest: list[Word]) -> tuple:
    """The next test, option or action with its arguments, taken off `rest`."""
    word = rest.pop(0)
    if word == "!" and rest:
        return ("!", *_term(rest)) if rest[0] != "!" else ("!",)
    if (word in _WITH_VALUE or word in _GLOBAL) and rest:
        return (word, rest.pop(0))
    if word in ("-exec", "-execdir", "-ok", "-okdir"):
        taken = [word]
        while rest and taken[-1] not in (";", "+"):
            taken.append(rest.pop(0))
        return tuple(taken)
    if word in ("-printf", "-fprint", "-fprintf") and rest:
        return (word, rest.pop(0))
    return (word,)


def _is_plain(term: tuple) -> bool:
    inner = term[1:] if term[0] == "!" and len(term) > 1 else term
    return bool(inner) and (inner[0] in _WITH_VALUE or inner[0] in _BARE)


def _acts(expression: Sequence[tuple]) -> bool:
    """Is there an action, a choice or a list, after which `-print` means something?"""
    return any(not _is_plain(term) for term in expression)
