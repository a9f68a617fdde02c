"""Short ways to write the rows that verifier tests judge."""

from __future__ import annotations

import json
from typing import Any

from pivotlab.records import Candidate, Message, ToolCall


def say(content: str) -> Message:
    """An assistant turn of text."""
    return Message("assistant", content)


def call(name: str, arguments: Any = None, **given: Any) -> Message:
    """An assistant turn of one call, its arguments as keywords or as logged."""
    return Message("assistant", "", (ToolCall(name, given or arguments or {}),))


def calls(*turns: Message) -> Message:
    """One turn with the calls of several."""
    return Message("assistant", "", tuple(c for t in turns for c in t.tool_calls))


def tool(name: str, required: list[str] | None = None, **properties: Any) -> dict:
    """A tool schema in canonical shape."""
    parameters: dict[str, Any] = {"type": "object", "properties": properties}
    if required is not None:
        parameters["required"] = required
    return {
        "type": "function",
        "function": {"name": name, "description": "", "parameters": parameters},
    }


def candidate(
    expert: Message,
    *,
    tools: tuple[dict, ...] = (),
    domain: str = "tool",
    prefix: tuple[Message, ...] = (Message("user", "please"),),
    **context: Any,
) -> Candidate:
    """A turn whose demonstrated action is `expert`."""
    return Candidate("t:0", "t", 0, prefix, expert, tools, domain, context)


def terminus(*keys: str, done: bool = False, first: bool = False, **more: Any) -> str:
    """A reply of Terminus 2 (or of Terminus 1 with `first`) that types `keys`."""
    if first:
        commands: list[dict] = [
            {"keystrokes": k, "is_blocking": True, "timeout_sec": 5} for k in keys
        ]
        reply = {"state_analysis": "s", "explanation": "e", "commands": commands}
        return json.dumps({**reply, "is_task_complete": done, **more})
    commands = [{"keystrokes": k} for k in keys]
    reply = {"analysis": "a", "plan": "p", "commands": commands, "task_complete": done}
    return json.dumps({**reply, **more})
