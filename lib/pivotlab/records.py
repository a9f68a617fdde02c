"""The nouns of every other room: plain frozen dataclasses, no torch, JSON in and out.

Departures from the papers: an action is a whole assistant `Message` (thinking, text and
tool calls), as both papers define it, never a token; a `Candidate` additionally carries
`context`, the verifier's private knowledge about the state (for a game the acceptable
set, for a tool call nothing), which no prompt ever shows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

Role = Literal["system", "user", "assistant", "tool"]


@dataclass(frozen=True)
class ToolCall:
    """One call; `arguments` is the decoded object, or the raw text if unparsable."""

    name: str
    arguments: dict[str, Any] | str
    id: str | None = None


@dataclass(frozen=True)
class Message:
    """One message of the canonical conversation.

    `reasoning` holds thinking apart from `content`; `name` and `tool_call_id` belong to
    tool results and are paired by position where a log repeats ids.
    """

    role: Role
    content: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    reasoning: str | None = None
    name: str | None = None
    tool_call_id: str | None = None


@dataclass(frozen=True)
class Trajectory:
    """A conversation of one agent with its environment, in the order it happened.

    `skips` maps the message index of an assistant turn that is not a decision (canned,
    copied, demonstration, empty) to the reason; `contexts` maps the message index of an
    assistant turn to the verifier's knowledge of that state.
    """

    uid: str
    messages: tuple[Message, ...]
    tools: tuple[dict[str, Any], ...] = ()
    domain: str = "chat"
    source: str = ""
    reward: float | None = None
    meta: dict[str, Any] = field(default_factory=dict)
    skips: dict[int, str] = field(default_factory=dict)
    contexts: dict[int, dict[str, Any]] = field(default_factory=dict)

    def assistant_turns(self) -> list[int]:
        """Message indices of all assistant turns, decisions or not."""
        return [i for i, m in enumerate(self.messages) if m.role == "assistant"]


@dataclass(frozen=True)
class Candidate:
    """A state and the demonstrated action there: one element of D_cand (Eq. 3).

    `turn` counts the trajectory's assistant turns from 0; `prefix` is every message
    before that turn.
    """

    uid: str
    trajectory_uid: str
    turn: int
    prefix: tuple[Message, ...]
    expert: Message
    tools: tuple[dict[str, Any], ...] = ()
    domain: str = "chat"
    context: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Verdict:
    """What a verifier says of an action: reward in [0, 1], why, a detail to read."""

    reward: float
    category: str
    detail: str = ""


@dataclass(frozen=True)
class TurnProfile:
    """K sampled actions of one candidate, scored (PivotRL Eq. 4).

    A failed or truncated sample stays in the denominator with reward 0. `sigma2` is the
    population variance, so for binary rewards sigma2 = mu (1 - mu).
    """

    uid: str
    rewards: tuple[float, ...]
    categories: tuple[str, ...]
    truncated: tuple[bool, ...]
    strict_rewards: tuple[float, ...] = ()
    provenance: dict[str, Any] = field(default_factory=dict)

    @property
    def k(self) -> int:
        return len(self.rewards)

    @property
    def mu(self) -> float:
        return sum(self.rewards) / self.k

    @property
    def sigma2(self) -> float:
        mu = self.mu
        return sum((r - mu) ** 2 for r in self.rewards) / self.k


@dataclass(frozen=True)
class Turn:
    """One assistant turn of a rollout: where its tokens lie and what happened.

    `span` is the half-open range of the turn's own tokens inside `Rollout.token_ids`;
    its prompt is `token_ids[prompt_start : span[0]]`, which starts at 0 with the whole
    history as context and later with a history window. `snapshot` is the environment's
    state before the action. A `forced` turn was given, not sampled: its mask is 0.
    """

    span: tuple[int, int]
    text: str
    action: str
    observation: str
    snapshot: Any = None
    truncated: bool = False
    prompt_start: int = 0
    forced: bool = False


@dataclass(frozen=True)
class Rollout:
    """One episode as tokens: `mask` is 1 on sampled tokens, 0 on everything given.

    `log_probs` has the length of `token_ids`, 0.0 where `mask` is 0, natural log, under
    the sampling policy at the sampling temperature.
    """

    task: str
    token_ids: tuple[int, ...]
    mask: tuple[int, ...]
    log_probs: tuple[float, ...]
    turns: tuple[Turn, ...]
    reward: float
    done: bool
    messages: tuple[Message, ...] = ()


@dataclass(frozen=True)
class PivotalTurn:
    """A mistake named in hindsight: the turn, the right action, repairs after it."""

    turn: int
    gold_action: str
    recoveries: tuple[str, ...] = ()


def to_json(record: Any) -> dict[str, Any]:
    """Plain dict of any record, ready for `json.dumps`."""
    return asdict(record)


def message_from_json(row: Mapping[str, Any]) -> Message:
    """Inverse of `to_json` for a `Message`.

    Raises:
        KeyError: the row has no `role`.
    """
    calls = tuple(ToolCall(**call) for call in row.get("tool_calls") or ())
    plain = {k: v for k, v in row.items() if k != "tool_calls"}
    return Message(tool_calls=calls, **plain)
