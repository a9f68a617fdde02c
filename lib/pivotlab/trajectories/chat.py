"""Chat Completions messages, and the text conventions that hide inside them.

Structured calls may carry arguments as text or as objects, nested under `function` or
flat, or be an old-style `function_call`. Where a message has none, its text is read for
calls (`<tool_call>`, `<function=`), thinking tags, search tags, and text that ran on
into the next observation.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from pivotlab import tool_call_text, tool_schemas
from pivotlab.records import ToolCall, Trajectory
from pivotlab.trajectories import anthropic, fields, react, search
from pivotlab.trajectories.assembly import Draft, Origin

#: What the roles of public logs mean in the canonical conversation.
ROLES = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "human": "user",
    "environment": "user",
    "assistant": "assistant",
    "agent": "assistant",
    "gpt": "assistant",
    "model": "assistant",
    "tool": "tool",
    "function": "tool",
    "observation": "tool",
    "ipython": "tool",
}
_REASONING_KEYS = ("reasoning_content", "reasoning", "thinking")
#: How results of text calls begin when they come back as user text.
_RESULT_STARTS = ("OBSERVATION:", "EXECUTION RESULT of [")


def is_messages(value: Any) -> bool:
    """Is this a list of role messages?"""
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(m, dict) and isinstance(m.get("role"), str) for m in value)
    )


def read(row: dict[str, Any], origin: Origin) -> Iterator[Trajectory]:
    """One row with `messages` (a list, or a list encoded as JSON text)."""
    draft = Draft(origin)
    draft.set_tools(row.get("tools") or row.get("functions"))
    if isinstance(row.get("messages"), str):
        draft.notes["messages_as_text"] += 1
    add_messages(draft, decoded(row.get("messages"), "messages"), "messages")
    yield draft.build(row, domain=_domain(draft))


def read_list(messages: list[Any], origin: Origin) -> Iterator[Trajectory]:
    """A bare list of role messages."""
    draft = Draft(origin)
    add_messages(draft, messages, "messages")
    yield draft.build(domain=_domain(draft))


def decoded(value: Any, field: str) -> list[Any]:
    """A message list that may be stored as JSON text."""
    if isinstance(value, str):
        value = fields.loads(value, field)
    return fields.sequence(value, field)


def add_messages(
    draft: Draft, messages: Sequence[Any], field: str, *, skip: str | None = None
) -> None:
    """Append role messages; `skip` marks every assistant turn among them.

    Raises:
        FormatError: an entry is no object or has an unknown role.
    """
    for i, raw in enumerate(messages):
        where = f"{field}[{i}]"
        message = fields.mapping(raw, where)
        role = role_of(message.get("role"), where)
        content = message.get("content")
        if role == "assistant":
            add_assistant(draft, message, where, skip=skip)
        elif anthropic.has_blocks(content):
            anthropic.add_user(draft, content, f"{where}.content")
        elif role == "tool":
            ident = fields.string(message.get("tool_call_id"))
            name = fields.string(message.get("name"))
            draft.result(fields.text(content, where), ident, name)
        elif role == "user":
            add_user(draft, fields.text(content, where))
        else:
            draft.system(fields.text(content, where))


def role_of(value: Any, where: str) -> str:
    """Canonical role.

    Raises:
        FormatError: the role is unknown.
    """
    if isinstance(value, str) and value.lower() in ROLES:
        return ROLES[value.lower()]
    shown = repr(value)[:60]
    raise fields.FormatError(
        f"{where}.role", f"is {shown}", f"use one of {', '.join(sorted(ROLES))}"
    )


def add_assistant(
    draft: Draft, message: dict[str, Any], where: str, *, skip: str | None = None
) -> None:
    """One assistant message: structured calls if it has any, else calls in its text."""
    if message.get("loss") is False or message.get("weight") == 0:
        skip = skip or "canned"
    content = message.get("content")
    if anthropic.has_blocks(content):
        anthropic.add_assistant(draft, content, f"{where}.content", skip=skip)
        return
    text = fields.text(content, where)
    calls = structured_calls(message, where)
    reasoning = _reasoning(message)
    if reasoning is None:
        reasoning, text = tool_call_text.split_thinking(text)
    add_text_turn(draft, text, calls, reasoning, skip=skip)


def add_text_turn(
    draft: Draft,
    text: str,
    calls: Sequence[ToolCall] = (),
    reasoning: str | None = None,
    *,
    skip: str | None = None,
) -> None:
    """An assistant turn whose text may hold calls, search steps, or run on."""
    if not calls and search.holds_episode(text):
        search.add_episode(draft, text, reasoning, skip=skip)
        return
    if not calls and tool_call_text.has_calls(text):
        text, calls = tool_call_text.split_calls(text, draft.tools)
    text, ran_on = react.cut_run_on(text)
    draft.notes["ran_on"] += ran_on
    draft.notes = +draft.notes
    draft.assistant(text, calls, reasoning, skip=skip)


def add_user(draft: Draft, text: str) -> None:
    """A user message, or the results of calls that were written as text."""
    shown = tool_call_text.results(text) if "<tool_response>" in text else None
    if shown is not None:
        for result in shown:
            draft.result(result)
    elif draft.has_open_calls() and text.lstrip().startswith(_RESULT_STARTS):
        draft.result(text)
    else:
        draft.user(text)


def structured_calls(message: dict[str, Any], where: str) -> list[ToolCall]:
    """The calls of `tool_calls` and of an old-style `function_call`."""
    entries = fields.sequence(message.get("tool_calls"), f"{where}.tool_calls")
    old = message.get("function_call")
    return [call_of(e) for e in [*entries, old] if e is not None]


def call_of(entry: Any) -> ToolCall:
    """A call from its logged form; one without a name keeps everything as raw text."""
    outer = entry if isinstance(entry, dict) else {}
    inner = outer.get("function")
    inner = inner if isinstance(inner, dict) else outer
    name = fields.string(inner.get("name"))
    ident = fields.string(outer.get("id")) or fields.string(outer.get("call_id"))
    if name is None:
        return ToolCall("", json.dumps(entry, ensure_ascii=False), ident)
    return ToolCall(name, tool_schemas.arguments(inner.get("arguments")), ident)


def _reasoning(message: dict[str, Any]) -> str | None:
    for key in _REASONING_KEYS:
        if fields.string(message.get(key)):
            return message[key]
    blocks = message.get("thinking_blocks")
    if not isinstance(blocks, list):
        return None
    texts = [b.get("thinking") for b in blocks if isinstance(b, dict)]
    return "\n".join(t for t in texts if isinstance(t, str)) or None


def _domain(draft: Draft) -> str | None:
    """The domain that the texts themselves show, None for the default."""
    names = {c.name for m in draft.messages for c in m.tool_calls}
    if names & {"bash", "execute_bash", "str_replace_editor"}:
        return "swe"
    if names and names <= search.TOOL_NAMES:
        return "search"
    said = [m.content for m in draft.messages if m.role == "assistant"]
    return (
        "search" if any(search.is_step(t) or react.is_step(t) for t in said) else None
    )
