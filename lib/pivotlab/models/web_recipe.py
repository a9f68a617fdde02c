"""The recipe of `tiny-web`: honest and noisy play of both worlds, hints, and skills.

The model is meant to succeed in a fifth to a half of the episodes at temperature 1, so
that some samples of a turn are right and some are wrong. Stage "web" teaches both
worlds, slips being context and not targets; the shop is still hard when it ends, search
QA is not. So in the short stage "habits" the searches are those of a reader who slips
at almost every second turn, and its slips are targets. Hints name an action that
follows, and the held-out questions of the skills are never asked.

    python -m pivotlab.models.web_recipe --folder runs/tiny-web --preset cpu
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from pivotlab.environments.search_qa import task_ids as questions
from pivotlab.environments.search_qa.players import NoisyReader
from pivotlab.environments.shop import task_ids as purchases
from pivotlab.environments.shop.players import NoisyShopper
from pivotlab.models import tiny_web
from pivotlab.models.conversations import HINTED, Example, Source, add_hints
from pivotlab.models.conversations import skill_source as asked
from pivotlab.models.pretraining import Batching, Stage
from pivotlab.models.recipe import (
    QUESTIONS,
    Made,
    Recipe,
    Subject,
    follow,
    shortened,
)
from pivotlab.models.skills import SKILLS, UNLEARNT
from pivotlab.records import Trajectory
from pivotlab.trajectories.web_play import play_search, play_shop

SLIPS = 0.12
#: Probability of a slip, per turn, of the reader whose slips are learnt.
HABITS = 0.45
#: Tasks of the training splits that are drawn from.
TASKS = 10**6


@dataclass(frozen=True)
class Episodes:
    """Source of episodes of one world.

    Attributes:
        play: plays a task, as in `trajectories.web_play`.
        tasks: gives the ids of a split's tasks, as `task_ids` of either world.
        player: makes a noisy player from its rate of slips.
        eps: probability of a slip, per turn.
        hinted: share of turns that carry a hint; then only those are targets.
        learnt: whether slips are targets like everything else.
    """

    play: Callable[..., Trajectory]
    tasks: Callable[..., list[str]]
    player: Callable[[float], NoisyShopper | NoisyReader]
    eps: float
    hinted: float = 0.0
    learnt: bool = False

    def __call__(self, rng: random.Random) -> Example:
        """One episode; what the environment says last is left out."""
        (task,) = self.tasks("train", 1, rng.randrange(TASKS))
        player = self.player(self.eps)
        messages = self.play(task, player, rng).messages[:-1]
        slips = [] if self.learnt else player.slips
        example = Example(messages, frozenset(2 * turn + 1 for turn in slips))
        return add_hints(example, self.hinted, rng) if self.hinted else example


def sources() -> dict[str, Source]:
    """Every source of training text by name."""
    found: dict[str, Source] = {}
    for world, play, tasks, player in (
        ("shop", play_shop, purchases, NoisyShopper),
        ("search", play_search, questions, NoisyReader),
    ):
        found[world] = Episodes(play, tasks, player, 0.0)
        found[f"{world}, slipping"] = Episodes(play, tasks, player, SLIPS)
        found[f"{world}, hinted"] = Episodes(play, tasks, player, SLIPS, HINTED)
    found["search, flawed"] = Episodes(
        play_search, questions, NoisyReader, HABITS, learnt=True
    )
    return found | {name: asked(skill) for name, skill in (SKILLS | UNLEARNT).items()}


WEB = Subject(tiny_web.vocabulary, sources, tiny_web.model_card)
SHIPPED = Recipe(
    stages=(
        Stage(
            name="web",
            mixture={"shop": 1.0, "shop, slipping": 2.0, "shop, hinted": 0.4}
            | {"search": 1.2, "search, slipping": 2.4, "search, hinted": 0.4}
            | {name: 0.6 * share for name, share in QUESTIONS.items()},
            steps=5000,
            matrix_lr=2e-3,
            other_lr=8e-3,
        ),
        Stage(
            name="habits",
            mixture={"shop": 0.5, "shop, slipping": 1.0, "shop, hinted": 0.4}
            | {"search, flawed": 1.5, "search, hinted": 0.4}
            | QUESTIONS,
            steps=1000,
            matrix_lr=1e-3,
            other_lr=2e-3,
            warmup=20,
            decay=0.6,
        ),
    ),
    batching=Batching(rows=2, length=640, given_weight=0.3),
)
#: Steps of the two stages by preset; the others of the shipped recipe stay.
STEPS = {"smoke": (2, 2), "quick": (150, 50)}


def recipe_for(preset: str, seed: int = 0) -> Recipe:
    """The shipped recipe, shortened for the presets `smoke` and `quick`."""
    return shortened(replace(SHIPPED, seed=seed), STEPS.get(preset))


def make(preset: str, folder: Path, seed: int = 0, workers: int = 1) -> Made:
    """Make `tiny-web`; a run that was stopped goes on where it was."""
    return follow(recipe_for(preset, seed), folder, workers, WEB)


def main() -> None:
    """Command line: folder, preset, seed, workers."""
    parser = argparse.ArgumentParser(description="Make tiny-web from scratch.")
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--preset", default="cpu")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=1, help="threads, one per row")
    given = parser.parse_args()
    made = make(given.preset, given.folder, given.seed, given.workers)
    print(f"{len(made.history)} rows of history, last {made.history[-1]}")


if __name__ == "__main__":
    main()
