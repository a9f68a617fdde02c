"""Wrong verdicts of naive verifiers, each with the reason why it is wrong.

The cases lie in `data/examples/verdicts.jsonl`: a demonstrated action, another one, and
whether the other does the same. They are written by hand after defects that public
verifiers had; the right verdict follows from what the actions do, not from our code.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from pivotlab import paths
from pivotlab.experiments.logs.attempts import action_text
from pivotlab.records import Candidate, Message, Verdict, message_from_json
from pivotlab.verifiers.dispatch import DispatchVerifier, standard
from pivotlab.verifiers.exact import ExactVerifier
from pivotlab.verifiers.protocol import Verifier
from pivotlab.verifiers.tool_name import ToolNameVerifier

CASES = paths.DATA / "examples" / "verdicts.jsonl"


@dataclass(frozen=True)
class Case:
    """An action that does (`right`) or does not do what the demonstrated one does."""

    name: str
    candidate: Candidate
    other: Message
    right: bool
    why: str


class RatioVerifier:
    """Naive: characters in common (difflib) reach a threshold. Categories: alike
    (reward 1), unlike."""

    name = "character_ratio"

    def __init__(self, threshold: float = 0.8):
        self.threshold = threshold
        self.version = f"1-{threshold:g}"

    def verify(self, candidate: Candidate, action: Message) -> Verdict:
        """1.0 iff the printed actions are alike, character by character."""
        gold, said = action_text(candidate.expert), action_text(action)
        score = difflib.SequenceMatcher(None, gold, said).ratio()
        alike = score >= self.threshold
        return Verdict(float(alike), "alike" if alike else "unlike", f"{score:.2f}")


def compared() -> dict[str, Verifier]:
    """Verifiers by the name shown; `functional` is ours."""
    return {
        "exact match": ExactVerifier(),
        "80 % of characters": RatioVerifier(),
        "tool name only": ToolNameVerifier(),
        "NeMo Gym rules": DispatchVerifier(standard("gym")),
        "paper rules": DispatchVerifier(standard("paper")),
        "functional": DispatchVerifier(standard()),
    }


def cases(path: Path = CASES) -> list[Case]:
    """The hand-written cases in order."""
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return [
        Case(
            row["name"],
            Candidate(
                uid=row["name"],
                trajectory_uid="gallery",
                turn=0,
                prefix=(),
                expert=message_from_json(row["expert"]),
                tools=tuple(row["tools"]),
                domain=row["domain"],
            ),
            message_from_json(row["other"]),
            row["right"],
            row["why"],
        )
        for row in rows
    ]


def gallery(chosen: Sequence[Case], verifiers: Mapping[str, Verifier]) -> pd.DataFrame:
    """One row a case and verifier: case, domain, verifier, right, accepted, outcome,
    category, demonstrated, other, why.

    `outcome` is "correct", "wrong accept" or "wrong reject".
    """
    rows = []
    for case in chosen:
        for name, verifier in verifiers.items():
            verdict = verifier.verify(case.candidate, case.other)
            accepted = verdict.reward >= 1.0
            wrong = "wrong accept" if accepted else "wrong reject"
            rows.append(
                {
                    "case": case.name,
                    "domain": case.candidate.domain,
                    "verifier": name,
                    "right": case.right,
                    "accepted": accepted,
                    "outcome": "correct" if accepted == case.right else wrong,
                    "category": verdict.category,
                    "demonstrated": action_text(case.candidate.expert),
                    "other": action_text(case.other),
                    "why": case.why,
                }
            )
    return pd.DataFrame(rows)
