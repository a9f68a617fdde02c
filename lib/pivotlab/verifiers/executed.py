"""Shell commands that have the same effect from the same start, found by running both.

Same exit code, output, working directory and file tree count as interchangeable,
whatever the commands look like (`sort -u` and `sort | uniq`). The start is a folder
plus the commands of the turns before; both commands see exactly this state.

Execution decides only where it can see something. The decision goes back to the rules
of `shell`, with the reason in front of the category, when
- `unexecuted`: this host has no sandbox (also part of the version);
- `no_trace`: the expert's command prints and changes nothing, like `true`;
- `unstable`: it does not repeat its own outcome, like `date`;
- `missing_program`, `gold_hits_limit`: it cannot run here.

One start is one test: commands that only differ on other files look alike, so the start
should contain what the task is about.
"""

from __future__ import annotations

import warnings
from collections import OrderedDict
from pathlib import Path

from pivotlab.records import Candidate, Message, Verdict
from pivotlab.verifiers import sandbox, shell_action
from pivotlab.verifiers.sandbox import Limits, Outcome, Sandbox
from pivotlab.verifiers.shell import ShellVerifier, commands

#: Outcomes of the expert kept at a time; K samples of a turn share one.
_KEPT = 64


class ExecutedVerifier:
    """Categories: same, same_effect (reward 1); other_effect, hits_limit; those of
    `shell` behind `unexecuted:`, `no_trace:`, `unstable:`, `missing_program:` or
    `gold_hits_limit:`; no_command, called_other_tool, and those of the text rule.
    """

    name = "executed"

    def __init__(
        self,
        start: Path | None = None,
        *,
        cwd: str = "/",
        limits: Limits | None = None,
        shell: ShellVerifier | None = None,
    ):
        """
        Args:
            start: root of the sandbox's files; `candidate.context["start"]` may name a
                folder inside it. None begins empty.
            cwd: working directory before the first command of a trajectory.
            shell: rules for what execution cannot decide.
        """
        self.start, self.cwd, self.limits = start, cwd, limits
        self.shell = shell or ShellVerifier()
        self._why_not = sandbox.reason_unavailable()
        self.version = f"1-{self.shell.version}"
        if self._why_not is not None:
            self.version += "-unexecuted"
            warnings.warn(
                f"commands are compared, not executed: {self._why_not}", stacklevel=2
            )
        self._sandboxes: dict[Path | None, Sandbox] = {}
        self._expected: OrderedDict[tuple, tuple[Outcome, str | None]] = OrderedDict()

    def verify(self, candidate: Candidate, action: Message) -> Verdict:
        """1.0 iff the action's command does what the expert's command does."""
        found = commands(candidate, action)
        if isinstance(found, Verdict):
            return found
        if found is None:
            return self.shell.verify(candidate, action)
        gold, said = found
        ruled = self.shell.compare(gold, said)
        if ruled.category == "same":
            return ruled
        if self._why_not is not None:
            return _by_rule("unexecuted", ruled)
        try:
            return self._by_effect(candidate, gold, said, ruled)
        except (sandbox.SandboxUnavailable, OSError) as error:
            ruled = Verdict(ruled.reward, ruled.category, str(error)[:300])
            return _by_rule("unexecuted", ruled)

    def _by_effect(
        self, candidate: Candidate, gold: str, said: str, ruled: Verdict
    ) -> Verdict:
        place, history = self._place(candidate), _history(candidate)
        expected, doubt = self._gold(place, history, gold)
        if doubt is not None:
            return _by_rule(doubt, ruled)
        outcome = place.run([*history, said])
        if outcome.limit is not None:
            return Verdict(0.0, "hits_limit", outcome.limit)
        change = sandbox.difference(expected, outcome)
        if change is None:
            return Verdict(1.0, "same_effect", said[:200])
        return Verdict(0.0, "other_effect", change[:300])

    def _gold(
        self, place: Sandbox, history: tuple[str, ...], gold: str
    ) -> tuple[Outcome, str | None]:
        """The expert's outcome, and why it cannot decide (None if it can)."""
        key = (place.start, history, gold)
        if key not in self._expected:
            first = place.run([*history, gold])
            self._expected[key] = first, self._doubt(place, history, gold, first)
            if len(self._expected) > _KEPT:
                self._expected.popitem(last=False)
        return self._expected[key]

    def _doubt(
        self, place: Sandbox, history: tuple[str, ...], gold: str, first: Outcome
    ) -> str | None:
        if first.limit is not None:
            return "gold_hits_limit"
        if first.code == 127:
            return "missing_program"
        if sandbox.leaves_no_trace(first, place.run([*history, "true"])):
            return "no_trace"
        if sandbox.difference(first, place.run([*history, gold])) is not None:
            return "unstable"
        return None

    def _place(self, candidate: Candidate) -> Sandbox:
        start = self.start
        inner = candidate.context.get("start")
        if start is not None and isinstance(inner, str) and ".." not in inner:
            start = start / inner.lstrip("/")
        if start not in self._sandboxes:
            self._sandboxes[start] = Sandbox(start, cwd=self.cwd, limits=self.limits)
        return self._sandboxes[start]


def _history(candidate: Candidate) -> tuple[str, ...]:
    """Commands of the turns before, in order."""
    whole = candidate.domain == "terminal" and not candidate.expert.tool_calls
    turns = (m for m in candidate.prefix if m.role == "assistant")
    found = (shell_action.command_of(turn, whole=whole) for turn in turns)
    return tuple(command for command in found if command is not None)


def _by_rule(why: str, ruled: Verdict) -> Verdict:
    return Verdict(ruled.reward, f"{why}:{ruled.category}", ruled.detail)
