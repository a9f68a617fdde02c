"""One cell per environment, method and seed, all examined on the same tasks.

A `Stage` holds what the cells of one environment share: the base, its skill bank, the
second model, the examination. Bank and second model are made once and kept in files
beside the cells. Finished cells are read, not repeated; a cell killed half-way goes on
from its checkpoint.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory

from transformers import PreTrainedModel, PreTrainedTokenizerBase

from pivotlab import paths
from pivotlab.distillation.skill_bank import SkillBank
from pivotlab.engines.local import LocalSampler
from pivotlab.engines.noise import derive_seed
from pivotlab.evaluation.retention import accuracy_table, answer_all, questions
from pivotlab.experiments.cells import dependences, kept
from pivotlab.experiments.methods.arms import SECOND, get_method_arm, method_settings
from pivotlab.experiments.methods.worlds import World, get_world
from pivotlab.experiments.presets import Preset
from pivotlab.experiments.record_tables import merge_records
from pivotlab.experiments.runs import commit
from pivotlab.intervals import wilson
from pivotlab.models.registry import load_model
from pivotlab.pivots.candidates import collect
from pivotlab.records import Rollout
from pivotlab.rendering import Renderer
from pivotlab.rollouts import CachedPlayer, Start, play
from pivotlab.training.history import TrainingRun
from pivotlab.training.multiturn import train_multiturn
from pivotlab.training.sft import SFTSettings, train_sft, turn_rows
from pivotlab.whole_files import locked

#: Columns that identify a row of the record table `methods`.
METHOD_KEYS = ("environment", "method", "seed")
#: Seed of all that is the same for every cell.
SEED = 40_000
#: Steps between checkpoints.
SAVE_EVERY = 20
#: Number of the first training task of the bank's episodes, far from those of training.
BANK_START = 50_000
#: Episodes the bank is built from, demonstrations and steps of the second model.
BANK_EPISODES = {"smoke": 24, "quick": 48}
LESSONS = {"smoke": 6, "quick": 30}
SECOND_STEPS = {"smoke": 2, "quick": 10}
USUAL_BANK, USUAL_LESSONS, USUAL_STEPS = 200, 300, 240
#: Fewest turns of the bank's episodes: in fewer hardly anything is won.
BANK_TURNS = 30


@dataclass(frozen=True)
class MethodCell:
    """One method at one seed in one environment, trained for `steps`."""

    environment: str
    method: str
    seed: int
    steps: int

    def folder(self, preset: Preset) -> Path:
        """Where its result and checkpoints lie."""
        place = paths.runs() / preset.name / "methods" / self.environment
        return place / self.method / f"seed-{self.seed}"


class Stage:
    """What all cells of one environment share."""

    def __init__(self, name: str, preset: Preset):
        """
        Args:
            name: of the environment, see `worlds`.
            preset: model, sizes, temperatures; `eval_games` tasks in all.

        Raises:
            ValueError: unknown environment.
        """
        self.world: World = get_world(name)
        self.preset = preset
        self.base, self.tokenizer = self.fresh()
        self.renderer = Renderer(self.tokenizer)
        self.folder = paths.runs() / preset.name / "methods" / name
        splits = self.world.splits
        share = max(2, preset.eval_games // len(splits))
        self.tasks = [t for s in splits for t in self.world.tasks(s, share, 0)]
        self.questions = questions(max(2, preset.eval_games // 4), SEED)

    def fresh(self) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
        """The student before training."""
        return load_model(self.world.student(self.preset))

    def played(
        self, policy: PreTrainedModel, tasks: list[str], temperature: float, turns: int
    ) -> list[Rollout]:
        """One episode a task, of at most so many turns."""
        rules = self.world.rules(self.preset, temperature)
        rules = replace(rules, max_turns=turns)
        starts = [Start(t, derive_seed(SEED, i)) for i, t in enumerate(tasks)]
        player = CachedPlayer(policy)
        return play(player, self.renderer, self.world.environment, starts, rules)

    @cached_property
    def bank(self) -> SkillBank:
        """Skills from the base's own episodes on training tasks, kept in a file."""
        path = self.folder / "bank.json"
        with locked(path):
            if not path.exists():
                self._remember().save(path)
        return SkillBank.load(path)

    def _remember(self) -> SkillBank:
        count = BANK_EPISODES.get(self.preset.name, USUAL_BANK)
        tasks = self.world.tasks("train", count, BANK_START)
        turns = max(self.world.rules(self.preset).max_turns, BANK_TURNS)
        own = self.played(self.base, tasks, self.preset.temperature, turns)
        return SkillBank.build(own)

    @cached_property
    def second(self) -> PreTrainedModel:
        """A stronger model of the same tokenizer: the base, fine-tuned on lessons.

        Whoever comes first makes it; the folder appears when it is whole.
        """
        place = self.folder / "second-model"
        with locked(place):
            if not place.exists():
                self.folder.mkdir(parents=True, exist_ok=True)
                with TemporaryDirectory(dir=self.folder, prefix="making-") as work:
                    self._teach(Path(work) / "model")
                    os.replace(Path(work) / "model", place)
        return load_model(str(place))[0]

    def _teach(self, place: Path) -> None:
        preset, (model, tokenizer) = self.preset, self.fresh()
        count = LESSONS.get(preset.name, USUAL_LESSONS)
        lessons = self.world.lessons(
            self.world, preset, self.base, self.renderer, count
        )
        rows = turn_rows(tokenizer, collect(lessons).candidates)
        settings = SFTSettings(
            steps=SECOND_STEPS.get(preset.name, USUAL_STEPS),
            learning_rate=preset.sft_learning_rate,
            rows_per_step=preset.prompts_per_step * preset.group,
        )
        trained = train_sft(model, tokenizer, rows, settings).model
        trained.save_pretrained(place)
        tokenizer.save_pretrained(place)

    def examine(self, policy: PreTrainedModel) -> dict[str, float | int]:
        """n, success with lo and hi (Wilson, 95 %), score (mean reward), turns (mean),
        retention (accuracy on unrelated skills, greedy)."""
        turns = self.world.rules(self.preset).max_turns
        temperature = self.preset.eval_temperature
        rollouts = self.played(policy, self.tasks, temperature, turns)
        rate = wilson(sum(r.reward >= 1 for r in rollouts), len(rollouts))
        answers = answer_all(
            LocalSampler(policy),
            self.renderer,
            self.questions,
            decodings={"greedy": 0.0},
            seed=SEED,
        )
        n = len(rollouts)
        return {
            "n": n,
            "success": rate.value,
            "lo": rate.lo,
            "hi": rate.hi,
            "score": sum(r.reward for r in rollouts) / n,
            "turns": sum(len(r.turns) for r in rollouts) / n,
            "retention": float(accuracy_table(answers)["accuracy"].mean()),
        }


