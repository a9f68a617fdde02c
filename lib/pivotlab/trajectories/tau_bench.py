"""tau-bench: `historical_trajectories` rows and the flat few-shot dialogues.

The trajectories hold no tool list (give the domain's schemas to the loader) and reuse
call ids. In the few-shot text a turn that called a tool shows neither the call nor its
arguments ("assistant: None"), so the decision is lost: `call_not_recorded`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from pivotlab.records import Trajectory
from pivotlab.trajectories import chat, fields
from pivotlab.trajectories.assembly import Draft, Origin

_SPEAKER = re.compile(r"^(user|assistant|tool|system): ?", re.MULTILINE)


def is_row(row: Any) -> bool:
    """Is this one simulated conversation of a results file?"""
    return (
        isinstance(row, dict) and isinstance(row.get("traj"), list) and "task_id" in row
    )


def read(row: dict[str, Any], origin: Origin) -> Iterator[Trajectory]:
    """One simulated conversation with its episode reward."""
    draft = Draft(origin)
    chat.add_messages(draft, fields.sequence(row["traj"], "traj"), "traj")
    info = fields.part(row, "info", "row")
    task = fields.part(info, "task", "info")
    meta = {"trial": row.get("trial"), "gold_actions": task.get("actions")}
    ident = f"{row['task_id']}-{row.get('trial', 0)}"
    yield draft.build(row, ident=ident, domain="tool", meta=meta)


def read_few_shot(row: dict[str, Any], origin: Origin) -> Iterator[Trajectory]:
    """One dialogue kept as a single text under `messages_display`."""
    draft = Draft(origin)
    pieces = _SPEAKER.split(fields.text(row["messages_display"], "messages_display"))
    turns = list(zip(pieces[1::2], pieces[2::2], strict=True))
    for (speaker, said), (after, _) in zip(turns, [*turns[1:], ("", "")], strict=False):
        text = said.strip()
        if speaker == "assistant":
            called = text == "None" or after == "tool"
            skip = "call_not_recorded" if called else None
            draft.assistant("" if text == "None" else text, skip=skip)
        elif speaker == "tool":
            draft.result(text)
        else:
            draft.user(text) if speaker == "user" else draft.system(text)
    yield draft.build(row, domain="tool")
