"""Tool calls that do the same: right tools, equal arguments in the sense of the schema.

Modes:
- "functional": the calls of a turn are matched as a bag (maximum matching, so order and
  ambiguity cost nothing); every call of the expert needs its partner, surplus calls
  fail.
- "paper": our reading of "schema valid, tool name right, argument structure right; free
  text is free": the arguments fit the tool's schema and have the expert's keys and
  kinds of values; the values themselves are not compared.

A turn in which the expert only talks goes to the text rule of the same mode; text next
to calls is never compared. A row may ask for order (`candidate.context["ordered"]`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

from pivotlab.records import Candidate, Message, ToolCall, Verdict
from pivotlab.verifiers import arguments, matching, tool_name
from pivotlab.verifiers.message import MessageVerifier
from pivotlab.verifiers.protocol import Verifier

Mode = Literal["functional", "paper"]
#: More calls in one turn are broken output.
MOST_CALLS = 32


class ToolCallVerifier:
    """Categories: match (reward 1); no_call, unreadable_call, too_many_calls,
    wrong_tool, unknown_tool, missing_call, surplus_calls, wrong_order, bad_arguments,
    missing_argument, unexpected_argument, wrong_type, wrong_length, wrong_value,
    schema_violation and wrong_structure (paper mode), bad_demonstration, and those of
    the text rule for text turns.
    """

    name = "tool_call"

    def __init__(
        self,
        mode: Mode = "functional",
        rules: arguments.Rules = arguments.DEFAULT,
        *,
        aliases: Mapping[str, str] | None = None,
        namespaces: bool = False,
        message: Verifier | None = None,
    ):
        """
        Args:
            rules: ignored arguments and string tolerance.
            aliases, namespaces: see `tool_name.ToolNameVerifier`.
            message: judges turns in which the expert only talks.
        """
        self.mode = mode
        self.version = "1" if mode == "functional" else f"1-{mode}"
        self.rules = rules
        self.aliases = dict(aliases or {})
        self.namespaces = namespaces
        self.message = message or MessageVerifier(mode)

    def verify(self, candidate: Candidate, action: Message) -> Verdict:
        """1.0 iff the calls of the action do what the expert's calls do."""
        gold, said = candidate.expert.tool_calls, action.tool_calls
        if not gold:
            return self.message.verify(candidate, action)
        if not said:
            return Verdict(0.0, "no_call", f"expected {_names(gold)}")
        if max(len(said), len(gold)) > MOST_CALLS:
            return Verdict(0.0, "too_many_calls", f"{len(said)} calls")
        if any(not call.name for call in said):
            return Verdict(0.0, "unreadable_call", "a call without a readable name")
        return self._match(candidate, gold, self._renamed(candidate, said))

    def _renamed(
        self, candidate: Candidate, said: tuple[ToolCall, ...]
    ) -> list[ToolCall]:
        names = [
            tool_name.resolve(c.name, candidate.tools, self.aliases, self.namespaces)
            for c in said
        ]
        return [
            ToolCall(n, c.arguments, c.id) for n, c in zip(names, said, strict=True)
        ]

    def _match(
        self, candidate: Candidate, gold: tuple[ToolCall, ...], said: list[ToolCall]
    ) -> Verdict:
        sides = [[self._read(candidate, c) for c in side] for side in (gold, said)]
        table = [[self._compare(candidate, g, s) for s in sides[1]] for g in sides[0]]
        if candidate.context.get("ordered") is True:
            fits = [
                [d is None and i == j for j, d in enumerate(row)]
                for i, row in enumerate(table)
            ]
        else:
            fits = [[d is None for d in row] for row in table]
        paired = matching.pairs(fits)
        if len(paired) == len(gold) == len(said):
            return Verdict(1.0, "match", _names(said))
        if len(paired) == len(gold):
            return Verdict(0.0, "surplus_calls", f"{len(said)} calls for {len(gold)}")
        if len(paired) == len(said):
            return Verdict(0.0, "missing_call", f"{len(said)} calls for {len(gold)}")
        lonely = min(set(range(len(gold))) - {row for row, _ in paired})
        reason = min(
            (d for d in table[lonely] if d is not None),
            key=lambda d: d.category == "wrong_tool",
            default=arguments.Difference("wrong_order", gold[lonely].name[:80], ""),
        )
        if reason.category == "wrong_tool":
            return self._wrong_tool(candidate, gold, said)
        return Verdict(0.0, reason.category, str(reason))

    def _wrong_tool(
        self, candidate: Candidate, gold: tuple[ToolCall, ...], said: list[ToolCall]
    ) -> Verdict:
        """No call of the right name: another tool, or fewer calls than expected."""
        wanted, got = [c.name for c in gold], [c.name for c in said]
        detail = f"expected {_names(gold)}; got {_names(said)}"
        if set(got) <= set(wanted):
            return Verdict(0.0, "missing_call", detail)
        category = tool_name.unknown_or_wrong(got, wanted, candidate.tools)
        return Verdict(0.0, category, detail)

    def _read(self, candidate: Candidate, call: ToolCall) -> ToolCall:
        """The call with decoded arguments, or as it is if they are no object."""
        schema = tool_name.parameters(candidate.tools, call.name)
        given = arguments.decoded(call.arguments, schema)
        return call if given is None else ToolCall(call.name, given, call.id)

    def _compare(
        self, candidate: Candidate, gold: ToolCall, said: ToolCall
    ) -> arguments.Difference | None:
        wanted, given = gold.arguments, said.arguments
        if gold.name != said.name:
            return arguments.Difference("wrong_tool", said.name[:200], "")
        if isinstance(given, str):
            detail = f"no JSON object: {given[:200]!r}"
            return arguments.Difference("bad_arguments", said.name, detail)
        if isinstance(wanted, str):
            detail = f"the expert's arguments are no JSON object: {wanted[:200]!r}"
            return arguments.Difference("bad_demonstration", gold.name, detail)
        schema = tool_name.parameters(candidate.tools, gold.name)
        if self.mode == "paper":
            return self._compare_structure(wanted, given, schema)
        return arguments.difference(wanted, given, schema, self.rules)

    def _compare_structure(
        self, gold: dict, said: dict, schema: Mapping
    ) -> arguments.Difference | None:
        found = arguments.problem(said, schema)
        if found is not None:
            return arguments.Difference("schema_violation", "", found)
        shape = replace(self.rules, values=False)
        found = arguments.difference(gold, said, schema, shape)
        if found is None:
            return None
        return arguments.Difference("wrong_structure", found.path, found.detail)


def _names(calls: tuple[ToolCall, ...] | list[ToolCall]) -> str:
    return ", ".join(call.name[:80] for call in calls)[:300]
