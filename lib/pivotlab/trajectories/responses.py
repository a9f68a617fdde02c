"""Responses items, and NeMo Gym rows built from them.

One turn is a run of items (reasoning, message, function calls); it ends at the first
output or non-assistant message. What stands in `responses_create_params.input` was
given to the model: its assistant turns are context, not decisions. A row without a
response but with `expected_action` (or a terminal row's `expected_answer`) is a pivot
row: its one decision is the expected action.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from pivotlab import tool_call_text, tool_schemas
from pivotlab.records import Message, ToolCall, Trajectory
from pivotlab.trajectories import chat, fields
from pivotlab.trajectories.assembly import Draft, Origin

_ITEM_TYPES = ("message", "reasoning", "function_call", "function_call_output")


def is_items(value: Any) -> bool:
    """Is this a list of Responses items (at least one of them more than a message)?"""
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(i, dict) and i.get("type") in _ITEM_TYPES for i in value)
    )


def read(row: dict[str, Any], origin: Origin) -> Iterator[Trajectory]:
    """One Gym row, or one logged response (`input`, `output`)."""
    request = fields.part(row, "responses_create_params", "row") or row
    response = fields.part(row, "response", "row") or row
    draft = Draft(origin)
    draft.set_tools(request.get("tools"))
    if fields.string(request.get("instructions")):
        draft.system(request["instructions"])
    given = request.get("input")
    if isinstance(given, str):
        draft.user(given)
    else:
        items = fields.sequence(given, "input")
        add_items(draft, items, "input", skip="context")
    add_items(draft, fields.sequence(response.get("output"), "output"), "output")
    expected = expected_action(row)
    if expected is not None and not response.get("output"):
        context = pivot_context(row)
        said = (expected.content, expected.tool_calls, expected.reasoning)
        draft.assistant(*said, context=context)
    agent = row.get("agent_ref")
    name = agent.get("name") if isinstance(agent, dict) else None
    ident = "-".join(
        str(row[k]) for k in ("_ng_task_index", "_ng_rollout_index") if k in row
    )
    kept = ("expected_action", "pass_rate", "pass_rate_total", "pass_rate_passed")
    meta = {"agent": name, **{k: row[k] for k in kept if k in row}}
    yield draft.build(
        row, ident=ident or None, task=_task(row), domain=pivot_domain(row), meta=meta
    )


def read_items(items: list[Any], origin: Origin) -> Iterator[Trajectory]:
    """A bare list of items."""
    draft = Draft(origin)
    add_items(draft, items, "items")
    yield draft.build()


def add_items(
    draft: Draft, items: list[Any], field: str, *, skip: str | None = None
) -> None:
    """Append Responses items; `skip` marks every assistant turn among them.

    Raises:
        FormatError: an item is no object or has an unknown role.
    """
    turn = _Turn(draft, skip)
    for i, raw in enumerate(items):
        where = f"{field}[{i}]"
        item = fields.mapping(raw, where)
        kind = item.get("type") or "message"
        if kind == "reasoning":
            turn.think(_reasoning(item, where))
        elif kind == "function_call":
            turn.calls.append(call_of(item))
        elif kind == "message":
            role = chat.role_of(item.get("role"), where)
            text = fields.text(item.get("content"), where)
            if role == "assistant":
                turn.say(text)
            else:
                turn.end()
                draft.system(text) if role == "system" else chat.add_user(draft, text)
        elif kind == "function_call_output":
            turn.end()
            ident = fields.string(item.get("call_id"))
            draft.result(fields.text(item.get("output"), where), ident)
        else:
            draft.notes[f"unknown_item:{kind}"] += 1
    turn.end()


def call_of(item: dict[str, Any]) -> ToolCall:
    """The call of a `function_call` item."""
    name, ident = fields.string(item.get("name")), fields.string(item.get("call_id"))
    if name is None:
        return ToolCall("", json.dumps(item, ensure_ascii=False), ident)
    return ToolCall(name, tool_schemas.arguments(item.get("arguments")), ident)


def expected_action(row: dict[str, Any]) -> Message | None:
    """The demonstrated action of a pivot row, None where the row has none.

    Raises:
        FormatError: the expected action is of an unknown type.
    """
    raw = row.get("expected_action")
    if raw is None:
        answer, details = row.get("expected_answer"), row.get("metadata")
        harness = details.get("harness") if isinstance(details, dict) else None
        if isinstance(answer, str) and answer and harness:
            return Message("assistant", answer)
        return None
    action = fields.mapping(raw, "expected_action")
    kind = action.get("type")
    if kind == "message":
        return Message("assistant", fields.text(action.get("content"), "content"))
    if kind == "function_call":
        return Message("assistant", "", (call_of(action),))
    if kind == "function_call_batch":
        calls = fields.sequence(action.get("calls"), "expected_action.calls")
        made = [call_of(fields.mapping(c, "expected_action.calls[]")) for c in calls]
        return Message("assistant", "", tuple(made))
    raise fields.FormatError(
        "expected_action.type",
        f"is {kind!r}",
        "use function_call, message or function_call_batch",
    )


def pivot_context(row: dict[str, Any]) -> dict[str, Any]:
    """What a verifier must know of a pivot row: harness, threshold, order of calls."""
    found: dict[str, Any] = {}
    if _terminus(row):
        found["harness"] = row["metadata"]["harness"]
    threshold = row.get("threshold")
    if isinstance(threshold, int | float) and not isinstance(threshold, bool):
        found["threshold"] = float(threshold)
    action = row.get("expected_action")
    if isinstance(action, dict) and action.get("ordered") is True:
        found["ordered"] = True
    return found


def pivot_domain(row: dict[str, Any]) -> str | None:
    """Terminal rows by their harness, software engineering by its agent, else None."""
    if _terminus(row):
        return "terminal"
    agent = row.get("agent_ref")
    name = agent.get("name") if isinstance(agent, dict) else None
    return "swe" if isinstance(name, str) and "swe" in name else None


def _terminus(row: dict[str, Any]) -> bool:
    details = row.get("metadata")
    harness = details.get("harness") if isinstance(details, dict) else None
    return isinstance(harness, str) and harness.startswith("terminus")


class _Turn:
    """The items of one assistant turn until something ends it."""

    def __init__(self, draft: Draft, skip: str | None):
        self.draft, self.skip = draft, skip
        self._clear()

    def _clear(self) -> None:
        self.thoughts: list[str] = []
        self.text: str | None = None
        self.calls: list[ToolCall] = []

    def think(self, text: str) -> None:
        if self.text is not None or self.calls:
            self.end()
        self.thoughts.append(text)

    def say(self, text: str) -> None:
        if self.text is not None or self.calls:
            self.end()
        self.text = text

    def end(self) -> None:
        if self.thoughts or self.text is not None or self.calls:
            inline, text = tool_call_text.split_thinking(self.text or "")
            thoughts = "\n".join([*self.thoughts, *([inline] if inline else [])])
            chat.add_text_turn(
                self.draft, text, self.calls, thoughts or None, skip=self.skip
            )
        self._clear()


def _reasoning(item: dict[str, Any], where: str) -> str:
    parts = [
        *fields.sequence(item.get("summary"), f"{where}.summary"),
        *fields.sequence(item.get("content"), f"{where}.content"),
    ]
    return "\n".join(fields.text([p], where) for p in parts)


def _task(row: dict[str, Any]) -> str | None:
    if "_ng_task_index" in row:
        return str(row["_ng_task_index"])
    return fields.string(row.get("trajectory_id")) or fields.string(
        row.get("source_trajectory_uid")
    )
