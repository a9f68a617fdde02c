"""NeMo Gym's pivot rows, in and out.

A pivot row holds the request the model saw (`responses_create_params`), the
demonstrated action (`expected_action`: `function_call`, `message` or
`function_call_batch`; terminal rows use `expected_answer`), the agent that runs it
(`agent_ref`), and after profiling `pass_rate`, `pass_rate_total`, `pass_rate_passed`.
Import, export and import again is the identity; what this package does not use travels
along unchanged.

Departures and additions:

1. An expert turn with text beside its calls keeps the text under `expected_content`,
   because no `expected_action` can hold both.
2. The single rewards are written as `rewards`: a rate and a count cannot restore graded
   rewards.
3. Arguments given as an object (image rows) are written back as JSON text.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from pivotlab.records import Candidate, Message, ToolCall, TurnProfile
from pivotlab.trajectories import fields, responses
from pivotlab.trajectories.assembly import Draft, Origin
from pivotlab.whole_files import replacing

Row = dict[str, Any]
T = TypeVar("T")
#: Row keys that a candidate says; all others but the rates travel along as they are.
_OWN_KEYS = (
    "responses_create_params",
    "expected_action",
    "expected_content",
    "uuid",
    "trajectory_id",
)
_RATE_KEYS = ("pass_rate", "pass_rate_total", "pass_rate_passed", "rewards")


@dataclass(frozen=True)
class GymPivot:
    """A pivot row: the decision, its profile if it was profiled, and the row's rest.

    `request` holds the request's other settings (temperature, tool_choice, ...), `rest`
    the row's other keys (`agent_ref`, `metadata`, identifiers, provenance).
    """

    candidate: Candidate
    profile: TurnProfile | None = None
    request: Row = field(default_factory=dict)
    rest: Row = field(default_factory=dict)


def from_row(row: Row, source: str = "pivots", line: int | None = None) -> GymPivot:
    """A pivot from its row.

    Raises:
        FormatError: the row holds no request or no expected action.
    """
    if not isinstance(row.get("responses_create_params"), dict):
        raise fields.FormatError(
            "responses_create_params", "is missing", "give a pivot row, not a rollout"
        )
    request = row["responses_create_params"]
    expert = responses.expected_action(row)
    if expert is None:
        raise fields.FormatError(
            "expected_action",
            "is missing",
            "give it, or expected_answer with a harness",
        )
    said = row.get("expected_content")
    if isinstance(said, str):
        expert = Message("assistant", said, expert.tool_calls)
    prefix = _prefix(request, Origin(source, line))
    trajectory, ident = _identity(row, request)
    candidate = Candidate(
        uid=ident,
        trajectory_uid=trajectory,
        turn=sum(m.role == "assistant" for m in prefix.messages),
        prefix=tuple(prefix.messages),
        expert=expert,
        tools=tuple(prefix.tools),
        domain=_domain(row),
        context=responses.pivot_context(row),
    )
    profile = _profile(row, ident)
    own = _OWN_KEYS if profile is None else (*_OWN_KEYS, *_RATE_KEYS)
    said_by_prefix = ("input", "tools", "instructions")
    return GymPivot(
        candidate,
        profile,
        {k: v for k, v in request.items() if k not in said_by_prefix},
        {
            k: v
            for k, v in row.items()
            if k not in own and not (k == "metadata" and v is None)
        },
    )


def wrap(
    candidate: Candidate,
    profile: TurnProfile | None = None,
    agent: str = "pivot_agent",
) -> GymPivot:
    """A candidate of this package as a pivot that `agent` will run in Gym."""
    reference = {"type": "responses_api_agents", "name": agent}
    return GymPivot(
        candidate,
        profile,
        {"parallel_tool_calls": True, "tool_choice": "auto"},
        {"agent_ref": reference, "pivotlab_domain": candidate.domain},
    )


def to_row(pivot: GymPivot) -> Row:
    """The row of a pivot."""
    candidate, expert = pivot.candidate, pivot.candidate.expert
    row: Row = {
        "uuid": candidate.uid,
        "trajectory_id": candidate.trajectory_uid,
        "responses_create_params": {
            "input": to_items(candidate.prefix),
            "tools": [_flat(tool) for tool in candidate.tools],
            **pivot.request,
        },
        **pivot.rest,
    }
    if _harness(pivot.rest) and not expert.tool_calls:
        row["expected_answer"] = expert.content
    else:
        ordered = bool(candidate.context.get("ordered"))
        row["expected_action"] = to_action(expert, ordered=ordered)
    if expert.content and expert.tool_calls:
        row["expected_content"] = expert.content
    return {**row, **_rates(pivot.profile)}


def to_items(messages: Iterable[Message]) -> list[Row]:
    """Canonical messages as Responses items.

    A turn without text that directly follows another turn starts with an empty message,
    without which the two would read as one.
    """
    items: list[Row] = []
    previous = ""
    for message in messages:
        if message.role == "assistant":
            items += _turn_items(message, split=previous == "assistant")
        elif message.role == "tool":
            ident = message.tool_call_id or "unknown"
            items.append(
                {
                    "type": "function_call_output",
                    "call_id": ident,
                    "output": message.content,
                }
            )
        else:
            items.append({"role": message.role, "content": message.content})
        previous = message.role
    return items


def to_action(expert: Message, *, ordered: bool = False) -> Row:
    """The expected action: a message, one call, or a batch of calls."""
    calls = [
        {"type": "function_call", "name": call.name, "arguments": _argument_text(call)}
        for call in expert.tool_calls
    ]
    if not calls:
        return {"type": "message", "content": expert.content}
    if len(calls) == 1 and not ordered:
        return calls[0]
    order = {"ordered": True} if ordered else {}
    return {"type": "function_call_batch", **order, "calls": calls}


def problems(row: Row) -> list[str]:
    """What would make Gym's training reject or misjudge the row; empty if nothing."""
    found = []
    if "metadata" in row and row["metadata"] is None:
        found.append("metadata is null: leave the key out")
    tools = row["responses_create_params"].get("tools") or []
    names = {tool.get("name") for tool in tools}
    action = _expected(row)
    for call in action.get("calls") or [action]:
        if call.get("type") != "function_call":
            continue
        if names and call.get("name") not in names:
            found.append(f"expected tool {call.get('name')!r} is not among the tools")
        try:
            decoded = json.loads(call.get("arguments") or "")
        except (TypeError, ValueError):
            decoded = None
        if not isinstance(decoded, dict):
            found.append(f"arguments of {call.get('name')!r} are no JSON object")
    return found


