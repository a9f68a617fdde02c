"""Functional verdict of the household game: is the command in the acceptable set?

The set is the honest player's at that state (`candidate.context["acceptable"]`), so a
lucky guess in a search and any other guess count alike. `put X in/on Y` counts as
`move X to Y`; nothing else is forgiven unless asked for.
"""

from __future__ import annotations

from pivotlab.environments.textgame.wording import normalise
from pivotlab.records import Candidate, Message, Verdict


class TextGameVerifier:
    """Categories: acceptable (reward 1), legal_but_wrong, inadmissible, empty,
    multiple_lines, and no_context for a candidate without an acceptable set.
    """

    name = "text_game"

    def __init__(self, loose_put: bool = False):
        """
        Args:
            loose_put: `put X in Y` and `put X on Y` count as `put X in/on Y`.
        """
        self.loose_put = loose_put
        self.version = "2-loose-put" if loose_put else "2"

    def verify(self, candidate: Candidate, action: Message) -> Verdict:
        """1.0 for an acceptable command, else 0.0 with the category that says why."""
        acceptable = candidate.context.get("acceptable")
        if not acceptable:
            return Verdict(0.0, "no_context", f"{candidate.uid} has no acceptable set")
        text = action.content.strip()
        if not text:
            return Verdict(0.0, "empty", "no command")
        if "\n" in text:
            return Verdict(0.0, "multiple_lines", text.splitlines()[0])
        command = normalise(text, self.loose_put)
        if command in acceptable:
            return Verdict(1.0, "acceptable", command)
        legal = command in candidate.context.get("admissible", ())
        return Verdict(0.0, "legal_but_wrong" if legal else "inadmissible", command)
