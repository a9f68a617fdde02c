"""From what a teacher wrote to an action the environment admits (PivotOPD section 3.1).

Departure from the paper, which does not print it: the overlap threshold is 0.5.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from pivotlab.environments.protocol import ANY_TEXT

#: Least token overlap that may stand for an action; the paper names no value.
OVERLAP = 0.5
_ARTICLES = re.compile(r"\b(a|an|the)\b")


def normalise(action: str) -> str:
    """Lower case, single spaces: the form in which actions are compared."""
    return " ".join(action.lower().split())


def same(action: str, other: str) -> bool:
    """Whether two actions are equal after normalisation: no mistake was made."""
    return normalise(action) == normalise(other)


def resolve(text: str, admissible: Sequence[str]) -> str | None:
    """The admissible action that `text` names, or None if it names none clearly.

    Tried in order: equality, equality without articles, containment in exactly one
    admissible action, and the highest token overlap (intersection over union of words)
    above `OVERLAP` if a single action has it. A listed form (`search[...]`) admits
    every text that fills it, which then stands for itself; a form is no action.
    """
    wanted = normalise(text)
    if not wanted:
        return None
    forms = [action for action in admissible if ANY_TEXT in action]
    if any(fills(text, form) for form in forms):
        return text.strip()
    plain = {action: normalise(action) for action in admissible if action not in forms}
    for form in (normalise, _without_articles):
        equal = [a for a, p in plain.items() if form(p) == form(wanted)]
        if equal:
            return equal[0]
    inside = [a for a, p in plain.items() if wanted in p or p in wanted]
    if len(inside) == 1:
        return inside[0]
    return _closest(wanted, plain)


def fills(text: str, form: str) -> bool:
    """Whether a text is the form with words of its own for `ANY_TEXT`."""
    before, _, after = map(normalise, form.partition(ANY_TEXT))
    plain = normalise(text)
    inside = plain[len(before) : len(plain) - len(after)].strip()
    framed = plain.startswith(before) and plain.endswith(after)
    return framed and inside not in ("", ANY_TEXT)


def _closest(wanted: str, plain: dict[str, str]) -> str | None:
    words = set(wanted.split())
    scores = sorted(
        ((_overlap(words, set(p.split())), a) for a, p in plain.items()), reverse=True
    )
    if not scores or scores[0][0] <= OVERLAP:
        return None
    if len(scores) > 1 and scores[1][0] == scores[0][0]:
        return None
    return scores[0][1]


def _overlap(one: set[str], two: set[str]) -> float:
    return len(one & two) / len(one | two)


def _without_articles(action: str) -> str:
    return normalise(_ARTICLES.sub(" ", action))
