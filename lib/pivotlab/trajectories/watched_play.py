"""One episode as a conversation, every turn labelled by a player who only watches.

The player's actions are the assistant messages, the environment's answers the user
messages; the first of them states the task. `contexts` of each assistant message holds
what a `Label` says of the state, the task id, the admissible actions, and

    honest      one acceptable action: the one played if it is acceptable, else drawn

so a state reached by a noisy player, or by a model, is a candidate whose demonstrated
action is `honest` while its prefix stays what really happened.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from pivotlab.environments.players import Player
from pivotlab.environments.protocol import Environment
from pivotlab.records import Message, Trajectory

#: What a watcher accepts now, its phase, further context.
Labelled = tuple[tuple[str, ...], str, dict[str, Any]]
#: Asked before every action.
Label = Callable[[], Labelled]


def play_watched(
    env: Environment,
    task: str,
    player: Player,
    watcher: Player,
    label: Label,
    rng: random.Random,
    domain: str,
    max_turns: int,
    system: str | None,
    uid: str,
) -> Trajectory:
    """Play one episode to its end or for `max_turns` actions.

    Args:
        player: acts.
        watcher: sees the same, and is what `label` asks.
        rng: of the player, and of the honest action where another one was played.
        system: rules put before the first observation, or None.

    Raises:
        ValueError: `task` names no task of the environment.
    """
    first = env.reset(task)
    watcher.start(first)
    player.start(first)
    messages = [Message("system", system)] if system is not None else []
    messages.append(Message("user", first))
    contexts: dict[int, dict[str, Any]] = {}
    reward, done = 0.0, False
    while not done and len(contexts) < max_turns:
        admissible, asked = env.admissible(), label()
        action = player.act(admissible, rng)
        honest = action if action in asked[0] else rng.choice(asked[0])
        contexts[len(messages)] = _context(task, admissible, asked, honest)
        observation, reward, done = env.step(action)
        watcher.observe(observation)
        player.observe(observation)
        messages += [Message("assistant", action), Message("user", observation)]
    return Trajectory(
        uid=uid,
        messages=tuple(messages),
        domain=domain,
        source=player.name,
        reward=reward,
        meta={"task": task, "turns": len(contexts)},
        contexts=contexts,
    )


def _context(
    task: str, admissible: list[str], asked: Labelled, honest: str
) -> dict[str, Any]:
    """What is known of the state in which an action is demonstrated."""
    accepted, phase, more = asked
    return {
        "task": task,
        "acceptable": list(accepted),
        "admissible": admissible,
        "phase": phase,
        "honest": honest,
        **more,
    }
