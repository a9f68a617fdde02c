"""OpenHands event logs: V0 (`action`/`observation`) and V1 (`kind`).

A turn is one model response: events that share a response id form one turn, and the
response stored with an event is the true message (older files have none, there the
event's own fields are used). State changes, recalls and statistics are not turns.

A condensation rewrites what the model sees, so the run is cut there: the turns before
it form one trajectory, and what follows forms another whose prefix holds the surviving
events, marked `copied`, with the summary in the place of the forgotten ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pivotlab import tool_schemas
from pivotlab.records import ToolCall, Trajectory
from pivotlab.trajectories import chat, fields
from pivotlab.trajectories.assembly import Draft, Origin

Event = dict[str, Any]
#: V0 events that neither the model wrote nor saw.
_SILENT = (
    "agent_state_changed", "change_agent_state", "recall", "null", "condensation",
    "condensation_request", "condense",
)  # fmt: skip
#: Arguments of a V0 action that are not arguments of a call.
_NOT_ARGUMENTS = {"thought", "confirmation_state", "security_risk_reason"}


def is_events(record: Any) -> bool:
    """Is this a V0 event list?"""
    return isinstance(record, list) and any(
        isinstance(e, dict)
        and "role" not in e
        and (isinstance(e.get("action"), str) or isinstance(e.get("observation"), str))
        and (
            "args" in e
            or "source" in e
            or "cause" in e
            or "content" in e
            or "thought" in e
        )
        for e in record
    )


def is_row(record: Any) -> bool:
    """Is this an output row with a V0 event list under `history`?"""
    return isinstance(record, dict) and is_events(record.get("history"))


def is_kinds(record: Any) -> bool:
    """Is this a V1 event list?"""
    return isinstance(record, list) and any(
        isinstance(e, dict)
        and isinstance(e.get("kind"), str)
        and e["kind"].endswith(("Event", "Condensation"))
        for e in record
    )


def read(record: Any, origin: Origin) -> Iterator[Trajectory]:
    """One run: an event list of either version, or a row around one."""
    row = record if isinstance(record, dict) else {}
    events = [e for e in row.get("history", record) if isinstance(e, dict)]
    add = _add_v1 if is_kinds(events) else _add_v0
    segment: list[tuple[Event, bool]] = []
    number = 0
    for event in [*events, None]:
        condensed = event is not None and _is_condensation(event)
        if event is not None and not condensed:
            segment.append((event, False))
            continue
        if any(not copied for _, copied in segment):
            yield _segment(segment, add, row, origin, number)
            number += 1
        if event is not None:
            segment = _condense(segment, event)


def _segment(
    segment: list[tuple[Event, bool]], add: Any, row: Event, origin: Origin, number: int
) -> Trajectory:
    draft = Draft(origin)
    seen: set[str] = set()
    for position, (event, copied) in enumerate(segment):
        if "pivotlab_summary" in event:
            draft.user(event["pivotlab_summary"])
        else:
            add(draft, event, seen, f"event {position}", copied)
    task = fields.string(row.get("instance_id"))
    ident = f"{task or draft._digest()}" + (f"-{number}" if number else "")
    outcome = fields.part(row, "metrics", "row").get("resolved", row.get("resolved"))
    reward = fields.reward(outcome)
    return draft.build(ident=ident, task=task, domain="swe", reward=reward)


def _is_condensation(event: Event) -> bool:
    return event.get("kind") == "Condensation" or event.get("action") == "condensation"


def _condense(
    segment: list[tuple[Event, bool]], event: Event
) -> list[tuple[Event, bool]]:
    """The surviving events as copies, with the summary where it belongs."""
    details = event if event.get("kind") else fields.part(event, "args", "condensation")
    forgotten = details.get("forgotten_event_ids")
    first, last = (details.get(f"forgotten_events_{k}_id") for k in ("start", "end"))
    if isinstance(forgotten, list):
        gone = {str(i) for i in forgotten}
    elif isinstance(first, int) and isinstance(last, int):
        gone = {str(i) for i in range(first, min(last, first + 10**6) + 1)}
    else:
        gone = set()
    kept = [(e, True) for e, _ in segment if str(e.get("id")) not in gone]
    summary, offset = details.get("summary"), details.get("summary_offset")
    if isinstance(summary, str) and summary:
        at = offset if isinstance(offset, int) and 0 <= offset <= len(kept) else 1
        kept.insert(at, ({"pivotlab_summary": summary}, True))
    return kept


def _add_v0(
    draft: Draft, event: Event, seen: set[str], where: str, copied: bool
) -> None:
    action, observed = event.get("action"), event.get("observation")
    source = event.get("source")
    if (action or observed) in _SILENT or not (action or observed):
        return
    if observed is not None and action is None:
        _observe_v0(draft, event, where)
    elif action == "system":
        arguments = fields.part(event, "args", where)
        draft.set_tools(arguments.get("tools"))
        draft.system(fields.text(arguments.get("content"), where))
    elif action == "message" and source != "agent" and (source or not draft.messages):
        arguments = fields.part(event, "args", where)
        draft.user(fields.text(arguments.get("content", event.get("content")), where))
    elif source in (None, "agent"):
        _act_v0(draft, event, seen, where, copied)
    else:
        draft.notes[f"{source}_action:{action}"] += 1


def _act_v0(
    draft: Draft, event: Event, seen: set[str], where: str, copied: bool
) -> None:
    skip = "copied" if copied else None
    metadata = fields.part(event, "tool_call_metadata", where)
    response = fields.part(metadata, "model_response", where)
    ident = fields.string(response.get("id"))
    if ident in seen:
        return
    choices = fields.sequence(response.get("choices"), f"{where}.choices")
    message = (
        choices[0].get("message") if choices and isinstance(choices[0], dict) else None
    )
    if isinstance(message, dict):
        seen.add(ident or where)
        chat.add_assistant(draft, {**message, "role": "assistant"}, where, skip=skip)
        return
    arguments = fields.part(event, "args", where) or event
    if event["action"] == "message":
        draft.assistant(fields.text(arguments.get("content"), where), skip=skip)
        return
    given = {
        k: v
        for k, v in arguments.items()
        if k not in _NOT_ARGUMENTS and k not in _EVENT_KEYS and v is not None
    }
    thought = arguments.get("thought", "")
    call = ToolCall(str(event["action"]), given)
    draft.assistant(fields.text(thought, where), (call,), skip=skip)


#: Bookkeeping of old events that keep their arguments at the top level.
_EVENT_KEYS = {
    "action", "action_risk", "is_confirmed", "keep_prompt", "kernel_init_code", "id",
    "timestamp", "source", "message", "tool_call_metadata", "llm_metrics", "timeout",
}  # fmt: skip


def _observe_v0(draft: Draft, event: Event, where: str) -> None:
    text = fields.text(event.get("content"), where)
    metadata = fields.part(event, "tool_call_metadata", where)
    if draft.has_open_calls():
        draft.result(text, fields.string(metadata.get("tool_call_id")))
    else:
        draft.notes["orphan_tool_result"] += 1
        draft.user(text)


def _add_v1(
    draft: Draft, event: Event, seen: set[str], where: str, copied: bool
) -> None:
    kind = event.get("kind")
    skip = "copied" if copied else None
    if kind == "SystemPromptEvent":
        draft.set_tools(event.get("tools"))
        draft.system(_text_v1(event.get("system_prompt"), where))
    elif kind == "MessageEvent":
        message = fields.part(event, "llm_message", where)
        if event.get("source") == "agent" or message.get("role") == "assistant":
            chat.add_assistant(
                draft, {**message, "role": "assistant"}, where, skip=skip
            )
        else:
            draft.user(_text_v1(message.get("content"), where))
    elif kind == "ActionEvent":
        _act_v1(draft, event, seen, where, skip)
    elif kind in ("ObservationEvent", "AgentErrorEvent", "UserRejectObservation"):
        shown = event.get(
            "observation", event.get("error", event.get("rejection_reason"))
        )
        draft.result(_text_v1(shown, where), fields.string(event.get("tool_call_id")))


def _act_v1(
    draft: Draft, event: Event, seen: set[str], where: str, skip: str | None
) -> None:
    """One action; actions of the same response join the turn that is being built."""
    call = fields.part(event, "tool_call", where)
    name = (
        fields.string(call.get("name")) or fields.string(event.get("tool_name")) or ""
    )
    ident = fields.string(call.get("id")) or fields.string(event.get("tool_call_id"))
    made = ToolCall(name, tool_schemas.arguments(call.get("arguments")), ident)
    response = fields.string(event.get("llm_response_id"))
    if response and response in seen:
        draft.join(made)
        return
    if response:
        seen.add(response)
    thought = _text_v1(event.get("thought"), where)
    draft.assistant(thought, (made,), _reasoning_v1(event), skip=skip)


def _reasoning_v1(event: Event) -> str | None:
    blocks = event.get("thinking_blocks")
    texts = (
        [b.get("thinking") for b in blocks if isinstance(b, dict)]
        if isinstance(blocks, list)
        else []
    )
    joined = "\n".join(t for t in texts if isinstance(t, str))
    return fields.string(event.get("reasoning_content")) or joined or None


def _text_v1(value: Any, where: str) -> str:
    """Text of a V1 value: text, parts, or an object around them."""
    while isinstance(value, dict):
        inner = next(
            (value[k] for k in ("text", "content", "output") if k in value), None
        )
        if inner is None:
            break
        value = inner
    return fields.text(value, where)
