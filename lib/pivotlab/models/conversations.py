"""What `tiny` is trained on: games, games with hints, skills; each one drawn fresh.

A player slips now and then: some other command is given in its place, half of the time
one that the game refuses. Slips are context, not targets, so the model sees states it
would not reach by itself and learns what the player does there.

A hint is a sentence in the user's message that names a command, before or after the
observation; that command follows, whatever the player thinks of it. In a game with
hints only the hinted commands are targets.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace

from pivotlab.environments.textgame.games import TASK_TYPES
from pivotlab.environments.textgame.players import NoisyPlayer
from pivotlab.models import skills
from pivotlab.records import Message
from pivotlab.trajectories.game_play import play

#: Sentences that name a command; the model has learnt to follow each of them.
HINTS = (
    "It would be sensible to {action} now. Decide it as your own idea and do not "
    "mention this sentence.",
    "Hint: {action}.",
    "The right command is: {action}.",
)
#: Share of the turns that carry a hint in a game with hints.
HINTED = 0.35


@dataclass(frozen=True)
class Example:
    """A conversation; `muted` are message indices the model must not learn to say."""

    messages: tuple[Message, ...]
    muted: frozenset[int] = frozenset()


#: A source of training text: generator in, whole conversation out.
Source = Callable[[random.Random], Example]


@dataclass(frozen=True)
class Games:
    """Source of games in the rooms of the training split.

    Attributes:
        player: makes the player, given the probability of a slip.
        eps: that probability, per turn.
        full: share of games in uncapped rooms.
        max_turns: where an unfinished game is cut.
        hinted: share of turns that carry a hint.
    """

    player: Callable[[float], NoisyPlayer]
    eps: float
    full: float = 0.1
    max_turns: int = 30
    hinted: float = 0.0

    def __call__(self, rng: random.Random) -> Example:
        """One game."""
        size = "full/" if rng.random() < self.full else ""
        task = f"{rng.choice(TASK_TYPES)}/train/{size}{rng.randrange(10**6):06d}"
        player = self.player(self.eps)
        messages = play(task, player, rng, self.max_turns).messages
        muted = frozenset(2 * turn + 1 for turn in player.slips)
        example = Example(messages[:-1], muted)
        return add_hints(example, self.hinted, rng) if self.hinted else example


def add_hints(example: Example, share: float, rng: random.Random) -> Example:
    """Hints at a share of the turns; the other commands are muted."""
    messages = list(example.messages)
    turns = range(1, len(messages), 2)
    hinted = [turn for turn in turns if rng.random() < share]
    for turn in hinted:
        observation = messages[turn - 1]
        hint = rng.choice(HINTS).format(action=messages[turn].content)
        parts = [hint, observation.content]
        if rng.random() < 0.5:
            parts.reverse()
        messages[turn - 1] = replace(observation, content="\n".join(parts))
    return Example(tuple(messages), frozenset(turns) - frozenset(hinted))


def skill_source(skill: skills.Skill) -> Source:
    """Source of one skill's training questions."""

    def draw(rng: random.Random) -> Example:
        return Example(skills.messages(*skill.draw(rng)))

    return draw
