"""What a verifier offers: a total function from (candidate, action) to a verdict.

`judged` asks one and tells it by name when it breaks that promise; every caller that
takes a verifier from outside goes through it.
"""

from __future__ import annotations

import traceback
from pathlib import Path
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


def judged(verifier: Verifier, candidate: Candidate, action: Message) -> Verdict:
    """The verifier's verdict.

    Raises:
        ValueError: it raised, or returned no verdict; names the verifier, the turn and
            what went wrong where.
    """
    try:
        verdict = verifier.verify(candidate, action)
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        raise ValueError(
            f"verifier {verifier.name!r} raised at turn {candidate.uid}: "
            f"{type(error).__name__}: {error} ({Path(place.filename).name}, line "
            f"{place.lineno}); it must return a Verdict for every action, of reward 0 "
            "for one it cannot read"
        ) from error
    if not isinstance(verdict, Verdict):
        raise ValueError(
            f"verifier {verifier.name!r} returned {type(verdict).__name__} at turn "
            f"{candidate.uid}, not a Verdict"
        )
    return verdict
