"""The environments of the comparison as data; a new one is one entry of `WORLDS`.

An entry says how to make the environment, which tasks it has, who names actions there,
and what a second model learns from. Nothing else in this room knows an environment.

    WORLDS["corridor"] = World(
        "corridor", Corridor, corridor_tasks, ("valid",), lambda: Guide()
    )
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from transformers import PreTrainedModel

from pivotlab.distillation.teachers import OracleTeacher, Teacher
from pivotlab.distillation.verdicts import Functional, Judge
from pivotlab.engines.noise import derive_seed
from pivotlab.engines.protocol import Sampling
from pivotlab.environments import search_qa, shop
from pivotlab.environments.players import Script
from pivotlab.environments.protocol import Environment, OracleEnvironment
from pivotlab.environments.textgame import TextGame, task_ids
from pivotlab.experiments.pool import play_games
from pivotlab.experiments.presets import Preset
from pivotlab.models import tiny, tiny_web
from pivotlab.records import Trajectory
from pivotlab.rendering import Renderer
from pivotlab.rollouts import CachedPlayer, Settings, Start, play
from pivotlab.trajectories.game_play import relabel
from pivotlab.trajectories.web_play import play_search, play_shop
from pivotlab.verifiers.evidence import EvidenceVerifier
from pivotlab.verifiers.shop_state import ShopStateVerifier
from pivotlab.verifiers.text_game import TextGameVerifier

#: Split, number of tasks, number of the first -> task ids.
Tasks = Callable[[str, int, int], list[str]]
#: Demonstrations for the second model: preset, base, renderer, number of episodes.
Lessons = Callable[["World", Preset, PreTrainedModel, Renderer, int], list[Trajectory]]


def oracle_lessons(
    world: World, preset: Preset, base: PreTrainedModel, renderer: Renderer, count: int
) -> list[Trajectory]:
    """Episodes in which every action is the oracle's first optimal one."""

    def optimal(environment: OracleEnvironment, turn: int) -> str | None:
        return next(iter(environment.optimal_actions()), None)

    tasks = world.tasks("train", count, 0)
    starts = [Start(t, derive_seed(1, i), force=optimal) for i, t in enumerate(tasks)]
    rules = world.rules(preset)
    rollouts = play(CachedPlayer(base), renderer, world.environment, starts, rules)
    won = [r for r in rollouts if r.reward >= 1]
    return [Trajectory(r.task, r.messages[:-1], reward=r.reward) for r in won]


@dataclass(frozen=True)
class World:
    """One environment of the comparison.

    Attributes:
        name: in records and parameters.
        environment: makes a fresh environment.
        tasks: task ids of a split.
        splits: held-out splits, examined in equal parts.
        teacher: names actions where a method asks for a teacher.
        lessons: what the second model is trained on.
        max_turns: of an episode; None takes the preset's.
        max_new_tokens: of a turn; None takes the preset's.
        system: rules before the first observation, or None.
        embedded: the shipped model that knows this environment.
        judge: of single actions; None asks whether the goal came nearer.
    """

    name: str
    environment: Callable[[], Environment]
    tasks: Tasks
    splits: tuple[str, ...]
    teacher: Callable[[], Teacher]
    lessons: Lessons = oracle_lessons
    max_turns: int | None = None
    max_new_tokens: int | None = None
    system: str | None = None
    embedded: str = tiny.NAME
    judge: Judge | None = None

    def student(self, preset: Preset) -> str:
        """The preset's student; for a shipped one, that of this environment."""
        own = preset.episode_model
        return self.embedded if own == tiny.NAME else own

    def rules(self, preset: Preset, temperature: float | None = None) -> Settings:
        """How episodes are played; at the training temperature unless one is given."""
        own = preset.temperature if temperature is None else temperature
        tokens = self.max_new_tokens or preset.max_new_tokens
        turns = self.max_turns or preset.max_turns
        return Settings(turns, system=self.system, sampling=Sampling(tokens, own))


def _household_lessons(
    world: World, preset: Preset, base: PreTrainedModel, renderer: Renderer, count: int
) -> list[Trajectory]:
    """Games with the honest player's action at every turn."""
    return play_games(replace(preset, trajectories=count), base, renderer, "train", 1)


def _game(task: str, actions: Sequence[str]) -> Trajectory:
    return relabel(task, actions, random.Random(0))


def _purchase(task: str, actions: Sequence[str]) -> Trajectory:
    most = len(actions)
    return play_shop(task, Script(actions), random.Random(0), max_turns=most)


def _question(task: str, actions: Sequence[str]) -> Trajectory:
    most = len(actions)
    return play_search(task, Script(actions), random.Random(0), max_turns=most)


WORLDS: dict[str, World] = {
    world.name: world
    for world in (
        World(
            "textgame",
            TextGame,
            task_ids,
            ("valid_seen", "valid_unseen"),
            lambda: OracleTeacher(TextGame()),
            _household_lessons,
            judge=Functional(_game, TextGameVerifier()),
        ),
        World(
            "shop",
            shop.Shop,
            shop.task_ids,
            ("valid",),
            lambda: OracleTeacher(shop.Shop()),
            max_turns=shop.MAX_TURNS,
            embedded=tiny_web.NAME,
            judge=Functional(_purchase, ShopStateVerifier()),
        ),
        World(
            "search_qa",
            search_qa.SearchQA,
            search_qa.task_ids,
            ("valid",),
            lambda: OracleTeacher(search_qa.SearchQA()),
            max_turns=search_qa.MAX_TURNS,
            embedded=tiny_web.NAME,
            judge=Functional(_question, EvidenceVerifier()),
        ),
    )
}


def get_world(name: str) -> World:
    """The environment of that name.

    Raises:
        ValueError: it is not in the table; the message lists the names.
    """
    if name not in WORLDS:
        raise ValueError(
            f"unknown environment {name!r}; choose one of {', '.join(WORLDS)}"
        )
    return WORLDS[name]
