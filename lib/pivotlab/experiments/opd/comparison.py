"""PivotOPD's arms: one cell per arm and seed, all examined on the same games.

Finished cells are not repeated; a cell killed half-way goes on from its checkpoint.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

import pandas as pd
from transformers import PreTrainedModel

from pivotlab.distillation.asking import StudentAsk
from pivotlab.distillation.teachers import OracleTeacher, PromptedTeacher, Teacher
from pivotlab.engines.protocol import Sampling
from pivotlab.environments.textgame import TextGame, task_ids
from pivotlab.evaluation.success import success_table
from pivotlab.experiments.cells import TrainingCell, dependences, kept
from pivotlab.experiments.opd.arms import EpisodeArm, episode_settings, get_episode_arm
from pivotlab.experiments.opd.examination import EpisodeExamination, Tables
from pivotlab.experiments.presets import Preset
from pivotlab.experiments.record_tables import merge_tables
from pivotlab.experiments.runs import commit
from pivotlab.models.registry import load_model
from pivotlab.rendering import Renderer
from pivotlab.training.history import Evaluations, TrainingRun
from pivotlab.training.multiturn import train_multiturn
from pivotlab.whole_files import write_text

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


def make_teacher(
    arm: EpisodeArm, model: PreTrainedModel, renderer: Renderer, seed: int
) -> Teacher:
    """Who names actions for an arm."""
    if arm.teacher == "oracle":
        return OracleTeacher(TextGame())
    ask = StudentAsk(model, renderer, Sampling(256), seed)
    return PromptedTeacher(ask, TextGame())


def train_arm(
    cell: TrainingCell,
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
    cell: TrainingCell,
    preset: Preset,
    examination: EpisodeExamination,
    base: PreTrainedModel,
    big: PreTrainedModel | None = None,
) -> Tables:
    """Train and examine one cell, or read what a finished one left.

    Raises:
        ValueError: its folder holds a run with other settings.
    """
    folder, trains = cell.folder(preset, "pivotopd"), get_episode_arm(cell.arm).trains

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


def _stamped(found: Tables, cell: TrainingCell, step: int, cost: dict) -> Tables:
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
    merge_tables(tables, OPD_KEYS, folder)
