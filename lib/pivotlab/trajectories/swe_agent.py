"""SWE-agent `.traj` files: the `history`, never the per-step `messages`.

Per-step messages already contain the step's own observation, so a prefix taken from
them would show the answer. Demonstration turns are kept as context and skipped. Tool
schemas are not stored: give the run's tool file to the loader to switch checks on.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pivotlab import tool_call_text
from pivotlab.records import Trajectory
from pivotlab.trajectories import chat, fields
from pivotlab.trajectories.assembly import Draft, Origin


def is_file(record: Any) -> bool:
    """Is this a `.traj` file, or a demonstration file that only has a history?"""
    if not isinstance(record, dict) or not isinstance(record.get("history"), list):
        return False
    if isinstance(record.get("trajectory"), list):
        return "environment" in record or "info" in record
    history = record["history"]
    return any(
        isinstance(m, dict) and "role" in m and ("agent" in m or "message_type" in m)
        for m in history
    )


def read(record: dict[str, Any], origin: Origin) -> Iterator[Trajectory]:
    """The one run of a file."""
    draft = Draft(origin)
    history = fields.sequence(record.get("history"), "history")
    steps = fields.sequence(record.get("trajectory"), "trajectory")
    for i, raw in enumerate(history):
        _add(draft, fields.mapping(raw, f"history[{i}]"), f"history[{i}]")
    if not history:
        _add_steps(draft, steps)
    turns = sum(m.role == "assistant" for m in draft.messages) - len(draft.skips)
    draft.notes["steps_without_history"] += max(0, len(steps) - turns)
    draft.notes = +draft.notes
    info = fields.part(record, "info", "record")
    meta = {"exit_status": info.get("exit_status")}
    name = fields.string(record.get("environment"))
    task = name if name and name != "swe_main" else Path(origin.source).stem
    yield draft.build(record, ident=task, task=task, domain="swe", meta=meta)


def _add(draft: Draft, message: dict[str, Any], where: str) -> None:
    role = chat.role_of(message.get("role"), where)
    text = fields.text(message.get("content"), where)
    if role == "assistant":
        calls = chat.structured_calls(message, where)
        reasoning, text = tool_call_text.split_thinking(text)
        if not calls and tool_call_text.has_calls(text):
            text, calls = tool_call_text.split_calls(text, draft.tools)
        action = message.get("action")
        command = action.strip() if isinstance(action, str) else ""
        skip = "demonstration" if message.get("is_demo") else None
        context = {"command": command} if command else None
        draft.assistant(text, calls, reasoning, skip=skip, context=context)
    elif role == "tool":
        ids = message.get("tool_call_ids")
        ident = ids[0] if isinstance(ids, list) and ids else message.get("tool_call_id")
        draft.result(text, fields.string(ident))
    elif role == "user":
        chat.add_user(draft, text)
    else:
        draft.system(text)


def _add_steps(draft: Draft, steps: list[Any]) -> None:
    """The steps themselves, for files that kept no history."""
    for i, raw in enumerate(steps):
        step = fields.mapping(raw, f"trajectory[{i}]")
        action = step.get("action")
        command = action.strip() if isinstance(action, str) else ""
        said = fields.text(step.get("response"), f"trajectory[{i}].response")
        context = {"command": command} if command else None
        draft.assistant(said or command, context=context)
        draft.user(fields.text(step.get("observation"), f"trajectory[{i}].observation"))
