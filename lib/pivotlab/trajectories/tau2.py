"""tau2-bench results: one file, many simulations.

The policy becomes the system message. The greeting that the harness speaks is `canned`;
turns of a task's prepared history are `copied`. A user's own tool calls, and their
results, were never shown to the agent and are left out of its conversation (counted in
the notes). The episode reward is no truth about single turns: `action_checks` in `meta`
says which required calls were made.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pivotlab.records import ToolCall, Trajectory
from pivotlab.trajectories import chat, fields
from pivotlab.trajectories.assembly import Draft, Origin


def is_file(record: Any) -> bool:
    """Is this a results file, with simulations or with voice ticks only?"""
    return isinstance(record, dict) and (
        "simulations" in record or ("ticks" in record and "messages" not in record)
    )


def read(
    record: dict[str, Any], origin: Origin
) -> Iterator[Trajectory | fields.FormatError]:
    """Every simulation of a results file, or the error of one that cannot be read.

    Raises:
        FormatError: a voice run, which has ticks but no messages.
    """
    if "simulations" not in record:
        raise _no_messages("simulations")
    tasks = {
        str(t.get("id")): t
        for t in fields.sequence(record.get("tasks"), "tasks")
        if isinstance(t, dict)
    }
    info = fields.part(record, "info", "record")
    environment = fields.part(info, "environment_info", "info")
    for i, raw in enumerate(fields.sequence(record["simulations"], "simulations")):
        where = f"simulations[{i}]"
        try:
            simulation = fields.mapping(raw, where)
            task = tasks.get(str(simulation.get("task_id")), {})
            yield _simulation(simulation, where, environment, task, origin)
        except fields.FormatError as error:
            yield error


def passed_action_checks(trajectory: Trajectory) -> bool | None:
    """Did the agent make every required call? None where the run did not check.

    A reward of 1 can stand beside missing calls, and doing nothing passes a refusal
    task, so filter demonstrations by this and not by the reward alone.
    """
    checks = trajectory.meta.get("action_checks")
    return all(matched for _, matched in checks) if checks else None


def _no_messages(field: str) -> fields.FormatError:
    return fields.FormatError(
        field, "no messages: a voice run with ticks only", "use a text-mode run"
    )


def _simulation(
    simulation: dict[str, Any],
    where: str,
    environment: dict[str, Any],
    task: dict[str, Any],
    origin: Origin,
) -> Trajectory:
    messages = fields.sequence(simulation.get("messages"), f"{where}.messages")
    if not messages and simulation.get("ticks"):
        raise _no_messages(where)
    draft = Draft(origin)
    draft.set_tools(environment.get("tool_defs"))
    policy = simulation.get("policy") or environment.get("policy")
    if fields.string(policy):
        draft.system(policy)
    state = task.get("initial_state")
    prepared = state.get("message_history") if isinstance(state, dict) else None
    copied = len(prepared) if isinstance(prepared, list) else 0
    for j, raw in enumerate(messages):
        message = fields.mapping(raw, f"{where}.messages[{j}]")
        _add(draft, message, f"{where}.messages[{j}]", copied=j < copied, first=j == 0)
    outcome = fields.part(simulation, "reward_info", where)
    meta = {
        "trial": simulation.get("trial"),
        "termination_reason": simulation.get("termination_reason"),
        "action_checks": _checks(outcome.get("action_checks")),
        "tau2_domain": environment.get("domain_name"),
    }
    reward = fields.reward(outcome.get("reward"))
    return draft.build(simulation, domain="tool", reward=reward, meta=meta)


def _add(
    draft: Draft, message: dict[str, Any], where: str, *, copied: bool, first: bool
) -> None:
    role = chat.role_of(message.get("role"), where)
    text = fields.text(message.get("content"), where)
    calls = fields.sequence(message.get("tool_calls"), f"{where}.tool_calls")
    if role == "assistant":
        greeting = first and message.get("usage") is None and not calls
        skip = "copied" if copied else "canned" if greeting else None
        made = [_call(c) for c in calls]
        chat.add_text_turn(draft, text, made, _reasoning(message), skip=skip)
    elif role == "tool":
        if message.get("requestor") == "user":
            draft.notes["user_tool_result"] += 1
        else:
            ident = fields.string(message.get("id"))
            draft.result(text, ident or fields.string(message.get("tool_call_id")))
    elif role == "user" and calls:
        draft.notes["user_tool_call"] += 1
    elif role == "user":
        draft.user(text)
    else:
        draft.system(text)


def _call(entry: Any) -> ToolCall:
    return chat.call_of(entry)


def _reasoning(message: dict[str, Any]) -> str | None:
    raw = message.get("raw_data")
    inner = raw.get("message") if isinstance(raw, dict) else None
    found = inner.get("reasoning_content") if isinstance(inner, dict) else None
    return found if isinstance(found, str) else None


def _checks(value: Any) -> list[tuple[str, bool]]:
    checks = value if isinstance(value, list) else []
    found = []
    for check in checks:
        action = check.get("action") if isinstance(check, dict) else None
        name = action.get("name") if isinstance(action, dict) else None
        if isinstance(check, dict):
            found.append((str(name), bool(check.get("action_match"))))
    return found
