"""Anthropic-style content blocks, and the line logs of coding command-line agents.

An assistant's content is a list of `text`, `thinking` and `tool_use` blocks; results
come as `tool_result` blocks inside user messages. A line log holds one entry per line
(`type`, `message`, `uuid`, `parentUuid`); the pieces of one response share a message
id, side chains are conversations of their own, and a fork leaves an abandoned branch.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pivotlab.records import ToolCall, Trajectory
from pivotlab.trajectories import fields
from pivotlab.trajectories.assembly import Draft, Origin

_BLOCKS = ("tool_use", "tool_result", "thinking", "redacted_thinking")
_ENTRY_TYPES = ("user", "assistant", "summary", "system")


def has_blocks(content: Any) -> bool:
    """Is this message content a list with call, result or thinking blocks?"""
    return isinstance(content, list) and any(
        isinstance(b, dict) and b.get("type") in _BLOCKS for b in content
    )


def add_assistant(
    draft: Draft, blocks: list[Any], field: str, *, skip: str | None = None
) -> None:
    """One assistant turn from its blocks."""
    text, thinking, calls = [], [], []
    for i, raw in enumerate(blocks):
        block = fields.mapping(raw, f"{field}[{i}]")
        if block.get("type") == "tool_use":
            calls.append(_call(block))
        elif block.get("type") in ("thinking", "redacted_thinking"):
            thinking.append(fields.string(block.get("thinking")) or "")
        else:
            text.append(fields.text([block], f"{field}[{i}]"))
    draft.assistant("".join(text), calls, "\n".join(thinking), skip=skip)


def add_user(draft: Draft, blocks: list[Any], field: str) -> None:
    """Tool results, then what the user said besides."""
    said = []
    for i, raw in enumerate(blocks):
        block = fields.mapping(raw, f"{field}[{i}]")
        if block.get("type") == "tool_result":
            shown = fields.text(block.get("content"), f"{field}[{i}].content")
            draft.result(shown, fields.string(block.get("tool_use_id")))
        else:
            said.append(fields.text([block], f"{field}[{i}]"))
    if said:
        draft.user("".join(said))


def is_line_log(record: Any) -> bool:
    """Is this a list of entries with `type` and `uuid` or `sessionId`?"""
    return isinstance(record, list) and any(
        isinstance(e, dict)
        and e.get("type") in _ENTRY_TYPES
        and ("uuid" in e or "sessionId" in e)
        and isinstance(e.get("message"), dict)
        for e in record[:20]
    )


def read_line_log(record: list[Any], origin: Origin) -> Iterator[Trajectory]:
    """The main conversation of each session, then its side chains."""
    groups: dict[tuple[str, bool], list[dict[str, Any]]] = {}
    for raw in record:
        entry = raw if isinstance(raw, dict) else {}
        if isinstance(entry.get("message"), dict):
            side = bool(entry.get("isSidechain"))
            key = (str(entry.get("sessionId") or "session"), side)
            groups.setdefault(key, []).append(entry)
    for (session, side), entries in sorted(groups.items()):
        draft = Draft(origin)
        line = _line(entries)
        draft.notes["abandoned_branch"] += len(entries) - len(line)
        draft.notes = +draft.notes
        _add_entries(draft, line)
        ident = f"{session}-side" if side else session
        yield draft.build(ident=ident, task=session, domain="swe")


def _call(block: dict[str, Any]) -> ToolCall:
    given = block.get("input")
    name = fields.string(block.get("name")) or ""
    arguments = given if isinstance(given, dict) else fields.text(given, "input")
    return ToolCall(name, arguments, fields.string(block.get("id")))


def _line(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The chain of parents of the last entry; file order where parents are missing."""
    by_id = {e["uuid"]: e for e in entries if isinstance(e.get("uuid"), str)}
    chain, seen = [], set()
    at: dict[str, Any] | None = entries[-1]
    while at is not None and id(at) not in seen:
        seen.add(id(at))
        chain.append(at)
        parent = at.get("parentUuid")
        at = by_id.get(parent) if isinstance(parent, str) else None
    complete = chain[-1].get("parentUuid") is None and "parentUuid" in chain[-1]
    return chain[::-1] if complete else entries


def _add_entries(draft: Draft, entries: list[dict[str, Any]]) -> None:
    """Entries in order; consecutive pieces of one response become one turn."""
    pieces: list[Any] = []
    for position, entry in enumerate(entries):
        message, field = entry["message"], f"entry {position}"
        content = message.get("content")
        blocks = content if isinstance(content, list) else [{"text": content or ""}]
        if message.get("role", entry.get("type")) != "assistant":
            add_user(draft, blocks, field)
            continue
        pieces += blocks
        following = entries[position + 1] if position + 1 < len(entries) else {}
        after = following.get("message") or {}
        same = message.get("id") is not None and after.get("id") == message.get("id")
        if not same:
            add_assistant(draft, pieces, field)
            pieces = []
