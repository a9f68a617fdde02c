"""The strict verdict: the expert's action and no other (PivotRL Eq. 2).

Text is compared after stripping and collapsing white space, calls as name and decoded
arguments in order. Thinking is not part of the action.

Departure from the paper, which does not say how strings are compared: white space.
"""

from __future__ import annotations

import json

from pivotlab.records import Candidate, Message, ToolCall, Verdict


class ExactVerifier:
    """Categories: equal (reward 1), text_differs, calls_differ, empty."""

    name = "exact"
    version = "1"

    def verify(self, candidate: Candidate, action: Message) -> Verdict:
        """1.0 iff the action is the demonstrated one."""
        if not action.content.strip() and not action.tool_calls:
            return Verdict(0.0, "empty", "no text and no call")
        expert = candidate.expert
        wanted = _calls(expert)
        if wanted != _calls(action):
            return Verdict(0.0, "calls_differ", f"expected {wanted}"[:2000])
        if _text(expert) != _text(action):
            return Verdict(0.0, "text_differs", f"expected {expert.content!r}")
        return Verdict(1.0, "equal", action.content)


def _text(message: Message) -> str:
    return " ".join(message.content.split())


def _calls(message: Message) -> list[str]:
    return [_call(call) for call in message.tool_calls]


def _call(call: ToolCall) -> str:
    arguments = call.arguments
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError):
            return f"{call.name} {arguments!r}"
    return f"{call.name} {json.dumps(arguments, sort_keys=True, default=repr)}"
