"""A language model as judge, asked only where the rules are undecided.

The judge sees the situation and the two actions and says whether they are
interchangeable. It is asked twice with the actions swapped, because judges prefer a
position; only two equal answers count. Answers are kept on disk, so a repeated profile
costs nothing and gives the same verdicts; a budget bounds the requests.

A judge can be talked into anything, so by default its "same" is reported
(`judge_same_not_counted`) but earns nothing; `may_decide=True` lets it.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection
from importlib.resources import files
from pathlib import Path
from typing import Any

import httpx

from pivotlab import paths
from pivotlab.engines.endpoint_client import EndpointClient, EndpointError, chat_text
from pivotlab.records import Candidate, Message, Verdict
from pivotlab.verifiers.protocol import Verifier
from pivotlab.whole_files import write_text

#: Categories of the rule verifiers after which another opinion can be right.
UNDECIDED = frozenset(
    ("different", "other_effect", "wrong_value", "unlike", "other_need")
    + ("no_trace:different", "unexecuted:different", "unstable:different")
)
_VERDICT = re.compile(r"VERDICT:\s*(SAME|DIFFERENT)\b", re.IGNORECASE)
#: Characters of the situation and of each action that the judge sees.
SITUATION, ACTION = 6_000, 4_000


class Judge(EndpointClient):
    """Asks an OpenAI-compatible chat endpoint whether two actions are interchangeable.

    `report` counts requests, answers from the disk, failures and answers without a
    verdict.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        rubric: str | None = None,
        requests: int = 1000,
        folder: Path | None = None,
        **client: Any,
    ):
        """
        Args:
            base_url: up to and including the version, e.g. "http://localhost:8000/v1".
            model: name under which the server serves the judge.
            rubric: prompt with {situation}, {a} and {b}; None is the shipped one.
            requests: most requests this instance sends.
            folder: where answers are kept; default `paths.cache() / "judge"`.
            client: key, tries and waits, as for `EndpointClient`; here 3 tries of at
                most 120 s unless given.

        Raises:
            ValueError: the rubric lacks one of its fields.
        """
        self.rubric = rubric if rubric is not None else shipped_rubric()
        missing = [f for f in ("{situation}", "{a}", "{b}") if f not in self.rubric]
        if missing:
            raise ValueError(f"the rubric lacks {', '.join(missing)}")
        super().__init__(base_url, model, **{"attempts": 3, "timeout": 120.0, **client})
        self.requests = requests
        self.folder = folder or paths.cache() / "judge"

    @property
    def version(self) -> str:
        """Model and rubric: what an answer depends on."""
        return f"{self.model}-{_digest(self.rubric)[:8]}"

    def opinion(self, situation: str, gold: str, said: str) -> str:
        """One of same, different, split, unreadable, unavailable, budget_spent.

        "split": the two orders were answered differently; "unreadable": an answer
        without a verdict; "unavailable": the endpoint failed.
        """
        answers = []
        for a, b in ((gold, said), (said, gold)):
            answer = self._ask(situation, a, b)
            if answer not in ("same", "different"):
                return answer
            answers.append(answer)
        return answers[0] if answers[0] == answers[1] else "split"

    def _ask(self, situation: str, a: str, b: str) -> str:
        fields = {"{situation}": situation[-SITUATION:], "{a}": a[:ACTION]}
        fields["{b}"] = b[:ACTION]
        # One pass, so that braces inside an action are never taken for a field.
        pattern = "|".join(map(re.escape, fields))
        prompt = re.sub(pattern, lambda m: fields[m[0]], self.rubric)
        place = self.folder / f"{_digest(self.model, prompt)}.json"
        kept = _kept(place)
        if kept is not None:
            self.report["from_disk"] += 1
            return _verdict(kept)
        if self.report["requests"] >= self.requests:
            return "budget_spent"
        try:
            text = self._answer(prompt)
        except (httpx.HTTPError, EndpointError, ValueError):
            self.report["failures"] += 1
            return "unavailable"
        record = {"model": self.model, "prompt": prompt, "answer": text}
        write_text(place, json.dumps(record))
        return self._counted(_verdict(text))

    def _answer(self, prompt: str) -> str:
        messages = [{"role": "user", "content": prompt}]
        body = {"messages": messages, "temperature": 0.0}
        return chat_text(self.post("chat/completions", body))

    def _counted(self, verdict: str) -> str:
        self.report["unreadable"] += verdict == "unreadable"
        return verdict


class JudgedVerifier:
    """Rules first; the judge where they are undecided.

    Categories: those of the rules; judge_same (reward 1, only with `may_decide`),
    judge_same_not_counted, judge_different, judge_split, judge_unreadable,
    judge_unavailable, judge_budget_spent.
    """

    name = "judged"

    def __init__(
        self,
        rules: Verifier,
        judge: Judge,
        *,
        may_decide: bool = False,
        undecided: Collection[str] = UNDECIDED,
    ):
        """
        Args:
            rules: the verifier that comes first; its successes and its verdicts on
                form (unreadable, wrong schema) stand.
            may_decide: let the judge's "same" be a success.
            undecided: categories of the rules after which the judge is asked.
        """
        self.rules, self.judge = rules, judge
        self.may_decide = may_decide
        self.undecided = frozenset(undecided)
        decides = "decides" if may_decide else "advises"
        self.version = f"{rules.name}-{rules.version},{judge.version},{decides}"

    def verify(self, candidate: Candidate, action: Message) -> Verdict:
        """The rules' verdict, or the judge's where the rules are undecided."""
        ruled = self.rules.verify(candidate, action)
        if ruled.reward > 0 or ruled.category not in self.undecided:
            return ruled
        situation = "\n\n".join(f"{m.role}: {shown(m)}" for m in candidate.prefix)
        said = self.judge.opinion(situation, shown(candidate.expert), shown(action))
        if said == "same" and not self.may_decide:
            return Verdict(0.0, "judge_same_not_counted", ruled.detail)
        return Verdict(float(said == "same"), f"judge_{said}", ruled.detail)


def shown(message: Message) -> str:
    """A message as the judge reads it: text and calls, no thinking."""
    calls = [
        f"{call.name}({json.dumps(call.arguments, ensure_ascii=False, default=repr)})"
        for call in message.tool_calls
    ]
    return "\n".join([message.content, *calls] if message.content else calls)


def shipped_rubric() -> str:
    """The rubric this package comes with."""
    place = files("pivotlab.verifiers").joinpath("prompts/interchangeable.txt")
    return place.read_text(encoding="utf-8")


def _verdict(answer: str) -> str:
    found = _VERDICT.findall(answer)
    return found[-1].lower() if found else "unreadable"


def _digest(*parts: str) -> str:
    joined = "\x00".join(parts).encode("utf-8", "replace")
    return hashlib.sha256(joined).hexdigest()


def _kept(place: Path) -> str | None:
    try:
        found = json.loads(place.read_text(encoding="utf-8"))
        return found["answer"] if isinstance(found["answer"], str) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None
