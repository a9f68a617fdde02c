"""InterCode results: parallel lists of actions, observations and rewards.

The reward of an action (by execution) and whether it ran are the verifier's knowledge:
they go into the turn's context and never into a message. The gold commands lie in the
data files the episodes name; `gold_commands` reads those.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pivotlab.records import Trajectory
from pivotlab.trajectories import fields
from pivotlab.trajectories.assembly import Draft, Origin


def is_row(row: Any) -> bool:
    """Is this one episode?"""
    return isinstance(row, dict) and isinstance(row.get("turn_history"), dict)


def read(row: dict[str, Any], origin: Origin) -> Iterator[Trajectory]:
    """One episode.

    Raises:
        FormatError: `turn_history.actions` is missing or no list.
    """
    history = row["turn_history"]
    actions = fields.sequence(history.get("actions"), "turn_history.actions")
    if "actions" not in history:
        raise fields.FormatError(
            "turn_history.actions", "is missing", f"found keys {sorted(history)}"
        )
    columns = {
        key: fields.sequence(history.get(key), f"turn_history.{key}")
        for key in ("observations", "rewards", "valid_action", "thoughts")
    }
    draft = Draft(origin)
    draft.user(fields.text(row.get("query"), "query"))
    for i, action in enumerate(actions):
        at = {key: column[i] for key, column in columns.items() if i < len(column)}
        text = fields.text(action, f"turn_history.actions[{i}]")
        context = {"command": command_of(text), "reward": at.get("rewards")}
        context["valid"] = at.get("valid_action")
        draft.assistant(
            text, (), fields.text(at.get("thoughts"), "thoughts"), context=context
        )
        if "observations" in at:
            draft.user(_observation(at["observations"]))
    dataset = Path(str(row.get("dataset") or "episodes")).stem
    task = f"{dataset}-{row.get('task_id')}"
    summary = fields.part(row, "summary", "row")
    meta = {"dataset": dataset, "query": row.get("query")}
    reward = fields.reward(summary.get("max_reward"))
    yield draft.build(
        ident=task, task=task, domain="terminal", reward=reward, meta=meta
    )


def command_of(action: str) -> str:
    """The command of an action, without the `execute[...]` around it (ReAct runs)."""
    text = action.strip()
    inside = text.startswith("execute[") and text.endswith("]")
    return text[len("execute[") : -1] if inside else text


def gold_commands(path: Path) -> dict[str, str]:
    """Query -> gold command of one task file (`[{"query", "gold"}, ...]`).

    Raises:
        FormatError: the file is no such list.
    """
    record = fields.sequence(fields.loads(path.read_text(), path.name), path.name)
    rows = [fields.mapping(r, f"{path.name}[{i}]") for i, r in enumerate(record)]
    if not rows or not all({"query", "gold"} <= row.keys() for row in rows):
        keys = sorted(rows[0]) if rows else []
        raise fields.FormatError(path.name, f"has keys {keys}", "needs query and gold")
    return {str(row["query"]): str(row["gold"]) for row in rows}


def _observation(value: Any) -> str:
    if isinstance(value, list) and all(isinstance(v, str) for v in value):
        return "\n".join(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
