"""Rows of column stores: `prompt` + `completion`, and `trajectory` lists.

What stands in the prompt is context, also where the assistant speaks there; the
completion is the decision. `trajectory` rows (nebius) are chat rows under another name,
whose arguments may be text, object or null.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pivotlab.records import Trajectory
from pivotlab.trajectories import chat
from pivotlab.trajectories.assembly import Draft, Origin


def is_prompt_row(row: Any) -> bool:
    """Is this a row with a prompt and a completion?"""
    return isinstance(row, dict) and all(
        isinstance(row.get(k), str) or chat.is_messages(row.get(k))
        for k in ("prompt", "completion")
    )


def is_list_row(row: Any) -> bool:
    """Is this a row whose role messages lie under `trajectory` or `traj`?"""
    return isinstance(row, dict) and any(
        chat.is_messages(row.get(k)) for k in ("trajectory", "traj")
    )


def read_prompt_row(row: dict[str, Any], origin: Origin) -> Iterator[Trajectory]:
    """One prompt with its completion."""
    draft = Draft(origin)
    draft.set_tools(row.get("tools"))
    for key, role, skip in (
        ("prompt", "user", "context"),
        ("completion", "assistant", None),
    ):
        value = row[key]
        messages = (
            [{"role": role, "content": value}] if isinstance(value, str) else value
        )
        chat.add_messages(draft, messages, key, skip=skip)
    if row.get("images"):
        draft.notes["images"] += 1
    yield draft.build(row)


def read_list_row(row: dict[str, Any], origin: Origin) -> Iterator[Trajectory]:
    """One run under `trajectory` (software engineering) or `traj` (ReAct as chat)."""
    key = "trajectory" if chat.is_messages(row.get("trajectory")) else "traj"
    draft = Draft(origin)
    draft.set_tools(row.get("tools"))
    chat.add_messages(draft, row[key], key)
    domain = "swe" if key == "trajectory" else "search"
    meta = {"exit_status": row.get("exit_status")}
    yield draft.build(row, task=_task(row), domain=domain, meta=meta)


def _task(row: dict[str, Any]) -> str | None:
    task = row.get("instance_id")
    return task if isinstance(task, str) else None
