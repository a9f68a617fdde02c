"""The hint that only the self-teacher sees, and the rules that keep it from leaking.

The sentence lies in `prompts/hint.txt` and may be edited; it presents the named action
as sensible, asks for it as the model's own choice and forbids mentioning it (PivotOPD
section 3.3). `tiny` has learnt to follow exactly this sentence.

Departures from the paper, which prints neither: (1) the sentence is ours; (2) it stands
at the end of the last message the agent reads; (3) the leakage patterns are ours.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files

from pivotlab.records import Message

#: A response that talks about being told what to do is not trained on.
LEAKS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"\bhint(s|ed)?\b",
        r"\b(as|was|been|were|am) (suggested|advised|instructed|told|hinted)\b",
        r"\b(the|this|that|your|a) (suggestion|advice|guidance|recommendation)\b",
        r"\b(suggested|provided|supplied|given) (action|approach|command)\b",
        r"\b(this|that|the) sentence\b",
        r"\bmy own idea\b",
        r"\b(privileged|hindsight|teacher)\b",
    )
)


@cache
def template(name: str) -> str:
    """Text of `prompts/<name>.txt`."""
    return files(__package__).joinpath("prompts", f"{name}.txt").read_text().strip()


def hint(action: str | None) -> str:
    """The sentence h(a) that names an action; None: a reminder that names nothing."""
    if action is None:
        return template("reflection")
    return template("hint").format(action=action)


def hinted(messages: Sequence[Message], action: str | None) -> tuple[Message, ...]:
    """The same conversation with the hint at the end of its last message.

    Raises:
        ValueError: the last message is the agent's own, so no turn is due.
    """
    last = messages[-1]
    if last.role == "assistant":
        raise ValueError("a hint belongs before an assistant turn, not after one")
    return (*messages[:-1], _with(last, hint(action)))


def taught(messages: Sequence[Message], lesson: str) -> tuple[Message, ...]:
    """The same conversation with a trajectory lesson at the end of its first
    observation, where every later turn sees it (the w_traj term)."""
    place = next(i for i, m in enumerate(messages) if m.role == "user")
    shown = _with(messages[place], template("lesson").format(lesson=lesson))
    return (*messages[:place], shown, *messages[place + 1 :])


def _with(message: Message, sentence: str) -> Message:
    joined = f"{message.content}\n{sentence}" if message.content else sentence
    return replace(message, content=joined)


@cache
def markers() -> tuple[str, ...]:
    """Pieces of the privileged sentences that are there whatever they name."""
    texts = [template(name) for name in ("hint", "reflection", "lesson")]
    pieces = [p for t in texts for p in re.split(r"\{\w+\}", t)]
    return tuple(piece.strip() for piece in pieces if len(piece.split()) >= 3)


def leak(text: str) -> str | None:
    """What gives a response away, or None for a clean one."""
    for marker in markers():
        if marker.lower() in text.lower():
            return marker
    for pattern in LEAKS:
        if found := pattern.search(text):
            return found.group()
    return None


def assert_unprivileged(prompt: str) -> None:
    """Checks a training prompt, as text.

    Raises:
        AssertionError: it holds a piece of the hint.
    """
    for marker in markers():
        if marker in prompt:
            raise AssertionError(
                f"a training prompt holds privileged text: {marker!r}; training "
                "sequences must be built from the unhinted conversation"
            )
