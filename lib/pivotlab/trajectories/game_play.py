"""Episodes of the household game as conversations, every turn labelled.

The player's commands are the assistant messages, the game's answers the user messages;
the first user message shows the room and states the task. Whoever plays, an honest
player watches: `contexts` of each assistant message holds

    task        the game id
    acceptable  the honest player's acceptable commands at this state, sorted
    admissible  every command the game would carry out here, sorted
    phase       what the honest player is about (see `players.PHASES`)
    honest      one acceptable command: the one played if it is acceptable, else drawn

so a state reached by a noisy player, or by a model, is a candidate whose demonstrated
action is `honest` while its prefix stays what really happened.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from pivotlab.environments.players import Player, Script
from pivotlab.environments.protocol import Environment
from pivotlab.environments.textgame.players import HonestPlayer
from pivotlab.environments.textgame.twin import TextGame
from pivotlab.records import Trajectory
from pivotlab.trajectories.watched_play import play_watched

MAX_TURNS = 30
#: Command forms and rules, for models that have never seen the game.
SYSTEM = """You play a household text game. Answer every message with one command, \
nothing else. Commands, with names exactly as the game writes them:
go to R | open R | close R | take O from R | move O to R | clean O with R | \
heat O with R | cool O with R | use O | examine X | inventory | look
R is a place such as "drawer 2", O an object such as "mug 1". You can only act on the \
place you are at, and hold one object at a time. Closed places must be opened before \
you see, take or put anything. Clean at a sinkbasin, heat at a microwave, cool at a \
fridge, each while holding the object. To look at an object under a lamp, hold it and \
use the lamp. "Nothing happens." means that the command was refused."""


def play(
    task: str,
    player: Player,
    rng: random.Random,
    max_turns: int = MAX_TURNS,
    system: str | None = None,
    uid: str | None = None,
    env: Environment | None = None,
) -> Trajectory:
    """Play one game to its end or for `max_turns` commands; `reward` is 1.0 if won.

    Give `uid` where one player plays a game more than once; the default is
    `<task>/<player name>`. `env` is the twin unless the real engine is given.

    Raises:
        ValueError: `task` names no game.
    """
    watcher = HonestPlayer()

    def label() -> tuple[tuple[str, ...], str, dict[str, Any]]:
        return *watcher.acceptable(), {}

    own = uid or f"{task}/{player.name}"
    return play_watched(
        env or TextGame(),
        task,
        player,
        watcher,
        label,
        rng,
        "textgame",
        max_turns,
        system,
        own,
    )


def relabel(
    task: str,
    actions: Sequence[str],
    rng: random.Random,
    system: str | None = None,
    uid: str | None = None,
) -> Trajectory:
    """The episode of given commands, labelled by the honest player at every turn.

    Commands after the game is won are left out.

    Raises:
        ValueError: `task` names no game.
    """
    return play(task, Script(actions), rng, len(actions), system, uid)
