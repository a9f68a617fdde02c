"""ShareGPT-style `conversations`, with AgentInstruct and ETO as special cases.

`gpt` and `function_call` entries are both model output. `loss: false` (AgentInstruct)
and a first reply that is nothing but "OK" (ETO) are canned acknowledgements.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from pivotlab import tool_call_text
from pivotlab.records import Trajectory
from pivotlab.trajectories import chat, fields
from pivotlab.trajectories.assembly import Draft, Origin

_ACKNOWLEDGEMENT = re.compile(r"ok(?:ay)?[.!]?", re.IGNORECASE)
_DOMAINS = {
    "alfworld": "textgame",
    "sciworld": "textgame",
    "webshop": "shop",
    "os": "terminal",
}


def is_row(row: Any) -> bool:
    """Is this a row with a `conversations` list (or one encoded as text)?"""
    return isinstance(row, dict) and isinstance(row.get("conversations"), list | str)


def read(row: dict[str, Any], origin: Origin) -> Iterator[Trajectory]:
    """One row."""
    draft = Draft(origin)
    draft.set_tools(row.get("tools"))
    if fields.string(row.get("system")):
        draft.system(row["system"])
    entries = chat.decoded(row["conversations"], "conversations")
    for i, raw in enumerate(entries):
        where = f"conversations[{i}]"
        entry = fields.mapping(raw, where)
        last = i == len(entries) - 1
        _add(draft, entry, where, last=last)
    yield draft.build(row, domain=_domain(row, draft))


def _add(draft: Draft, entry: dict[str, Any], where: str, *, last: bool) -> None:
    speaker = entry.get("from", entry.get("role"))
    text = fields.text(entry.get("value", entry.get("content")), where)
    if speaker == "function_call":
        reasoning, rest = tool_call_text.split_thinking(text)
        draft.assistant("", tool_call_text.json_calls(rest.strip()), reasoning)
        return
    role = chat.role_of(speaker, f"{where}.from")
    if role == "assistant":
        spoken = any(m.role == "assistant" for m in draft.messages)
        canned = not spoken and not last and _ACKNOWLEDGEMENT.fullmatch(text.strip())
        skip = "canned" if canned else None
        chat.add_assistant(draft, {**entry, "content": text}, where, skip=skip)
    elif role == "tool":
        draft.result(text)
    elif role == "user":
        chat.add_user(draft, text)
    else:
        draft.system(text)


def _domain(row: dict[str, Any], draft: Draft) -> str | None:
    """The task family by the row's id, else by what its replies look like."""
    ident = row.get("id")
    family = re.split(r"[_-]", ident)[0].lower() if isinstance(ident, str) else ""
    if family in _DOMAINS:
        return _DOMAINS[family]
    if "game_file" in row:
        return "textgame"
    said = "\n".join(m.content for m in draft.messages if m.role == "assistant")
    return "shop" if "click[" in said else None
