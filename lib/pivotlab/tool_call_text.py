"""Assistant text to a message: thinking, text, and calls written as text.

Two dialects: JSON between `<tool_call>` tags (Hermes, Qwen), and
`<function=f><parameter=k>value</parameter></function>` with or without those tags
(Qwen3-Coder, SWE-smith, OpenHands), whose values are untyped until a schema says more.
Every function is total and linear in the text. A call that cannot be read becomes a
`ToolCall` with an empty name and the raw text as arguments: present, and never right.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from pivotlab import tool_schemas
from pivotlab.records import Message, ToolCall

OPEN, CLOSE = "<tool_call>", "</tool_call>"
RESULT_OPEN, RESULT_CLOSE = "<tool_response>", "</tool_response>"
THINK_OPEN, THINK_CLOSE = "<think>", "</think>"
_FUNCTION, _FUNCTION_END = "<function=", "</function>"
_PARAMETER, _PARAMETER_END = "<parameter=", "</parameter>"


def parse(
    text: str, tools: Sequence[dict[str, Any]] = (), *, bare_json: bool = False
) -> Message:
    """The assistant message that a generated text stands for; never raises.

    Args:
        text: what the model wrote after the generation prompt.
        tools: schemas that give untyped parameter values their types.
        bare_json: the dialect writes a call as one bare JSON object (Llama 3).
    """
    reasoning, rest = split_thinking(text)
    content, calls = split_calls(rest, tools)
    if bare_json and not calls and content.startswith("{"):
        bare = json_calls(content)
        if all(call.name for call in bare):
            content, calls = "", bare
    return Message("assistant", content.strip(), tuple(calls), reasoning)


def write_call(call: ToolCall) -> str:
    """The call between `<tool_call>` tags, which `parse` reads back."""
    body = {"name": call.name, "arguments": as_object(call.arguments)}
    return f"{OPEN}\n{json.dumps(body, ensure_ascii=False)}\n{CLOSE}"


def as_object(arguments: dict[str, Any] | str) -> dict[str, Any]:
    """Arguments as an object; unreadable text is kept under one key."""
    if isinstance(arguments, str):
        return {"_raw": arguments} if arguments.strip() else {}
    return arguments


def write(message: Message) -> str:
    """What an assistant message says and calls, as one text; thinking is left out."""
    content = [message.content] if message.content else []
    return "\n".join([*content, *map(write_call, message.tool_calls)])


def split_thinking(text: str) -> tuple[str | None, str]:
    """(thinking, rest). A closing tag alone ends thinking opened by the prompt.

    An opening tag that is never closed makes everything after it thinking: the text
    was cut before the answer began.
    """
    head, closed, tail = text.partition(THINK_CLOSE)
    opened = head.lstrip().startswith(THINK_OPEN)
    if not opened and (not closed or THINK_OPEN in head):
        return None, text
    thinking = head.lstrip().removeprefix(THINK_OPEN).strip()
    return thinking or None, tail.lstrip("\n")


def has_calls(text: str) -> bool:
    """Does the text contain the start of a call in either dialect?"""
    return OPEN in text or _FUNCTION in text


def split_calls(
    text: str, tools: Sequence[dict[str, Any]] = ()
) -> tuple[str, list[ToolCall]]:
    """(text outside the calls, calls in order); a last unclosed block is read too."""
    outside: list[str] = []
    calls: list[ToolCall] = []
    at = 0
    while True:
        starts = [i for i in (text.find(OPEN, at), text.find(_FUNCTION, at)) if i >= 0]
        if not starts:
            outside.append(text[at:])
            return "".join(outside).strip(), calls
        start = min(starts)
        outside.append(text[at:start])
        if text.startswith(OPEN, start):
            body, at = _until(text, start + len(OPEN), CLOSE)
            calls += _block(body.strip(), tools)
        else:
            call, at = _function(text, start, tools)
            calls.append(call)


def json_calls(body: str) -> list[ToolCall]:
    """Calls of one JSON body: an object with `name`, or a list of such objects."""
    try:
        value = tool_schemas.json_or_literal(body)
    except ValueError:
        return [ToolCall("", body)]
    entries = value if isinstance(value, list) and value else [value]
    return [_json_call(entry, body) for entry in entries]


def results(text: str) -> list[str] | None:
    """Tool results of a user text that is nothing but response blocks, else None."""
    rest = text.strip()
    if not rest.startswith(RESULT_OPEN):
        return None
    found = []
    while rest.startswith(RESULT_OPEN):
        body, at = _until(rest, len(RESULT_OPEN), RESULT_CLOSE)
        found.append(body.strip("\n"))
        rest = rest[at:].lstrip()
    return found if not rest else None


def _until(text: str, start: int, close: str) -> tuple[str, int]:
    end = text.find(close, start)
    return (text[start:], len(text)) if end < 0 else (text[start:end], end + len(close))


def _block(body: str, tools: Sequence[dict[str, Any]]) -> list[ToolCall]:
    if body.startswith(_FUNCTION):
        return [_function(body, 0, tools)[0]]
    return json_calls(body)


def _json_call(entry: Any, body: str) -> ToolCall:
    name = entry.get("name") if isinstance(entry, dict) else None
    if not isinstance(name, str) or not name:
        return ToolCall("", body)
    given = entry.get("arguments", entry.get("parameters"))
    return ToolCall(name, tool_schemas.arguments(given))


def _function(
    text: str, start: int, tools: Sequence[dict[str, Any]]
) -> tuple[ToolCall, int]:
    """One `<function=...>` call that begins at `start`, and where it ends."""
    name, at = _until(text, start + len(_FUNCTION), ">")
    name = name.strip()
    schema = tool_schemas.properties(tools, name) or {}
    given: dict[str, Any] = {}
    while True:
        parameter, end = text.find(_PARAMETER, at), text.find(_FUNCTION_END, at)
        if parameter < 0 or 0 <= end < parameter:
            break
        key, at = _until(text, parameter + len(_PARAMETER), ">")
        value, at = _until(text, at, _PARAMETER_END)
        value = value.removeprefix("\n").removesuffix("\n")
        given[key.strip()] = tool_schemas.typed(value, schema.get(key.strip()))
    at = len(text) if end < 0 else end + len(_FUNCTION_END)
    if not name or "<" in name or "\n" in name:
        return ToolCall("", text[start:at]), at
    return ToolCall(name, given), at
