"""Terminal agents: Terminal-Bench 1 trial folders and Harbor's ATIF files.

- A trial folder keeps one prompt and one reply per episode under `agent-logs`; without
  those (only keystrokes and screens) there is nothing a model was asked.
- ATIF keeps an observation in the step of its action. Steps flagged as copied context
  repeat earlier turns: `copied`.
- `clean` takes terminal control codes and redraws out of an observation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pivotlab import tool_call_text, tool_schemas
from pivotlab.records import ToolCall, Trajectory
from pivotlab.trajectories import fields
from pivotlab.trajectories.assembly import Draft, Origin

_CONTROL = re.compile(
    r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b\[[0-?]*[ -/]*[@-~]|\x1b[@-Z\\-_=>]"
)
_EPISODE = re.compile(r"episode-(\d+)")


def clean(text: str) -> str:
    """Terminal text as a person saw it: no control codes, redrawn lines drawn once."""
    plain = _CONTROL.sub("", text).replace("\r\n", "\n")
    lines = [line.rstrip("\r").rpartition("\r")[2] for line in plain.split("\n")]
    return "\n".join(_without_backspaces(line) for line in lines)


def is_atif(record: Any) -> bool:
    """Is this an ATIF file?"""
    if not isinstance(record, dict):
        return False
    version = record.get("schema_version")
    return isinstance(version, str) and version.upper().startswith("ATIF")


def read_atif(
    record: dict[str, Any], origin: Origin
) -> Iterator[Trajectory | fields.FormatError]:
    """The run of a file, then the runs of its sub-agents or the errors in them."""
    draft = Draft(origin)
    agent = fields.part(record, "agent", "record")
    draft.set_tools(agent.get("tool_definitions"))
    for i, raw in enumerate(fields.sequence(record.get("steps"), "steps")):
        _add_step(draft, fields.mapping(raw, f"steps[{i}]"), f"steps[{i}]")
    if record.get("continued_trajectory_ref"):
        draft.notes["continued_elsewhere"] += 1
    ident = fields.string(record.get("trajectory_id")) or fields.string(
        record.get("session_id")
    )
    final = fields.part(record, "final_metrics", "record")
    reward = fields.reward(final.get("reward"))
    meta = {"agent": agent.get("name")}
    yield draft.build(ident=ident, domain="terminal", reward=reward, meta=meta)
    inner = fields.sequence(
        record.get("subagent_trajectories"), "subagent_trajectories"
    )
    for i, raw in enumerate(inner):
        try:
            run = fields.mapping(raw, f"subagent_trajectories[{i}]")
            yield from read_atif(run, origin)
        except fields.FormatError as error:
            yield error


def is_trial(folder: Path) -> bool:
    """Is this a Terminal-Bench 1 trial folder?"""
    return folder.is_dir() and (
        (folder / "agent-logs").is_dir() or (folder / "commands.txt").is_file()
    )


def read_trial(folder: Path, origin: Origin) -> Iterator[Trajectory]:
    """The episodes of a trial folder.

    Raises:
        FormatError: the folder has no episode with a prompt and a reply.
    """
    episodes = sorted(
        (int(found[1]), path)
        for path in (folder / "agent-logs").glob("episode-*")
        if (found := _EPISODE.fullmatch(path.name))
    )
    draft = Draft(origin)
    for _, path in episodes:
        prompt, reply = path / "prompt.txt", path / "response.txt"
        if prompt.is_file():
            draft.user(prompt.read_text(errors="replace"))
        if reply.is_file():
            said = tool_call_text.split_thinking(reply.read_text(errors="replace"))
            draft.assistant(said[1], (), said[0])
    if not draft.messages:
        raise fields.FormatError(
            "agent-logs",
            "holds no prompt.txt and response.txt",
            "keep the agent's logs",
        )
    outcome = folder / "results.json"
    row = fields.loads(outcome.read_text(), "results.json") if outcome.is_file() else {}
    row = fields.mapping(row, "results.json")
    meta = {"failure_mode": row.get("failure_mode")}
    reward = fields.reward(row.get("is_resolved"))
    yield draft.build(
        row, ident=folder.name, domain="terminal", reward=reward, meta=meta
    )


def _add_step(draft: Draft, step: dict[str, Any], where: str) -> None:
    source = step.get("source")
    text = fields.text(step.get("message"), f"{where}.message")
    if source == "system":
        draft.system(text)
    elif source == "user":
        draft.user(text)
    elif source == "agent":
        skip = "copied" if step.get("is_copied_context") else None
        logged = fields.sequence(step.get("tool_calls"), f"{where}.tool_calls")
        calls = [_call(fields.mapping(c, f"{where}.tool_calls")) for c in logged]
        reasoning = fields.string(step.get("reasoning_content"))
        draft.assistant(text, calls, reasoning, skip=skip)
    else:
        raise fields.FormatError(
            f"{where}.source", f"is {source!r}", "use system, user or agent"
        )
    observation = fields.part(step, "observation", where)
    results = fields.sequence(
        observation.get("results"), f"{where}.observation.results"
    )
    for i, raw in enumerate(results):
        _add_result(draft, fields.mapping(raw, f"{where}.results[{i}]"), where)


def _add_result(draft: Draft, result: dict[str, Any], where: str) -> None:
    text = fields.text(result.get("content"), where)
    if draft.has_open_calls():
        draft.result(text, fields.string(result.get("source_call_id")))
    else:
        draft.user(text)


def _call(entry: dict[str, Any]) -> ToolCall:
    name = fields.string(entry.get("function_name")) or ""
    ident = fields.string(entry.get("tool_call_id"))
    return ToolCall(name, tool_schemas.arguments(entry.get("arguments")), ident)


def _without_backspaces(line: str) -> str:
    if "\b" not in line:
        return line
    shown: list[str] = []
    for character in line:
        if character != "\b":
            shown.append(character)
        elif shown:
            shown.pop()
    return "".join(shown)
