"""Pivots as rows of a TRL dataset, and back.

    prompt           messages as a chat template takes them, call arguments as JSON text
    tools            JSON text: list of tool schemas
    expected_action  JSON text: the demonstrated message
    context          JSON text: what the verifier knows of the state, never shown
    uid, traj_id, turn_index, domain
    mu, var, k       of the profile; null where there is none
    profile          JSON text: rewards, categories and provenance (model, verifier)

Whatever has keys that differ between rows is JSON text: Arrow would unify the structs
and fill the missing keys with nulls, and an argument that is null is another argument.
A reward function gets every column but `prompt` by name and calls `candidate_of(row)`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from datasets import Dataset, Features, List, Value

from pivotlab.records import (
    Candidate,
    Message,
    ToolCall,
    TurnProfile,
    message_from_json,
    to_json,
)

_TEXT = Value("string")
_CALL = {
    "id": _TEXT,
    "type": _TEXT,
    "function": {"name": _TEXT, "arguments": _TEXT},
}
_MESSAGE = {
    "role": _TEXT,
    "content": _TEXT,
    "reasoning_content": _TEXT,
    "tool_calls": List(_CALL),
    "name": _TEXT,
    "tool_call_id": _TEXT,
}
FEATURES = Features(
    {
        "prompt": List(_MESSAGE),
        "tools": _TEXT,
        "expected_action": _TEXT,
        "context": _TEXT,
        "uid": _TEXT,
        "traj_id": _TEXT,
        "turn_index": Value("int64"),
        "domain": _TEXT,
        "mu": Value("float64"),
        "var": Value("float64"),
        "k": Value("int64"),
        "profile": _TEXT,
    }
)


def to_trl(
    pivots: Sequence[Candidate], profiles: Mapping[str, TurnProfile] | None = None
) -> Dataset:
    """One row a pivot, in order; see the module for the columns.

    Args:
        pivots: what to train on.
        profiles: by uid; pivots without one get null `mu`, `var`, `k` and `profile`.
    """
    known = profiles or {}
    rows = [_row(pivot, known.get(pivot.uid)) for pivot in pivots]
    return Dataset.from_list(rows, features=FEATURES)


def from_trl(rows: Dataset) -> tuple[list[Candidate], dict[str, TurnProfile]]:
    """Inverse of `to_trl`: pivots in order, and the profiles that there are by uid.

    Raises:
        ValueError: a column is missing.
    """
    missing = sorted(set(FEATURES) - set(rows.column_names))
    if missing:
        raise ValueError(
            f"the dataset lacks the columns {missing}; write it with `to_trl`"
        )
    pivots, profiles = [], {}
    for row in rows:
        pivots.append(candidate_of(row))
        if row["profile"] is not None:
            profiles[row["uid"]] = _profile(row["profile"])
    return pivots, profiles


def candidate_of(row: Mapping[str, Any]) -> Candidate:
    """The candidate that a row was written from."""
    return Candidate(
        uid=row["uid"],
        trajectory_uid=row["traj_id"],
        turn=row["turn_index"],
        prefix=tuple(_message(m) for m in row["prompt"]),
        expert=message_from_json(json.loads(row["expected_action"])),
        tools=tuple(json.loads(row["tools"])),
        domain=row["domain"],
        context=json.loads(row["context"]),
    )


def _row(pivot: Candidate, profile: TurnProfile | None) -> dict[str, Any]:
    return {
        "prompt": [_wire(message) for message in pivot.prefix],
        "tools": json.dumps(pivot.tools),
        "expected_action": json.dumps(to_json(pivot.expert)),
        "context": json.dumps(pivot.context),
        "uid": pivot.uid,
        "traj_id": pivot.trajectory_uid,
        "turn_index": pivot.turn,
        "domain": pivot.domain,
        "mu": profile and profile.mu,
        "var": profile and profile.sigma2,
        "k": profile and profile.k,
        "profile": profile and json.dumps(to_json(profile)),
    }


def _wire(message: Message) -> dict[str, Any]:
    calls = [
        {
            "id": call.id,
            "type": "function",
            "function": {"name": call.name, "arguments": _arguments(call)},
        }
        for call in message.tool_calls
    ]
    return {
        "role": message.role,
        "content": message.content,
        "reasoning_content": message.reasoning,
        "tool_calls": calls or None,
        "name": message.name,
        "tool_call_id": message.tool_call_id,
    }


def _arguments(call: ToolCall) -> str:
    """JSON text of decoded arguments; text that never parsed stays as it was."""
    if isinstance(call.arguments, str):
        return call.arguments
    return json.dumps(call.arguments)


def _message(row: Mapping[str, Any]) -> Message:
    return Message(
        role=row["role"],
        content=row["content"],
        tool_calls=tuple(_call(call) for call in row["tool_calls"] or ()),
        reasoning=row["reasoning_content"],
        name=row["name"],
        tool_call_id=row["tool_call_id"],
    )


def _call(row: Mapping[str, Any]) -> ToolCall:
    text = row["function"]["arguments"]
    try:
        arguments = json.loads(text)
    except json.JSONDecodeError:
        arguments = text
    if not isinstance(arguments, dict):
        arguments = text
    return ToolCall(row["function"]["name"], arguments, row["id"])


def _profile(text: str) -> TurnProfile:
    fields = json.loads(text)
    lists = {k: tuple(v) if isinstance(v, list) else v for k, v in fields.items()}
    return TurnProfile(**lists)
