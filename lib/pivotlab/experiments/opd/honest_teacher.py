"""A teacher that knows only what the agent saw: the honest player, in hindsight.

It stands between the oracle, which knows where everything is, and a language model,
which has to be asked: it shows how much of the oracle's verdict can be known at all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from pivotlab.distillation.resolution import normalise
from pivotlab.distillation.teachers import Report
from pivotlab.environments.textgame.players import HonestPlayer
from pivotlab.records import Message, PivotalTurn, Rollout


class HonestTeacher:
    """Names the first turns whose action the honest player would not have taken."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def report(self, rollout: Rollout, limit: int) -> Report:
        """See `Teacher.report`; the gold action is the first acceptable one."""
        self.counts["reports"] += 1
        player = _watching(rollout.messages)
        found = []
        for index, turn in enumerate(rollout.turns):
            acceptable = player.acceptable()[0]
            if normalise(turn.action) not in map(normalise, acceptable):
                found.append(PivotalTurn(index, acceptable[0]))
            if len(found) == limit:
                break
            player.observe(turn.observation)
        return Report(tuple(found))

    def recover(
        self, rollout: Rollout, messages: Sequence[Message], state: object
    ) -> str | None:
        """See `Teacher.recover`; the state is not looked at."""
        self.counts["recovery_queries"] += 1
        player = _watching(messages)
        seen = [m.content for m in messages if m.role == "user"]
        for observation in seen[1:]:
            player.observe(observation)
        return player.acceptable()[0][0]


def _watching(messages: Sequence[Message]) -> HonestPlayer:
    player = HonestPlayer()
    player.start(next(m.content for m in messages if m.role == "user"))
    return player
