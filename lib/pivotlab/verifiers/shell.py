"""Shell commands that are the same command, judged without running anything.

Levels: `same` (equal up to spelling, see `shell_syntax`) and `same_but_prose` (equal up
to the wording of a message, e.g. after `git commit -m`). A changed flag, operand, path
or number is another command however long the rest is; that is why no character ratio
decides here. In "paper" mode one does, as the paper describes: normalised similarity
against a threshold. It is computed on words of the canonical form, so that one changed
word weighs the same in every place.
"""

from __future__ import annotations

from typing import Literal

from rapidfuzz.distance import Indel

from pivotlab.records import Candidate, Message, Verdict
from pivotlab.verifiers import shell_action, shell_syntax, text
from pivotlab.verifiers.message import MessageVerifier
from pivotlab.verifiers.protocol import Verifier

Mode = Literal["functional", "paper"]


class ShellVerifier:
    """Categories: same, same_but_prose, similar (paper mode) with reward 1; different,
    no_command, called_other_tool, and those of the text rule where no command is due.
    """

    name = "shell"

    def __init__(
        self,
        mode: Mode = "functional",
        *,
        threshold: float = 0.95,
        prose: float = 0.6,
        message: Verifier | None = None,
    ):
        """
        Args:
            threshold: least similarity in paper mode, in [0, 1].
            prose: least similarity of two messages inside equal commands.
            message: judges turns in which the expert only talks.
        """
        self.mode = mode
        self.version = "1" if mode == "functional" else f"1-{mode}-{threshold:g}"
        self.threshold = threshold
        self.prose = prose
        self.message = message or MessageVerifier(mode)

    def verify(self, candidate: Candidate, action: Message) -> Verdict:
        """1.0 iff the action's command is the expert's command."""
        found = commands(candidate, action)
        if isinstance(found, Verdict):
            return found
        if found is None:
            return self.message.verify(candidate, action)
        return self.compare(*found)

    def compare(self, gold: str, said: str) -> Verdict:
        """The verdict on two commands."""
        first, second = shell_syntax.normalise(gold), shell_syntax.normalise(said)
        if first == second:
            return Verdict(1.0, "same", said[:200])
        if same_but_prose(first, second, self.prose):
            return Verdict(1.0, "same_but_prose", said[:200])
        score = similarity(gold, said)
        detail = f"similarity {score:.2f} to {gold[:200]!r}"
        if self.mode == "paper" and score >= self.threshold:
            return Verdict(1.0, "similar", detail)
        return Verdict(0.0, "different", detail)


def commands(candidate: Candidate, action: Message) -> tuple[str, str] | Verdict | None:
    """(expert's command, action's command); a verdict where the action has none.

    None where the expert's turn holds no command. Where the expert writes bare text in
    a terminal, a bare text is a command.
    """
    whole = candidate.domain == "terminal" and not candidate.expert.tool_calls
    gold = shell_action.command_of(candidate.expert, whole=whole)
    if gold is None:
        return None
    bare = whole and shell_action.fenced_command(candidate.expert.content) is None
    said = shell_action.command_of(action, whole=bare)
    if said is not None:
        return gold, said
    if action.tool_calls:
        called = ", ".join(call.name for call in action.tool_calls)[:200]
        return Verdict(0.0, "called_other_tool", called)
    return Verdict(0.0, "no_command", action.content[:200])


def similarity(gold: str, said: str) -> float:
    """Share of common words in order, in [0, 1]: 2 LCS / (words + words)."""
    first, second = shell_syntax.tokens(gold), shell_syntax.tokens(said)
    return Indel.normalized_similarity(first, second)


def same_but_prose(gold: object, said: object, floor: float) -> bool:
    """Canonical forms of one shape that differ only in prose that says the same."""
    if isinstance(gold, tuple) and isinstance(said, tuple):
        return len(gold) == len(said) and all(
            same_but_prose(g, s, floor) for g, s in zip(gold, said, strict=True)
        )
    if gold == said:
        return True
    if not isinstance(gold, str) or not isinstance(said, str):
        return False
    return (
        text.is_prose(gold)
        and text.is_prose(said)
        and text.same_prose(gold, said, floor)
    )
