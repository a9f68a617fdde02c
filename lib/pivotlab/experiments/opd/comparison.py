"""PivotOPD's arms: one cell per arm and seed, all examined on the same games.

An examination plays held-out games and lets the policy go on after the first mistakes
that the untrained base made, so that every arm stands before the same situations.
Finished cells are not repeated; a cell killed half-way goes on from its checkpoint.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from pivotlab import paths
from pivotlab.distillation.asking import StudentAsk
from pivotlab.distillation.teachers import (
    OracleTeacher,
    PromptedTeacher,
    Teacher,
    pivotal,
)
from pivotlab.engines.local import LocalSampler
from pivotlab.engines.noise import derive_seed
from pivotlab.engines.protocol import Sampling
from pivotlab.environments.textgame import TextGame, task_ids
from pivotlab.evaluation.diagnosis import Detection, pivot_probabilities
from pivotlab.evaluation.recovery import (
    Mistake,
    first_mistakes,
    recovery_replay,
    recovery_table,
)
from pivotlab.evaluation.retention import accuracy_table, answer_all, questions
from pivotlab.evaluation.success import play_games, success_table
from pivotlab.experiments.cells import dependences, kept
from pivotlab.experiments.opd.arms import EpisodeArm, episode_settings, get_episode_arm
from pivotlab.experiments.presets import Preset
from pivotlab.experiments.runs import commit, merge_records, write_text
from pivotlab.models.registry import load_model
from pivotlab.records import Rollout
from pivotlab.rendering import Renderer
from pivotlab.rollouts import CachedPlayer, Settings, Start, play, resume
from pivotlab.training.history import Evaluations, TrainingRun
from pivotlab.training.multiturn import train_multiturn

SPLITS = ("valid_seen", "valid_unseen")
#: Seed of all that is the same for every cell.
SEED = 30_000
#: Plays on after each mistake, as in the paper.
REPEATS = 8
#: Steps at which success is read on the way.
MARKS = (10, 20, 40, 80)
#: Columns that identify a row of each record table.
OPD_KEYS = {
    "pivotopd_arms": ("arm", "seed", "steps", "split", "decoding", "task_type"),
    "recovery_replay": ("arm", "seed"),
    "recovery_curve": ("arm", "seed", "turns"),
    "pivotopd_retention": ("arm", "seed", "steps", "skill", "decoding"),
    "pivotopd_training": ("arm", "seed", "steps"),
}
Tables = dict[str, list[dict]]


@dataclass(frozen=True)
class EpisodeCell:
    """One arm at one seed, trained for `steps`."""

    arm: str
    seed: int
    steps: int

    def folder(self, preset: Preset) -> Path:
        """Where its evaluations and checkpoints lie."""
        name = re.sub(r"[^A-Za-z0-9.=-]+", "_", self.arm)
        return paths.runs() / preset.name / "pivotopd" / name / f"seed-{self.seed}"


def game_rules(preset: Preset, temperature: float | None = None) -> Settings:
    """How episodes are played; at the training temperature unless one is given."""
    own = preset.temperature if temperature is None else temperature
    return Settings(preset.max_turns, sampling=Sampling(preset.max_new_tokens, own))


def base_episodes(
    preset: Preset, base: PreTrainedModel, renderer: Renderer, games: int
) -> list[Rollout]:
    """Episodes of the base on held-out games of known rooms, one a game."""
    tasks = task_ids("valid_seen", games, start=5_000)
    starts = [Start(task, derive_seed(SEED, i)) for i, task in enumerate(tasks)]
    return play(CachedPlayer(base), renderer, TextGame, starts, game_rules(preset))


class EpisodeExamination:
    """The same games and the same mistakes for every policy."""

    def __init__(
        self, preset: Preset, base: PreTrainedModel, tokenizer: PreTrainedTokenizerBase
    ):
        """
        Args:
            preset: `eval_games` in all, half in each split; half as many of the base's
                own episodes are searched for first mistakes, and a quarter as many
                questions are asked of each unrelated skill.
            base: the untrained policy, whose mistakes are replayed.
            tokenizer: of base and policies.
        """
        self.preset, self.renderer = preset, Renderer(tokenizer)
        half = max(2, preset.eval_games // 2)
        self.tasks = {split: task_ids(split, half) for split in SPLITS}
        self.questions = questions(max(2, preset.eval_games // 4), SEED)
        own = base_episodes(preset, base, self.renderer, half)
        self.mistakes: list[Mistake] = first_mistakes(own, TextGame)
        self.base_replay = self.replay(base)

    def success(self, policy: PreTrainedModel) -> pd.DataFrame:
        """One row a game; see `evaluation.success.play_games`."""
        return play_games(
            CachedPlayer(policy),
            self.renderer,
            TextGame,
            self.tasks,
            game_rules(self.preset),
            seed=SEED,
        )

    def replay(self, policy: PreTrainedModel) -> pd.DataFrame:
        """One row a play after a mistake of the base."""
        return recovery_replay(
            CachedPlayer(policy),
            self.renderer,
            TextGame,
            self.mistakes,
            game_rules(self.preset),
            repeats=REPEATS,
            seed=SEED,
        )

    def continued(
        self, mistake: Mistake, policy: PreTrainedModel, seed: int
    ) -> Rollout:
        """The episode as the policy plays on after the mistake, at one noise seed."""
        start = resume(mistake.rollout, mistake.turn + 1, seed=seed)
        rules = game_rules(self.preset)
        player = CachedPlayer(policy)
        return play(player, self.renderer, TextGame, [start], rules)[0]

    def examine(self, policy: PreTrainedModel) -> Tables:
        """Rows of pivotopd_arms, _retention, recovery_replay and recovery_curve."""
        games = self.success(policy)
        total = success_table(games).assign(task_type="all")
        parts = success_table(games, ("split", "decoding", "task_type"))
        rows = [*total.to_dict("records"), *parts.to_dict("records")]
        kept = ("split", "decoding", "task_type", "n", "success", "lo", "hi", "turns")
        replays = self.replay(policy)
        return {
            "pivotopd_arms": [{k: row[k] for k in kept} for row in rows],
            "recovery_replay": [self._recovery(policy, replays)],
            "recovery_curve": curve_rows(replays, self.preset.max_turns),
            "pivotopd_retention": self._retention(policy),
        }

    def _retention(self, policy: PreTrainedModel) -> list[dict]:
        sampler = LocalSampler(policy)
        answers = answer_all(sampler, self.renderer, self.questions, seed=SEED)
        by = ("decoding", "skill", "shares_game_tokens")
        return accuracy_table(answers, by).to_dict("records")

    def _recovery(self, policy: PreTrainedModel, replays: pd.DataFrame) -> dict:
        (row,) = recovery_table(replays, self.base_replay).to_dict("records")
        pairs = [(m.rollout, m.turn) for m in self.mistakes]
        odds = pivot_probabilities(policy, self.renderer, TextGame, pairs)
        row["p_gold"] = float(np.exp(odds["log_p_gold"]).mean())
        row["p_mistake"] = float(np.exp(odds["log_p_mistake"]).mean())
        row["log_p_gold"] = float(odds["log_p_gold"].median())
        return row


def curve_rows(replays: pd.DataFrame, most: int) -> list[dict]:
    """Share recovered within n turns: the mean over mistakes of per-mistake rates."""
    rows = []
    for turns in range(most + 1):
        within = replays["won"] & (replays["turns"] <= turns)
        share = within.groupby(replays["trajectory"]).mean().mean()
        rows.append({"turns": turns, "recovered": float(share)})
    return rows


def detections(
    mistakes: Sequence[Mistake], teacher: Teacher, limit: int, readings: int = 1
) -> list[Detection]:
    """What a teacher names in episodes with a known first mistake (Table S.1).

    Args:
        mistakes: failed episodes with their first oracle pivot.
        teacher: reads each of them.
        limit: turns it may name [m].
        readings: of every episode.
    """
    found = []
    for index, mistake in enumerate(mistakes):
        for _ in range(readings):
            report = teacher.report(mistake.rollout, limit)
            picked = tuple(p.turn for p in pivotal(mistake.rollout, report))
            turns = len(mistake.rollout.turns)
            found.append(Detection(index, mistake.turn, turns, picked))
    return found


def make_teacher(
    arm: EpisodeArm, model: PreTrainedModel, renderer: Renderer, seed: int
) -> Teacher:
    """Who names actions for an arm."""
    if arm.teacher == "oracle":
        return OracleTeacher(TextGame())
    ask = StudentAsk(model, renderer, Sampling(256), seed)
    return PromptedTeacher(ask, TextGame())


def train_arm(
    cell: EpisodeCell,
    preset: Preset,
    evaluations: Evaluations | None = None,
    folder: Path | None = None,
    big: PreTrainedModel | None = None,
) -> TrainingRun:
    """Train one arm from the preset's base.

    Raises:
        ValueError: unknown arm, one that trains nothing, or one that needs a second
            model that is not given.
    """
    arm = get_episode_arm(cell.arm)
    if not arm.trains:
        raise ValueError(f"arm {arm.name!r} trains nothing")
    if arm.big and big is None:
        raise ValueError(f"arm {arm.name!r} needs a second model: pass big=...")
    model, tokenizer = load_model(preset.episode_model)
    per_run = cell.steps * preset.episode_tasks
    every = min(MARKS) if folder else 0
    return train_multiturn(
        model,
        tokenizer,
        TextGame,
        task_ids("train", max(per_run, 6)),
        episode_settings(arm, preset, cell.seed, cell.steps, every),
        teacher=make_teacher(arm, model, Renderer(tokenizer), cell.seed),
        big=big if arm.big else None,
        evaluations=evaluations,
        folder=folder,
        resume=folder is not None,
    )


def run_episode_cell(
    cell: EpisodeCell,
    preset: Preset,
    examination: EpisodeExamination,
    base: PreTrainedModel,
    big: PreTrainedModel | None = None,
) -> Tables:
    """Train and examine one cell, or read what a finished one left.

    Raises:
        ValueError: its folder holds a run with other settings.
    """
    folder, trains = cell.folder(preset), get_episode_arm(cell.arm).trains

    def make() -> Tables:
        if trains:
            return _trained(cell, preset, examination, folder, big)
        return _stamped(examination.examine(base), cell, 0, {})

    return kept(folder, dependences(cell, preset, trains, ("episode_steps",)), make)


def _trained(cell, preset, examination, folder: Path, big) -> Tables:
    def evaluate(policy: PreTrainedModel, step: int) -> Mapping[str, float]:
        if step == cell.steps:
            rows = examination.examine(policy)
        else:
            table = success_table(examination.success(policy)).assign(task_type="all")
            kept = list(set(table.columns) - {"refused_lo", "refused_hi"})
            rows = {"pivotopd_arms": table[kept].to_dict("records")}
        write_text(folder / f"step-{step}.json", json.dumps(rows, default=float))
        found = rows["pivotopd_arms"]
        return {f"{r['split']} {r['decoding']}": r["success"] for r in found[:4]}

    marks = sorted({m for m in MARKS if m < cell.steps} | {cell.steps})
    trained = train_arm(cell, preset, Evaluations(evaluate, marks), folder, big)
    history = training_rows(trained)
    costs = {row["steps"]: row for row in history}
    tables: Tables = {name: [] for name in OPD_KEYS}
    for step in marks:
        found = json.loads((folder / f"step-{step}.json").read_text())
        for name, rows in _stamped(found, cell, step, costs[step]).items():
            tables[name] += rows
    stamp = {"arm": cell.arm, "seed": cell.seed}
    tables["pivotopd_training"] = [{**stamp, **row} for row in history]
    return tables


def _stamped(found: Tables, cell: EpisodeCell, step: int, cost: dict) -> Tables:
    spent = {
        "rollout_turns": int(cost.get("samples", 0)),
        "seconds": round(cost.get("seconds", 0.0), 3),
        "commit": commit(),
    }
    stamp = {"arm": cell.arm, "seed": cell.seed}
    tables: Tables = {}
    for name, rows in found.items():
        steps = {"steps": step} if name != "recovery_curve" else {}
        extra = spent if name == "pivotopd_arms" else {}
        tables[name] = [{**stamp, **steps, **row, **extra} for row in rows]
    return tables


def training_rows(trained: TrainingRun) -> list[dict]:
    """Every row of the history: costs, reward, KL, and each component's figures."""
    wanted = ("samples", "seconds", "reward", "kl", "entropy", "grad_norm", "loss")
    parts = ("teacher/", "pivots", "recovery/", "prevention/", "every/", "seconds/")
    table = trained.history
    names = [c for c in table.columns if c in wanted or c.startswith(parts)]
    return [
        {"steps": int(step), **{k: float(v) for k, v in row.items() if pd.notna(v)}}
        for step, row in table[names].iterrows()
    ]


