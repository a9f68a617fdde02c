"""What a verifier offers: a total function from (candidate, action) to a verdict."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from pivotlab.records import Candidate, Message, Verdict


@runtime_checkable
class Verifier(Protocol):
    """Judges one action at one candidate turn."""

    #: Stored next to every profile, so that verdicts of two versions never mix.
    name: str
    version: str

    def verify(self, candidate: Candidate, action: Message) -> Verdict:
        """Reward in [0, 1] with a category that says why.

        Never raises: malformed output is a category with reward 0.
        """
        ...