def read_pivots(path: str | Path) -> tuple[list[GymPivot], list[fields.FormatError]]:
    """All pivots of a JSONL file, and one error per line that holds none.

    Raises:
        FileNotFoundError: there is no such file.
    """
    return read_lines(path, from_row)


def read_lines(
    path: str | Path, convert: Callable[[Row, str, int], T]
) -> tuple[list[T], list[fields.FormatError]]:
    """What `convert(row, file, line)` makes of each line, and one error per bad line.

    Raises:
        FileNotFoundError: there is no such file.
    """
    found, errors = [], []
    with Path(path).open(encoding="utf-8") as handle:
        for line, text in enumerate(handle, start=1):
            if not text.strip():
                continue
            try:
                row = fields.mapping(fields.loads(text, "line"), "row")
                found.append(convert(row, Path(path).stem, line))
            except fields.FormatError as error:
                place = f"{path}:{line} {error.field}"
                errors.append(fields.FormatError(place, error.problem, error.fix))
    return found, errors


def plain_profile(ident: str, rewards: tuple[float, ...]) -> TurnProfile:
    """A profile of which only the rewards are known."""
    k = len(rewards)
    source = {"source": "nemo_gym"}
    return TurnProfile(ident, rewards, ("gym",) * k, (False,) * k, provenance=source)


def write_rows(rows: Iterable[Row], path: str | Path) -> None:
    """Rows as JSONL, written atomically."""
    with replacing(Path(path)) as part, part.open("w", encoding="utf-8") as handle:
        for row in rows:
            handle.write(json.dumps(row, ensure_ascii=False) + "\n")


