"""NeMo Gym's single-step comparison of tool calls, weak spots included.

For rows whose profile or training ran there: same rewards, same thirteen reasons.
Written from the described behaviour of `single_step_tool_use_with_argument_comparison`
(August 2026); use `ToolCallVerifier` for new work.

1. A message is expected: any message scores 1, even an empty one.
2. Values must have the type of the expected value, so 5 and 5.0 differ while True
   passes for 1. Objects need the same keys, defaults or not; arrays the same length and
   order.
3. Strings: if either has fewer than two words they must be equal in every character,
   else common words / (words + words) must reach the threshold: identical texts reach
   0.5.
4. One expected call: surplus calls are free. Several: the number must agree, and a
   maximum matching decides.

The threshold of public configurations is 0.1 (conversational tool use), 0.3 (search)
and 0.0 (software engineering).
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Any, Literal

from pivotlab.records import Candidate, Message, ToolCall, Verdict
from pivotlab.verifiers import arguments, matching

NO_ACTION = "No tool call or chat message was found in the response"
NO_CALL = "No tool call was found when one was expected"
MESSAGE = "A chat message was found as expected"
NO_MESSAGE = "A tool call was executed when a chat message was expected"
WRONG_TOOL = "The tool in a tool call is not the expected tool"
NOT_JSON = (
    "An error occurred when decoding the arguments string in a tool call as a JSON "
    "object"
)
WRONG_TYPE = (
    "The type of an argument value in a tool call is different than the expected type"
)
WRONG_KEYS = (
    "The keys in an object in an argument value in a tool call are different than the "
    "keys in the expected object"
)
WRONG_LENGTH = (
    "A list in an argument value in a tool call has a different length than the "
    "expected list"
)
WRONG_VALUE = "An argument value in a tool call is different than the expected value"
MATCH = "A tool call that matches the expected tool call was found"
WRONG_COUNT = "The number of tool calls in a batch is different than expected"
BATCH_MATCH = "A tool-call batch that matches the expected tool calls was found"

Reward = Literal["binary_strict", "fractional", "f1"]
#: A call's name and its decoded arguments.
Loaded = tuple[str, Any]


class GymToolCallVerifier:
    """Categories: the thirteen reasons above, as NeMo Gym words them."""

    name = "gym_tool_call"

    def __init__(self, threshold: float = 0.1, reward: Reward = "binary_strict"):
        """
        Args:
            threshold: `word_count_similarity_threshold`, in [0, 0.5] to be of use.
            reward: `parallel_tool_call_reward_mode`, for several expected calls.
        """
        self.threshold = threshold
        self.reward = reward
        self.version = f"1-{threshold:g}-{reward}"

    def verify(self, candidate: Candidate, action: Message) -> Verdict:
        """The reward and reason NeMo Gym would give."""
        gold, said = candidate.expert.tool_calls, action.tool_calls
        if not gold:
            return Verdict(0.0, NO_MESSAGE) if said else Verdict(1.0, MESSAGE)
        if not said:
            spoken = action.content.strip()
            return Verdict(0.0, NO_CALL if spoken else NO_ACTION)
        if len(said) < len(gold) or len(said) > len(gold) > 1:
            return Verdict(0.0, WRONG_COUNT, f"{len(said)} calls for {len(gold)}")
        wanted, made = ([(c.name, _loaded(c)) for c in side] for side in (gold, said))
        if len(gold) == 1 and len(said) == 1:
            reason = self._compare(wanted[0], made[0])
            return Verdict(0.0 if reason else 1.0, reason or MATCH)
        return self._match(wanted, made)

    def _match(self, gold: list[Loaded], said: list[Loaded]) -> Verdict:
        table = [[self._compare(g, s) for s in said] for g in gold]
        paired = matching.pairs([[r is None for r in row] for row in table])
        reward = self._score(len(paired), len(gold), len(said))
        if reward == 1.0:
            return Verdict(1.0, MATCH if len(gold) == 1 else BATCH_MATCH)
        lonely = sorted(set(range(len(gold))) - {row for row, _ in paired})
        if not lonely or len(paired) == len(said):
            return Verdict(reward, WRONG_COUNT)
        reasons = [r for r in table[lonely[0]] if r not in (None, WRONG_TOOL)]
        return Verdict(reward, reasons[0] if reasons else WRONG_TOOL)

    def _score(self, matched: int, gold: int, said: int) -> float:
        if self.reward == "f1":
            return 2 * matched / (gold + said)
        if self.reward == "fractional":
            return matched / gold
        return 1.0 if matched == gold else 0.0

    def _compare(self, gold: Loaded, said: Loaded) -> str | None:
        if gold[0] != said[0]:
            return WRONG_TOOL
        if gold[1] is _BROKEN or said[1] is _BROKEN:
            return NOT_JSON
        return self._difference(gold[1], said[1], 0)

    def _difference(self, gold: Any, said: Any, depth: int) -> str | None:
        if depth > arguments.DEEPEST:
            return NOT_JSON
        if not isinstance(said, type(gold)):
            return WRONG_TYPE
        if isinstance(gold, dict):
            if gold.keys() != said.keys():
                return WRONG_KEYS
            pairs = [(gold[key], said[key]) for key in gold]
        elif isinstance(gold, list):
            if len(gold) != len(said):
                return WRONG_LENGTH
            pairs = list(zip(gold, said, strict=True))
        else:
            return None if self._same(gold, said) else WRONG_VALUE
        reasons = (self._difference(g, s, depth + 1) for g, s in pairs)
        return next((r for r in reasons if r), None)

    def _same(self, gold: Any, said: Any) -> bool:
        if isinstance(gold, float):
            return abs(said - gold) < 1e-6
        if not isinstance(gold, str):
            return gold == said
        first, second = (Counter(s.lower().split()) for s in (gold, said))
        total = first.total() + second.total()
        if first.total() < 2 or second.total() < 2:
            return gold == said
        return (first & second).total() / total >= self.threshold


_BROKEN = object()


def _loaded(call: ToolCall) -> Any:
    if not isinstance(call.arguments, str):
        return call.arguments
    try:
        return json.loads(call.arguments)
    except (ValueError, RecursionError):
        return _BROKEN
