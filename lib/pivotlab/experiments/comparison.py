"""Who learns how much and who forgets how much: one cell per arm and seed.

A cell trains one arm from the shipped base and evaluates it at marked steps on the same
games and questions as every other cell. Finished cells are not repeated and a cell
killed half-way goes on from its last checkpoint.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Protocol, runtime_checkable

import pandas as pd
import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from pivotlab.experiments.arms import Arm, get_arm
from pivotlab.experiments.cells import TrainingCell, dependences, kept
from pivotlab.experiments.examination import HINTS
from pivotlab.experiments.pool import Pool
from pivotlab.experiments.presets import Preset
from pivotlab.experiments.record_tables import merge_tables
from pivotlab.experiments.runs import commit
from pivotlab.models.registry import load_model
from pivotlab.pivots.selection import select
from pivotlab.records import Candidate
from pivotlab.training.history import Evaluations, TrainingRun
from pivotlab.training.launch import (
    FOR_PRESET,
    LaunchedRun,
    VerifierSpec,
    launch_pivotrl,
)
from pivotlab.training.pivotrl import PivotRLSettings, train_pivotrl
from pivotlab.training.sft import (
    SFTSettings,
    SupervisedRow,
    conversation_rows,
    train_sft,
    turn_rows,
)
from pivotlab.whole_files import write_text

#: Steps at which the learning curves are read; a run also reads its last step.
MARKS = (60, 120, 240, 480, 960)
STRICT = VerifierSpec("pivotlab.verifiers.exact:ExactVerifier")
#: Columns that identify a row of each record table.
KEYS = {
    "pivotrl_arms": ("arm", "seed", "steps", "split", "decoding", "task_type"),
    "pivotrl_retention": ("arm", "seed", "steps", "skill", "decoding"),
    "pivotrl_distance": ("arm", "seed", "steps", "states", "direction"),
    "pivotrl_training": ("arm", "seed", "steps"),
}


@runtime_checkable
class Examiner(Protocol):
    """What a cell asks to judge a policy; `examination.Examination` is the one."""

    def examine(self, policy: PreTrainedModel) -> dict[str, list[dict]]: ...

    def headline(self, rows: dict[str, list[dict]]) -> dict[str, float]: ...


def marks(preset: Preset, cell: TrainingCell) -> list[int]:
    """Evaluated steps of a cell; step 0 belongs to the arm "base" alone."""
    if get_arm(cell.arm).objective == "none":
        return [0]
    return sorted({m for m in MARKS if m <= cell.steps} | {cell.steps})


def training_turns(pool: Pool, preset: Preset) -> int:
    """How many turns every arm trains on: what the scarcest selection has, at most one
    per trajectory on average."""
    counts = [
        len(
            select(
                pool.candidates, pool.profiles_under(r), "pivots", preset.lambda_diff
            )
        )
        for r in ("functional", "exact")
    ]
    return min(*counts, preset.trajectories)


def arm_turns(arm: Arm, pool: Pool, preset: Preset, seed: int) -> list[Candidate]:
    """The turns of one arm: its rule on profiles under its own reward, equal number."""
    return select(
        pool.candidates,
        pool.profiles_under(arm.reward),
        "random" if arm.turns == "conversations" else arm.turns,
        preset.lambda_diff,
        training_turns(pool, preset),
        seed,
    )


def run_cell(
    cell: TrainingCell, preset: Preset, pool: Pool, examination: Examiner
) -> dict[str, list[dict]]:
    """Train and evaluate one cell, or read what a finished one left.

    Returns:
        Rows of each table of `KEYS`.

    Raises:
        ValueError: unknown arm, or its folder holds a run with other settings.
    """
    arm, folder = get_arm(cell.arm), cell.folder(preset, "comparison")
    trains = arm.objective != "none"

    def evaluate(policy: PreTrainedModel, step: int) -> dict[str, float]:
        rows = examination.examine(policy)
        write_text(folder / f"step-{step}.json", json.dumps(rows))
        return examination.headline(rows)

    def make() -> dict[str, list[dict]]:
        model, tokenizer = load_model(preset.model)
        if not trains:
            evaluate(model, 0)
            return _rows(cell, preset, folder, [])
        evaluations = Evaluations(evaluate, marks(preset, cell))
        trained = train(arm, cell, preset, pool, model, tokenizer, evaluations, folder)
        return _rows(cell, preset, folder, training_rows(trained, preset))

    wanted = {**dependences(cell, preset, trains), "marks": marks(preset, cell)}
    return kept(folder, wanted, make)


def train(
    arm: Arm,
    cell: TrainingCell,
    preset: Preset,
    pool: Pool,
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    evaluations: Evaluations | None,
    folder: Path,
) -> TrainingRun:
    """Train one arm; checkpoints lie in `folder`.

    RL of the presets of `launch.FOR_PRESET` runs in processes of its own and leaves
    `model` as it was; everything else trains it in place.
    """
    keep = {"evaluations": evaluations, "folder": folder, "resume": True}
    shared = {"steps": cell.steps, "seed": cell.seed, "save_every": min(MARKS)}
    turns = arm_turns(arm, pool, preset, cell.seed)
    if arm.objective == "sft":
        rate = arm.learning_rate or preset.sft_learning_rate
        rows, per_step = _supervised(arm, pool, turns, tokenizer, preset)
        settings = SFTSettings(learning_rate=rate, rows_per_step=per_step, **shared)
        return train_sft(model, tokenizer, rows, settings, **keep)
    settings = PivotRLSettings(
        learning_rate=arm.learning_rate or preset.learning_rate,
        prompts_per_step=preset.prompts_per_step,
        group_size=preset.group,
        beta=preset.beta if arm.beta is None else arm.beta,
        epsilon=preset.clip,
        temperature=preset.temperature,
        max_new_tokens=preset.max_new_tokens,
        **shared,
    )
    verifier = reward_verifier(arm, cell.seed)
    strict = STRICT if arm.reward == "functional" else None
    if preset.name in FOR_PRESET:
        where = (FOR_PRESET[preset.name], folder / "launch")
        launched = launch_pivotrl(
            preset.model, turns, verifier, settings, *where, strict=strict
        )
        return evaluate_checkpoints(launched, evaluations)
    return train_pivotrl(
        model,
        tokenizer,
        turns,
        verifier.build(),
        settings,
        strict=strict and strict.build(),
        **keep,
    )


def reward_verifier(arm: Arm, seed: int) -> VerifierSpec:
    """The verifier that pays the arm, by name: a launched run builds its own."""
    verifiers = {
        "functional": VerifierSpec("pivotlab.verifiers.text_game:TextGameVerifier"),
        "exact": STRICT,
        "placebo": VerifierSpec(
            "pivotlab.verifiers.placebo:PlaceboVerifier", {"seed": seed}
        ),
    }
    return verifiers[arm.reward]


def evaluate_checkpoints(
    launched: LaunchedRun, evaluations: Evaluations | None
) -> TrainingRun:
    """A launched run in the form of one in this process: its checkpoints are loaded and
    evaluated one after the other.

    Raises:
        RuntimeError: a step to evaluate has no checkpoint.
    """
    asked = sorted(evaluations.steps) if evaluations else []
    missing = [s for s in asked if s and s not in launched.checkpoints]
    if missing:
        raise RuntimeError(f"{launched.folder} has no checkpoint of steps {missing}")
    rows = {}
    for step in filter(None, asked):
        policy, _ = load_model(str(launched.checkpoints[step]))
        with torch.no_grad():
            rows[step] = dict(evaluations.function(policy, step))
    last, _ = load_model(str(launched.checkpoints[max(launched.checkpoints)]))
    table = pd.DataFrame.from_dict(rows, orient="index").rename_axis("step")
    return TrainingRun(last, launched.history, table)


def _supervised(
    arm: Arm,
    pool: Pool,
    turns: Sequence[Candidate],
    tokenizer: PreTrainedTokenizerBase,
    preset: Preset,
) -> tuple[list[SupervisedRow], int]:
    """Rows and rows per step, such that a step sees about equally many turns."""
    if arm.turns != "conversations":
        return turn_rows(tokenizer, turns), preset.prompts_per_step
    honest = [t for t in pool.trajectories if t.source == "honest"]
    rows = conversation_rows(tokenizer, honest)
    mean = sum(row.turns for row in rows) / len(rows)
    return rows, max(1, round(preset.prompts_per_step / mean))


def training_rows(trained: TrainingRun, preset: Preset) -> list[dict]:
    """The history at every tenth step: rollout turns, seconds and TRL's metrics."""
    wanted = ("samples", "seconds", "reward", "reward_std", "frac_reward_zero_std")
    wanted += ("kl", "entropy", "grad_norm", "loss", "miss_rate")
    table = trained.history
    table = table[[c for c in wanted if c in table.columns]]
    kept = table[(table.index % 10 == 0) | (table.index == table.index.max())]
    return [
        {"steps": int(step), **{k: float(v) for k, v in row.items() if pd.notna(v)}}
        for step, row in kept.iterrows()
    ]


