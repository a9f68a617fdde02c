"""A trajectory message by message: the rules that all readers share.

1. An assistant turn without text and calls is kept, counted, and skipped as
   `empty_turn` (`thought_only` when it only thinks); prefixes show it as it happened.
2. Results belong to the calls of the turn before them: by id inside that turn, else by
   position. Call ids are made unique, because logs repeat them.
3. A result without an open call stays in place and is noted as `orphan_tool_result`.
4. Outcome and stop markers never stay in a message, so no prefix can show them.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from pivotlab import tool_schemas
from pivotlab.records import Message, ToolCall, Trajectory
from pivotlab.trajectories import fields, tools

#: Tokens by which a simulated user ends a conversation.
STOP = re.compile(r"###(?:STOP|TRANSFER|OUT-OF-SCOPE)###")
#: Lines by which an environment gives the outcome away.
OUTCOME = re.compile(
    r"\s*(?:Observation(?: \d+)?: *)?"
    r"(?:Episode finished, reward = (?P<reward>\S+)|Answer is (?P<wrong>IN)?CORRECT"
    r"|Your score \(min 0\.0, max 1\.0\): (?P<score>\S+))\s*"
)
_OBSERVATION = re.compile(r"\s*Observation(?: \d+)?:\s*")
_UID_KEYS = ("trajectory_id", "traj_id", "uid", "uuid", "id", "instance_id", "task_id")
_TASK_KEYS = ("task_id", "instance_id")
_REWARD_KEYS = ("reward", "resolved", "result", "success", "correct", "win")


@dataclass(frozen=True)
class Origin:
    """Where a row comes from, and the schemas its user supplied for it.

    `key` is the row's key where its file is an object of rows.
    """

    source: str
    line: int | None = None
    key: str | None = None
    tools: tuple[dict[str, Any], ...] = ()


class Draft:
    """A trajectory in the making."""

    def __init__(self, origin: Origin):
        self.origin = origin
        self.tools = origin.tools
        self.messages: list[Message] = []
        self.skips: dict[int, str] = {}
        self.contexts: dict[int, dict[str, Any]] = {}
        self.notes: Counter[str] = Counter()
        self.reward: float | None = None
        self._open: list[ToolCall] = []
        self._ids: set[str] = set()

    def set_tools(self, value: Any) -> None:
        """Take over the row's tool list; an unreadable one is noted, not fatal."""
        try:
            found = tools.schemas(value)
        except fields.FormatError:
            self.notes["bad_tool_schemas"] += 1
            return
        self.tools = found or self.tools

    def system(self, content: str) -> None:
        self.messages.append(Message("system", content))

    def user(self, content: str) -> None:
        """What a user or the environment said, without outcome and stop markers."""
        outcome = OUTCOME.fullmatch(content)
        if outcome:
            self.notes["outcome_removed"] += 1
            self.reward = _outcome(outcome)
            return
        shown = STOP.sub("", content)
        if shown != content:
            self.notes["stop_marker_removed"] += 1
            if not shown.strip():
                return
            content = shown.rstrip()
        self._mark_refusal(content)
        self.messages.append(Message("user", content))

    def assistant(
        self,
        content: str = "",
        calls: Iterable[ToolCall] = (),
        reasoning: str | None = None,
        *,
        skip: str | None = None,
        context: Mapping[str, Any] | None = None,
    ) -> None:
        """One assistant turn; `skip` says why it is no decision."""
        content = content if content.strip() else ""
        reasoning = reasoning if reasoning and reasoning.strip() else None
        index = len(self.messages)
        made = tuple(self._call(call, index) for call in calls)
        if skip is None and not content and not made:
            skip = "thought_only" if reasoning else "empty_turn"
        if skip:
            self.skips[index] = skip
        if context:
            self.contexts[index] = dict(context)
        self._open = list(made)
        self.messages.append(Message("assistant", content, made, reasoning))

    def result(
        self, content: str, call_id: str | None = None, name: str | None = None
    ) -> None:
        """The result of a call of the turn before."""
        content = STOP.sub("", content)
        self._mark_refusal(content)
        call = self._take(call_id)
        if call is None:
            self.notes["orphan_tool_result"] += 1
            self.messages.append(Message("tool", content, name=name))
            return
        found = Message("tool", content, name=call.name or name, tool_call_id=call.id)
        self.messages.append(found)

    def join(self, call: ToolCall) -> None:
        """One more call of the last assistant turn, logged apart from it."""
        index = max(i for i, m in enumerate(self.messages) if m.role == "assistant")
        made = self._call(call, index)
        turn = self.messages[index]
        self.messages[index] = replace(turn, tool_calls=(*turn.tool_calls, made))
        self._open.append(made)

    def has_open_calls(self) -> bool:
        """Is a call of the last assistant turn still without a result?"""
        return bool(self._open)

    def build(
        self,
        row: Mapping[str, Any] | None = None,
        *,
        ident: str | None = None,
        task: str | None = None,
        domain: str | None = None,
        reward: float | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> Trajectory:
        """The finished trajectory.

        Identity, task and reward come from the arguments, else from the usual keys of
        `row`, else the identity is a hash of the messages (stable when rows move).
        """
        row = row or {}
        ident = ident or _first(row, _UID_KEYS) or self.origin.key or self._digest()
        called = any(m.tool_calls for m in self.messages)
        if called and not self.tools:
            self.notes["no_tool_schemas"] += 1
        known = {t["function"]["name"] for t in self.tools}
        if known and any(
            c.name not in known for m in self.messages for c in m.tool_calls
        ):
            self.notes["call_outside_schemas"] += 1
        details: dict[str, Any] = {
            "task": task or _first(row, _TASK_KEYS) or ident,
            "line": self.origin.line,
            "notes": dict(self.notes),
            **(meta or {}),
        }
        known_rewards = [
            reward,
            self.reward,
            *(fields.reward(row.get(k)) for k in _REWARD_KEYS),
        ]
        return Trajectory(
            uid=f"{Path(self.origin.source).stem}:{ident}",
            messages=tuple(self.messages),
            tools=tuple(self.tools),
            domain=domain or ("tool" if called else "chat"),
            source=self.origin.source,
            reward=next((r for r in known_rewards if r is not None), None),
            meta=details,
            skips=self.skips,
            contexts=self.contexts,
        )

    def _call(self, call: ToolCall, index: int) -> ToolCall:
        given = call.arguments
        if isinstance(given, dict) and self.tools:
            given = tool_schemas.without_padding(given, self.tools, call.name)
        ident = call.id or f"call_{len(self._ids)}"
        if ident in self._ids:
            ident = f"{ident}_{index}_{len(self._ids)}"
        self._ids.add(ident)
        return replace(call, arguments=given, id=ident)

    def _take(self, call_id: str | None) -> ToolCall | None:
        """The open call this result answers: by its logged id, else the first one."""
        if not self._open:
            return None
        ids = [call.id or "" for call in self._open]
        exact = [i for i, known in enumerate(ids) if known == call_id]
        renamed = [i for i, known in enumerate(ids) if known.startswith(f"{call_id}_")]
        return self._open.pop((exact or (renamed if call_id else []) or [0])[0])

    def _mark_refusal(self, content: str) -> None:
        """Remember when the environment refused the turn before.

        "Invalid action!" (WebShop) is certain and skips the turn. "Nothing happens."
        also answers some legal moves, so it is only a hint for the verifier.
        """
        if not self.messages or self.messages[-1].role != "assistant":
            return
        answer = _OBSERVATION.sub("", content, count=1).strip()
        index = len(self.messages) - 1
        if answer.startswith("Invalid action!"):
            self.skips.setdefault(index, "invalid_action")
        elif answer == "Nothing happens.":
            self.contexts.setdefault(index, {})["refused"] = True

    def _digest(self) -> str:
        text = json.dumps([asdict(m) for m in self.messages], sort_keys=True)
        return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]


def _outcome(found: re.Match[str]) -> float | None:
    word = (found["reward"] or found["score"] or "").lower()
    if not word:
        return 0.0 if found["wrong"] else 1.0
    if word in ("true", "false"):
        return float(word == "true")
    try:
        return float(word)
    except ValueError:
        return None


def _first(row: Mapping[str, Any], keys: Iterable[str]) -> str | None:
    for key in keys:
        value = row.get(key)
        if isinstance(value, str | int) and not isinstance(value, bool) and value != "":
            return str(value)
    return None