def save_episode_records(tables: Iterable[Tables], folder: Path | None) -> None:
    """Merge the rows of cells into the record tables of `folder` (default: results)."""
    gathered: Tables = {name: [] for name in OPD_KEYS}
    for cell in tables:
        for name, rows in cell.items():
            gathered[name] += rows
    for name, rows in gathered.items():
        if rows:
            merge_records(name, rows, OPD_KEYS[name], folder)


def overhead(
    preset: Preset, turns: Sequence[int] = (0, 1, 2), steps: int = 6, seed: int = 0
) -> pd.DataFrame:
    """What PivotOPD's step costs over GRPO's, measured alternately in this process.

    At learning rate 0 every run plays the same episodes, so that a step is compared
    with the same step; a trained policy's episodes would differ from the second step
    on, by more than is asked about. The first step of every run is left out.

    Returns:
        k, steps, seconds_grpo, seconds (medians of a step, teacher calls taken out),
        ratio (median over steps), and teacher_seconds (median of a step, apart).
    """
    still = replace(preset, episode_learning_rate=0.0)

    def measured(arm: str) -> tuple[pd.Series, pd.Series]:
        cell = EpisodeCell(arm, seed, steps)
        history = train_arm(cell, still).history.iloc[1:]
        teacher = history.get("seconds/teacher", pd.Series(0.0, history.index))
        return history["step_time"] - teacher, teacher

    rows = []
    for k in turns:
        plain, _ = measured("grpo")
        seconds, teacher = measured(f"K={k}")
        rows.append(
            {"k": k, "steps": steps - 1, "seconds_grpo": plain.median()}
            | {"seconds": seconds.median(), "ratio": (seconds / plain).median()}
            | {"teacher_seconds": teacher.median()}
        )
    return pd.DataFrame(rows)
