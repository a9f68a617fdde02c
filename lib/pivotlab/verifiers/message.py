"""Turns in which the expert talks: a text that does the same work, not just any text.

No rule can judge free text fully, so this one only asks for what a useless reply lacks:
it must not call a tool, must not be empty or a mere "ok", and must share content words
with the expert's text. How many turns are of this kind and how often they pass belongs
in every report, because they can only be judged weakly.

Modes: "functional" as above; "paper": free text is free, so any non-empty text without
a call passes and the turn only tests the call-or-talk decision. NeMo Gym's rule, where
even an empty message scores 1, is part of `gym_tool_call`.
"""

from __future__ import annotations

from typing import Literal

from pivotlab.records import Candidate, Message, Verdict
from pivotlab.verifiers import text

Mode = Literal["functional", "paper"]


class MessageVerifier:
    """Categories: similar_text, any_text (reward 1); empty, called_instead, too_short,
    unlike, call_expected (the expert's turn is no text turn).
    """

    name = "message"
    version = "1"

    def __init__(self, mode: Mode = "functional", floor: float = 0.3, words: int = 3):
        """
        Args:
            floor: least share of common content words in [0, 1].
            words: a reply needs this many words, or as many as the expert's if fewer.
        """
        self.mode = mode
        self.floor = floor
        self.words = words

    def verify(self, candidate: Candidate, action: Message) -> Verdict:
        """1.0 iff the text could stand for the expert's."""
        gold, said = candidate.expert.content, action.content
        if candidate.expert.tool_calls:
            return Verdict(0.0, "call_expected", "the expert calls a tool here")
        if action.tool_calls:
            return Verdict(0.0, "called_instead", f"called {action.tool_calls[0].name}")
        if not said.strip():
            return Verdict(0.0, "empty", "no text")
        if self.mode == "paper":
            return Verdict(1.0, "any_text", said[:200])
        return self._compare(gold, said)

    def _compare(self, gold: str, said: str) -> Verdict:
        score = text.similarity(gold, said)
        if score == 1.0:
            return Verdict(1.0, "similar_text", "1.00 of the content words")
        count = len(text.words(said))
        if count < min(self.words, len(text.words(gold))):
            return Verdict(0.0, "too_short", f"{count} words")
        detail = f"{score:.2f} of the content words, needs {self.floor:.2f}"
        if score < self.floor:
            return Verdict(0.0, "unlike", detail)
        return Verdict(1.0, "similar_text", detail)
