"""Teachers that name actions: the symbolic oracle, the student itself, any endpoint.

A teacher reads a finished episode and names at most `limit` turns with the action that
should have been taken there, and on a recovery query names one admissible action. It
never supplies probabilities (PivotOPD section 3). Prompts lie in `prompts/` and may be
edited. Malformed answers are counted and skipped, never raised.

Departure from the paper: the oracle teacher exists for embedded environments only, and
names the turns at which the shortest remaining solution grew, earliest first.
"""

from __future__ import annotations

import json
import math
import re
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from pivotlab.distillation.hints import template
from pivotlab.distillation.resolution import same
from pivotlab.environments.protocol import OracleEnvironment
from pivotlab.records import Message, PivotalTurn, Rollout

#: Text of a prompt in, text of the answer out.
Ask = Callable[[str], str]
#: (observation, action) pairs shown in a recovery query.
HISTORY = 5
_JSON = re.compile(r"```(?:json)?\s*(\{.*?\})\s*```", re.DOTALL)
_ACTION = re.compile(
    r"<correct_action(?:\s+step=\"?(\d+)\"?)?\s*>(.*?)</correct_action>", re.DOTALL
)


@dataclass(frozen=True)
class Report:
    """What a teacher says of one episode: candidate turns in order, and a lesson."""

    candidates: tuple[PivotalTurn, ...] = ()
    lesson: str = ""


@runtime_checkable
class Teacher(Protocol):
    """Names actions in hindsight."""

    #: Calls and malformed answers by kind, for the report of a run.
    counts: Counter[str]

    def report(self, rollout: Rollout, limit: int) -> Report:
        """At most `limit` turns of the episode with the right action at each."""
        ...

    def recover(
        self, rollout: Rollout, messages: Sequence[Message], state: object
    ) -> str | None:
        """The best next action at a state after a mistake, or None.

        Args:
            rollout: the episode the mistake belongs to.
            messages: the conversation so far, as the student sees it.
            state: the environment's snapshot there.
        """
        ...


def pivotal(rollout: Rollout, report: Report) -> tuple[PivotalTurn, ...]:
    """The candidates whose named action is not what the student did (section 3.2)."""
    return tuple(
        candidate
        for candidate in report.candidates
        if not same(rollout.turns[candidate.turn].action, candidate.gold_action)
    )


class OracleTeacher:
    """Knows L(s): a turn is pivotal iff L rose; the gold action lowers it by one."""

    def __init__(self, environment: OracleEnvironment):
        """
        Args:
            environment: a private copy; the teacher resets and restores it at will.
        """
        self.environment = environment
        self.counts: Counter[str] = Counter()

    def report(self, rollout: Rollout, limit: int) -> Report:
        """The first `limit` turns at which the remaining way got longer."""
        self.counts["reports"] += 1
        env = self.environment
        env.reset(rollout.task)
        found: list[PivotalTurn] = []
        for index, turn in enumerate(rollout.turns):
            env.restore(turn.snapshot)
            before, best = env.remaining_turns(), env.optimal_actions()
            if math.isinf(before):
                break
            env.step(turn.action)
            if env.remaining_turns() > before:
                found.append(PivotalTurn(index, best[0]))
            if len(found) == limit:
                break
        return Report(tuple(found))

    def recover(
        self, rollout: Rollout, messages: Sequence[Message], state: object
    ) -> str | None:
        """An optimal action at that state; None where the goal is out of reach."""
        self.counts["recovery_queries"] += 1
        self.environment.reset(rollout.task)
        self.environment.restore(state)
        best = self.environment.optimal_actions()
        return best[0] if best else None


class PromptedTeacher:
    """A language model asked in words: an endpoint, or the student itself.

    As many questions at a time as `ask` bears may be put from different threads.
    """

    def __init__(self, ask: Ask, environment: OracleEnvironment | None = None):
        """
        Args:
            ask: one question, one answer; may raise `OSError` or `ValueError` on a
                failed call, which is counted and skipped.
            environment: private copy that lists the admissible actions of a state;
                None for open action spaces.
        """
        self.ask = ask
        self.environment = environment
        self.counts: Counter[str] = Counter()
        self._lock = threading.Lock()

    def report(self, rollout: Rollout, limit: int) -> Report:
        """See `Teacher.report`."""
        turns = range(len(rollout.turns))
        prompt = template("report").format(
            task=task_text(rollout),
            outcome="success" if rollout.reward > 0 else "failure",
            turns=", ".join(map(str, turns)),
            episode=episode_text(rollout),
            limit=limit,
        )
        answer = self._answer("reports", prompt)
        return Report() if answer is None else self._read(answer, len(turns), limit)

    def recover(
        self, rollout: Rollout, messages: Sequence[Message], state: object
    ) -> str | None:
        """See `Teacher.recover`; the text is not yet resolved to an action."""
        prompt = template("recovery").format(
            task=task_text(rollout),
            history=history_text(messages),
            admissible=self._admissible(rollout, state),
        )
        answer = self._answer("recovery_queries", prompt)
        if answer is None:
            return None
        found = _ACTION.findall(answer)
        if len(found) != 1:
            self._count("malformed_recoveries")
            return None
        return found[0][1].strip()

    def _answer(self, kind: str, prompt: str) -> str | None:
        self._count(kind)
        try:
            return self.ask(prompt)
        except (OSError, ValueError):
            self._count(f"failed_{kind}")
            return None

    def _count(self, kind: str, number: int = 1) -> None:
        with self._lock:
            self.counts[kind] += number

    def _read(self, answer: str, turns: int, limit: int) -> Report:
        found = _JSON.search(answer)
        try:
            lesson = str(json.loads(found.group(1)).get("episode_lesson", ""))
        except (AttributeError, json.JSONDecodeError):
            self._count("malformed_reports")
            lesson = ""
        named: dict[int, str] = {}
        for step, action in _ACTION.findall(answer):
            if step and int(step) < turns and action.strip():
                named.setdefault(int(step), action.strip())
            else:
                self._count("unusable_actions")
        chosen = sorted(named)[:limit]
        self._count("actions_over_the_limit", len(named) - len(chosen))
        return Report(tuple(PivotalTurn(t, named[t]) for t in chosen), lesson)

    def _admissible(self, rollout: Rollout, state: object) -> str:
        if self.environment is None:
            return "any"
        with self._lock:
            self.environment.reset(rollout.task)
            self.environment.restore(state)
            return "\n".join(self.environment.admissible())


def task_text(rollout: Rollout) -> str:
    """The first thing the agent read: where it is and what it has to do."""
    users = [m for m in rollout.messages if m.role == "user"]
    return users[0].content if users else rollout.task


def episode_text(rollout: Rollout) -> str:
    """Numbered turns with action and observation."""
    return "\n".join(
        f"[{i}] action: {turn.action}\n    observation: {turn.observation}"
        for i, turn in enumerate(rollout.turns)
    )


def history_text(messages: Sequence[Message]) -> str:
    """The last `HISTORY` exchanges as the student saw them."""
    recent = list(messages)[-2 * HISTORY - 1 :]
    names = {"assistant": "action", "user": "observation", "tool": "observation"}
    return "\n".join(f"{names[m.role]}: {m.content}" for m in recent if m.role in names)