def train_method(
    cell: MethodCell, stage: Stage, folder: Path | None = None
) -> TrainingRun:
    """Train one method from the stage's base; with a folder, resumable.

    Raises:
        ValueError: unknown method, one that trains nothing, or one that needs skills
            where the base has won no episode.
    """
    arm = get_method_arm(cell.method)
    if not arm.trains:
        raise ValueError(f"method {arm.name!r} trains nothing")
    world, preset = stage.world, stage.preset
    model, tokenizer = stage.fresh()
    every = SAVE_EVERY if folder else 0
    tasks = max(cell.steps * preset.episode_tasks, 6)
    return train_multiturn(
        model,
        tokenizer,
        world.environment,
        world.tasks("train", tasks, 0),
        method_settings(arm, world, preset, cell.seed, cell.steps, every),
        teacher=world.teacher(),
        big=stage.second if arm.reads == "teacher" else None,
        bank=stage.bank if arm.needs_skills else None,
        judge=world.judge,
        folder=folder,
        resume=folder is not None,
    )


def run_method_cell(cell: MethodCell, stage: Stage) -> dict:
    """Train and examine one cell, or read what a finished one left.

    Returns:
        A row of the record table `methods`.

    Raises:
        ValueError: its folder holds a run with other settings.
    """
    folder, trains = cell.folder(stage.preset), get_method_arm(cell.method).trains
    wanted = dependences(cell, stage.preset, trains, ("episode_steps",))
    return kept(folder, wanted, lambda: _row(cell, stage, folder))


def _row(cell: MethodCell, stage: Stage, folder: Path) -> dict:
    arm, seconds = get_method_arm(cell.method), 0.0
    policy = stage.second if arm.name == SECOND else stage.base
    if arm.trains:
        trained = train_method(cell, stage, folder)
        policy, seconds = trained.model, float(trained.history["seconds"].iloc[-1])
    method = arm.method
    return {
        **asdict(cell),
        **stage.examine(policy),
        "seconds": round(seconds, 2),
        "reads": arm.reads,
        "exactness": method.exactness if method else "",
        "bank": stage.bank.digest() if arm.needs_skills else "",
        "commit": commit(),
    }


def save_method_records(rows: Iterable[dict], folder: Path | None) -> None:
    """Merge rows into the record table `methods` of `folder` (default: results)."""
    rows = list(rows)
    if rows:
        merge_records("methods", rows, METHOD_KEYS, folder)
