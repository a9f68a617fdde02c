"""mini-swe-agent runs: bare lists, version 1 and version 1.1 of the trajectory format.

A reply holds one fenced command or a `bash` call. A reply with neither was answered by
a format error and is no demonstration: `bad_format`. The closing message (role `exit`,
or an empty user message) only carries the exit status and is dropped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from pivotlab import tool_call_text
from pivotlab.records import Trajectory
from pivotlab.trajectories import chat, fields
from pivotlab.trajectories.assembly import Draft, Origin

_FENCE = re.compile(
    r"^```(?:mswea_bash_command|bash|sh)[ \t]*\n(.*?)\n?```", re.DOTALL | re.MULTILINE
)


def is_file(record: Any) -> bool:
    """Is this a versioned file of the agent?"""
    if not isinstance(record, dict):
        return False
    version = record.get("trajectory_format")
    return isinstance(version, str) and version.startswith("mini-swe")


def is_list(record: Any) -> bool:
    """Is this a bare message list whose replies hold fenced shell commands?"""
    if not chat.is_messages(record):
        return False
    said = [m.get("content") for m in record if m["role"] == "assistant"]
    answers = [m.get("content") for m in record if m["role"] in ("user", "tool")]
    fenced = any(isinstance(t, str) and _FENCE.search(t) for t in said)
    returned = any(isinstance(t, str) and "<returncode>" in t for t in answers)
    return fenced and returned


def read(record: Any, origin: Origin) -> Iterator[Trajectory]:
    """One run, whatever the version."""
    outer = record if isinstance(record, dict) else {"messages": record}
    info = fields.part(outer, "info", "record")
    messages = fields.sequence(outer.get("messages"), "messages")
    draft = Draft(origin)
    status = info.get("exit_status")
    for i, raw in enumerate(messages):
        where = f"messages[{i}]"
        message = fields.mapping(raw, where)
        extra = message.get("extra")
        extra = extra if isinstance(extra, dict) else {}
        text = fields.text(message.get("content"), where)
        closing = i == len(messages) - 1 and message.get("role") == "user"
        if message.get("role") == "exit" or (closing and not text and draft.messages):
            status = extra.get("exit_status", status)
        else:
            _add(draft, message, text, where)
    ident = fields.string(info.get("instance_id")) or fields.string(
        outer.get("instance_id")
    )
    meta = {"exit_status": status}
    yield draft.build(ident=ident, domain="swe", meta=meta)


def _add(draft: Draft, message: dict[str, Any], text: str, where: str) -> None:
    role = chat.role_of(message.get("role"), where)
    if role == "assistant":
        calls = chat.structured_calls(message, where)
        reasoning, text = tool_call_text.split_thinking(text)
        commands = [c.strip() for c in _FENCE.findall(text)]
        usable = bool(calls) or len(commands) == 1
        skip = "bad_format" if text.strip() and not usable else None
        context = {"command": commands[0]} if len(commands) == 1 else None
        draft.assistant(text, calls, reasoning, skip=skip, context=context)
    elif role == "tool":
        draft.result(text, fields.string(message.get("tool_call_id")))
    elif role == "user":
        draft.user(text)
    else:
        draft.system(text)
