"""Replies of the Terminus terminal agents: a JSON object with keystrokes to type.

Order of the checks: readable JSON, the harness's schema, the completion flag, then the
keystrokes. Modes:
- "functional": keystrokes are put together as the terminal receives them, so borders
  between commands are the line ends typed; commands are compared as in `shell`. JSON
  inside a fence or prose is read, because the harness reads it too. The completion flag
  must agree in both directions.
- "paper": the same, but a similarity of the keystrokes' words of at least `threshold`
  also counts; what is below is the judge's (see `judge.JudgedVerifier`).
- "gym": NeMo Gym's rule with its weak spots: only pure JSON, the flag is checked only
  where the expert is done, and `difflib` compares the joined characters.

Two replies without commands are the same wait (category `wait`, so that such turns can
be told apart) or the same end.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Any, Literal

from rapidfuzz.distance import Indel

from pivotlab import tool_call_text
from pivotlab.records import Candidate, Message, Verdict
from pivotlab.trajectories import fields
from pivotlab.verifiers import arguments, shell, shell_syntax

Mode = Literal["functional", "paper", "gym"]
#: Longer replies are broken output.
LONGEST = 200_000
_FLAGS = ("task_complete", "is_task_complete")
_KEY = re.compile(r"(?:[CMS]-)+\S|(?:Enter|Escape|Tab|BSpace|Space|Up|Down|Left|Right)")


def _closed(required: Sequence[str], **kinds: str) -> dict[str, Any]:
    """Schema of an object with exactly these fields."""
    return {
        "type": "object",
        "additionalProperties": False,
        "required": list(required),
        "properties": {key: {"type": kind} for key, kind in kinds.items()},
    }


def _reply(command: dict[str, Any], required: Sequence[str], **kinds: str) -> dict:
    """Schema of a reply with a list of commands."""
    schema = _closed([*required, "commands"], **kinds)
    schema["properties"]["commands"] = {"type": "array", "items": command}
    return schema


#: What each harness accepts.
SCHEMAS = {
    "terminus_1": _reply(
        _closed(
            ("keystrokes", "is_blocking", "timeout_sec"),
            keystrokes="string",
            is_blocking="boolean",
            timeout_sec="number",
        ),
        ("state_analysis", "explanation", "is_task_complete"),
        state_analysis="string",
        explanation="string",
        is_task_complete="boolean",
    ),
    "terminus_2": _reply(
        _closed(("keystrokes",), keystrokes="string", duration="number"),
        ("analysis", "plan"),
        analysis="string",
        plan="string",
        task_complete="boolean",
    ),
}


class TerminusVerifier:
    """Categories: same, same_but_prose, similar, wait (reward 1); not_json,
    schema_violation, completion_differs, different, unknown_harness,
    bad_demonstration.
    """

    name = "terminus"

    def __init__(
        self, mode: Mode = "functional", *, threshold: float = 0.95, prose: float = 0.6
    ):
        """
        Args:
            threshold: least similarity in paper and gym mode, in [0, 1]; a row's own
                `candidate.context["threshold"]` goes first.
            prose: least similarity of messages inside equal commands.
        """
        self.mode = mode
        self.threshold = threshold
        self.prose = prose
        self.version = f"1-{mode}-{threshold:g}" if mode != "functional" else "1"

    def verify(self, candidate: Candidate, action: Message) -> Verdict:
        """1.0 iff the reply types what the expert's reply types."""
        gold = read(candidate.expert.content)
        harness = candidate.context.get("harness") or harness_of(gold)
        if not isinstance(harness, str) or harness not in SCHEMAS:
            return Verdict(0.0, "unknown_harness", f"{harness!r}")
        if gold is None or arguments.problem(gold, SCHEMAS[harness]):
            return Verdict(0.0, "bad_demonstration", candidate.expert.content[:200])
        said = read(action.content, strict=self.mode == "gym")
        if said is None:
            return Verdict(0.0, "not_json", action.content[:200])
        wrong = arguments.problem(said, SCHEMAS[harness])
        if wrong is not None:
            return Verdict(0.0, "schema_violation", wrong)
        if self._completion_differs(gold, said):
            return Verdict(0.0, "completion_differs", f"expected {is_complete(gold)}")
        threshold = candidate.context.get("threshold")
        if isinstance(threshold, bool) or not isinstance(threshold, int | float):
            threshold = self.threshold
        return self._keys(keystrokes(gold), keystrokes(said), float(threshold), gold)

    def _completion_differs(self, gold: dict, said: dict) -> bool:
        if self.mode == "gym" and not is_complete(gold):
            return False
        return is_complete(gold) != is_complete(said)

    def _keys(
        self, gold: list[str], said: list[str], threshold: float, reply: dict
    ) -> Verdict:
        if self.mode == "gym":
            return _joined(gold, said, threshold)
        if not gold and not said:
            return Verdict(1.0, "same" if is_complete(reply) else "wait", "no commands")
        first, second = typed(gold), typed(said)
        if first == second:
            return Verdict(1.0, "same", "".join(said)[:200])
        if shell.same_but_prose(tuple(first), tuple(second), self.prose):
            return Verdict(1.0, "same_but_prose", "".join(said)[:200])
        score = similarity(gold, said)
        detail = f"similarity {score:.2f} to {''.join(gold)[:200]!r}"
        if self.mode == "paper" and gold and said and score >= threshold:
            return Verdict(1.0, "similar", detail)
        return Verdict(0.0, "different", detail)


