"""The recipe of the shipped `tiny`: an expert first, then a player with bad habits.

Stage "skill" makes the model play like the honest player, follow hints and answer the
unrelated skills. Stage "habits" is short: the games are those of the flawed player,
whose mistakes are targets like everything else it does, while hints and skills stay in
the mixture. What results was an expert a little earlier, and is documented as such.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from transformers import PreTrainedTokenizerFast, Qwen3ForCausalLM

from pivotlab.environments.textgame.habits import NoisyFlawedPlayer
from pivotlab.environments.textgame.players import NoisyPlayer
from pivotlab.models import tiny
from pivotlab.models.conversations import Games, Source, skill_source
from pivotlab.models.pretraining import Batching, Run, Stage, train
from pivotlab.models.skills import SKILLS, UNLEARNT
from pivotlab.models.tokenizer import Vocabulary, build_tokenizer

#: Probability that a player slips, per turn, in the games where it does.
SLIPS = 0.12
#: Share of the turns that carry a hint in a game with hints.
HINTED = 0.35
#: Skill -> share of the conversations; the harder ones are asked more often.
QUESTIONS = {
    "add": 2.0,
    "sort": 0.7,
    "reverse": 0.9,
    "replace": 1.4,
    "shift": 0.6,
    "convert": 0.6,
    "look_up": 1.2,
    "undo": 0.5,
    "find": 0.8,
}


def sources() -> dict[str, Source]:
    """Every source of training text by name."""
    games: dict[str, Source] = {
        "honest": Games(NoisyPlayer, 0.0),
        "honest, slipping": Games(NoisyPlayer, SLIPS),
        "honest, hinted": Games(NoisyPlayer, SLIPS, hinted=HINTED),
        "flawed": Games(NoisyFlawedPlayer, 0.0),
        "flawed, slipping": Games(NoisyFlawedPlayer, SLIPS),
        "flawed, hinted": Games(NoisyFlawedPlayer, SLIPS, hinted=HINTED),
    }
    asked = SKILLS | UNLEARNT
    return games | {name: skill_source(skill) for name, skill in asked.items()}


@dataclass(frozen=True)
class Recipe:
    """Everything the weights depend on."""

    stages: tuple[Stage, ...]
    batching: Batching
    seed: int = 0


SHIPPED = Recipe(
    stages=(
        Stage(
            name="skill",
            mixture={"honest": 1.0, "honest, slipping": 2.2, "honest, hinted": 0.6}
            | QUESTIONS,
            steps=4500,
            matrix_lr=2e-3,
            other_lr=8e-3,
        ),
        Stage(
            name="habits",
            mixture={"flawed": 1.5, "flawed, slipping": 1.5}
            | {"honest, hinted": 0.4, "flawed, hinted": 0.4}
            | QUESTIONS,
            steps=600,
            matrix_lr=1e-3,
            other_lr=2e-3,
            warmup=20,
            decay=0.6,
        ),
    ),
    batching=Batching(rows=2, length=640, given_weight=0.3),
)
#: Steps of the two stages by preset; the others of the shipped recipe stay.
STEPS = {"smoke": (6, 4), "quick": (150, 50)}


def recipe_for(preset: str, seed: int = 0) -> Recipe:
    """The shipped recipe, shortened for the presets `smoke` and `quick`."""
    return shortened(replace(SHIPPED, seed=seed), STEPS.get(preset))


def shortened(recipe: Recipe, steps: Sequence[int] | None) -> Recipe:
    """The same recipe at other steps of its stages; None keeps its own."""
    if steps is None:
        return recipe
    pairs = zip(recipe.stages, steps, strict=True)
    stages = tuple(replace(stage, steps=count) for stage, count in pairs)
    return replace(recipe, stages=stages)


def facts(recipe: Recipe) -> dict[str, Any]:
    """What `recipe.json` says of a recipe."""
    steps = {stage.name: stage.steps for stage in recipe.stages}
    return {**asdict(recipe), "steps": steps}


@dataclass(frozen=True)
class Made:
    """What a recipe has made; `history` has one row every few steps."""

    model: Qwen3ForCausalLM
    tokenizer: PreTrainedTokenizerFast
    history: list[dict[str, Any]]


@dataclass(frozen=True)
class Subject:
    """Whom a recipe makes: a vocabulary, sources of text, and the model's card."""

    vocabulary: Callable[[], Vocabulary]
    sources: Callable[[], dict[str, Source]]
    card: Callable[[dict[str, Any]], str]


TINY = Subject(tiny.vocabulary, sources, tiny.model_card)


def follow(
    recipe: Recipe, folder: Path, workers: int = 1, subject: Subject = TINY
) -> Made:
    """Carry out a recipe; a run that was stopped goes on where it was.

    Args:
        recipe: what to do.
        folder: gets the checkpoints, and the model after each stage under the name of
            the stage.
        workers: threads, each with a row of the batch; they change no number.
        subject: whom to make.
    """
    tokenizer = build_tokenizer(subject.vocabulary())
    model = tiny.build_model(tokenizer, recipe.seed)
    history: list[dict[str, Any]] = []
    for stage in recipe.stages:
        texts = subject.sources()
        run = Run(model, tokenizer, texts, stage, recipe.batching, recipe.seed, workers)
        rows = train(run, folder / f"{stage.name}.pt")
        history += [{"stage": stage.name, **row} for row in rows]
        target = folder / stage.name
        tiny.save(model, tokenizer, target, facts(recipe), subject.card)
    return Made(model, tokenizer, history)