def _rows(
    cell: TrainingCell, preset: Preset, folder: Path, history: list[dict]
) -> dict[str, list[dict]]:
    """All tables of a cell, with what each row cost up to its step."""
    costs = {row["steps"]: row for row in history}
    stamp = {"arm": cell.arm, "seed": cell.seed}
    grpo = get_arm(cell.arm).objective == "grpo"
    tables: dict[str, list[dict]] = {name: [] for name in KEYS}
    tables["pivotrl_training"] = [{**stamp, **row} for row in history]
    for step in marks(preset, cell):
        cost = costs.get(step, {"samples": 0.0, "seconds": 0.0})
        spent = {
            "rollout_turns": int(cost["samples"]) if grpo else 0,
            "supervised_turns": 0 if grpo else int(cost["samples"]),
            "seconds": round(cost["seconds"], 3),
            "commit": commit(),
        }
        found = json.loads((folder / f"step-{step}.json").read_text())
        spent["retention"] = _retention(found["pivotrl_retention"])
        for name, rows in found.items():
            extra = spent if name == "pivotrl_arms" else {}
            tables[name] += [{**stamp, "steps": step, **row, **extra} for row in rows]
    return tables


def _retention(rows: list[dict]) -> float:
    """Greedy accuracy averaged over the unrelated skills."""
    greedy = [r for r in rows if r["decoding"] == "greedy"]
    skills = [r["accuracy"] for r in greedy if r["skill"] != HINTS]
    return sum(skills) / len(skills)


def save_records(tables: Iterable[dict[str, list[dict]]], folder: Path | None) -> None:
    """Merge the rows of cells into the record tables of `folder` (default: results)."""
    merge_tables(tables, KEYS, folder)