def read(content: str, *, strict: bool = False) -> dict[str, Any] | None:
    """The JSON object of a reply, None where there is none.

    Args:
        strict: the reply must be nothing else (after any thinking).
    """
    rest = tool_call_text.split_thinking(content)[1].strip()
    if len(rest) > LONGEST:
        return None
    start, end = rest.find("{"), rest.rfind("}")
    for text in (rest,) if strict else (rest, rest[start : end + 1]):
        try:
            found = fields.loads(text)
        except fields.FormatError:
            continue
        if isinstance(found, dict):
            return found
    return None


def harness_of(reply: dict[str, Any] | None) -> str | None:
    """The harness whose keys a reply has."""
    if reply is None or "commands" not in reply:
        return None
    return "terminus_1" if "state_analysis" in reply else "terminus_2"


def is_complete(reply: dict[str, Any]) -> bool:
    """Does the reply say that the task is done?"""
    return any(reply.get(flag) is True for flag in _FLAGS)


def keystrokes(reply: dict[str, Any]) -> list[str]:
    """Keystrokes of the commands of a reply that fits its schema."""
    return [command["keystrokes"] for command in reply["commands"]]


def typed(keys: Sequence[str]) -> list[tuple]:
    """What a terminal receives: runs of text in canonical form, and special keys.

    A run that does not end its line is typed but not run, and stays marked as such.
    """
    runs: list[str | tuple] = []
    for stroke in keys:
        if _KEY.fullmatch(stroke.strip()):
            key = stroke.strip()
            if key == "Enter" and runs and isinstance(runs[-1], str):
                runs[-1] += "\n"
            else:
                runs.append(("key", key))
        elif runs and isinstance(runs[-1], str):
            runs[-1] += stroke
        else:
            runs.append(stroke)
    return [_line(run) if isinstance(run, str) else run for run in runs]


def similarity(gold: Sequence[str], said: Sequence[str]) -> float:
    """Share of common words in order over all keystrokes, in [0, 1]."""
    first = shell_syntax.tokens("".join(gold))
    second = shell_syntax.tokens("".join(said))
    return Indel.normalized_similarity(first, second)


def _line(run: str) -> tuple:
    return ("ran" if run.endswith("\n") else "typed", shell_syntax.normalise(run))


def _joined(gold: list[str], said: list[str], threshold: float) -> Verdict:
    """NeMo Gym's ratio of joined keystrokes (2,000 characters at most)."""
    if not gold and not said:
        return Verdict(1.0, "similar", "no commands")
    if not gold or not said:
        return Verdict(0.0, "different", "one side has no commands")
    first, second = "".join(gold)[:2000], "".join(said)[:2000]
    score = SequenceMatcher(None, first, second).ratio()
    category = "similar" if score >= threshold else "different"
    return Verdict(float(score >= threshold), category, f"ratio {score:.3f}")