def split(
    items: Sequence[T], share: float, key: Callable[[T], str], seed: int = 0
) -> tuple[list[T], list[T]]:
    """Items in two parts such that no key is on both sides.

    Args:
        items: pivots, candidates or rows.
        share: share of the keys (not of the items) in the second part, rounded.
        key: function from an item to its trajectory or task.
        seed: another seed, another split; the order of the items plays no part.

    Raises:
        ValueError: `share` is outside [0, 1].
    """
    if not 0 <= share <= 1:
        raise ValueError(f"share={share} is outside [0, 1]")
    keys = sorted({str(key(item)) for item in items})
    keys.sort(key=lambda k: hashlib.sha256(f"{seed}:{k}".encode()).digest())
    held = set(keys[: round(share * len(keys))])
    first = [item for item in items if str(key(item)) not in held]
    return first, [item for item in items if str(key(item)) in held]


def _prefix(request: Row, origin: Origin) -> Draft:
    draft = Draft(origin)
    draft.set_tools(request.get("tools"))
    instructions = request.get("instructions")
    if isinstance(instructions, str) and instructions:
        draft.system(instructions)
    given = request.get("input")
    if isinstance(given, str):
        draft.user(given)
    else:
        items = fields.sequence(given, "input")
        responses.add_items(draft, items, "responses_create_params.input")
    return draft


def _identity(row: Row, request: Row) -> tuple[str, str]:
    """(trajectory, pivot): the row's own names, else a hash of what it asks."""
    digest = hashlib.sha256(json.dumps([request, row.get("expected_action")]).encode())
    names = (row.get("uuid"), row.get("id"), digest.hexdigest()[:16])
    ident = next(str(n) for n in names if n is not None)
    keys = ("trajectory_id", "source_trajectory_uid")
    trajectory = next((str(row[k]) for k in keys if row.get(k) is not None), ident)
    return trajectory, ident


def _expected(row: Row) -> Row:
    action = row.get("expected_action")
    return action if isinstance(action, dict) else {}


def _domain(row: Row) -> str:
    own = row.get("pivotlab_domain")
    return own if isinstance(own, str) else responses.pivot_domain(row) or "tool"


def _profile(row: Row, ident: str) -> TurnProfile | None:
    """The stored profile: single rewards if kept, else passes and failures."""
    legacy = next(
        (v for k, v in row.items() if k.endswith("_info") and isinstance(v, dict)), {}
    )
    rewards = row.get("rewards", legacy.get("rewards"))
    if isinstance(rewards, list) and rewards:
        return plain_profile(ident, tuple(fields.reward(r) or 0.0 for r in rewards))
    total, passed = row.get("pass_rate_total"), row.get("pass_rate_passed")
    if isinstance(total, int) and isinstance(passed, int) and 0 <= passed <= total > 0:
        return plain_profile(ident, (1.0,) * passed + (0.0,) * (total - passed))
    return None


def _rates(profile: TurnProfile | None) -> Row:
    if profile is None:
        return {}
    return {
        "pass_rate": profile.mu,
        "pass_rate_total": profile.k,
        "pass_rate_passed": sum(r >= 1.0 for r in profile.rewards),
        "rewards": list(profile.rewards),
    }


def _turn_items(message: Message, *, split: bool) -> list[Row]:
    items: list[Row] = []
    if message.reasoning:
        summary = [{"type": "summary_text", "text": message.reasoning}]
        items.append({"type": "reasoning", "id": "", "summary": summary})
    if message.content or split or not (message.tool_calls or message.reasoning):
        content = [{"type": "output_text", "text": message.content, "annotations": []}]
        items.append({"type": "message", "role": "assistant", "content": content})
    return items + [
        {
            "type": "function_call",
            "call_id": call.id or f"call_{k}",
            "name": call.name,
            "arguments": _argument_text(call),
        }
        for k, call in enumerate(message.tool_calls)
    ]


def _argument_text(call: ToolCall) -> str:
    given = call.arguments
    return given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)


def _flat(tool: Row) -> Row:
    return {"type": "function", "strict": False, **tool["function"]}


def _harness(rest: Row) -> bool:
    """Is this a terminal row, whose expected action is an answer text?"""
    details = rest.get("metadata")
    return (
        isinstance(details, dict)
        and bool(details.get("harness"))
        and isinstance(rest.get("expected_answer"), str)
        and bool(rest["expected_answer"])
    )
