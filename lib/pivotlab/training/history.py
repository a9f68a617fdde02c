"""What a training run leaves: metrics of every step, evaluations at chosen steps.

Both lie in the trainer's own state, so a checkpoint carries them and a resumed run
continues them. An evaluation leaves no trace in the training: generators and the
model's mode are put back, and its seconds are not counted.
"""

from __future__ import annotations

import json
import random
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from peft import PeftModel
from tqdm.auto import tqdm
from transformers import PreTrainedModel, PrinterCallback, Trainer, TrainerCallback

from pivotlab.training.settings import TrainingSettings
from pivotlab.training.trl_compat import causal_model, release

#: (model in evaluation mode, step) -> figures by name; called on every process.
Evaluate = Callable[[PreTrainedModel, int], Mapping[str, float]]


@dataclass(frozen=True)
class Evaluations:
    """Evaluate at these steps; step 0 is before training."""

    function: Evaluate
    steps: Collection[int]


@dataclass(frozen=True)
class TrainingRun:
    """A trained model and what was measured on the way.

    Attributes:
        model: the model that was handed in, or the adapter around it.
        history: one row per logging interval, indexed by step; `samples` counts the
            turns consumed so far (rollout turns, or supervised turns), `seconds` the
            training time so far; the other columns carry TRL's names.
        evaluations: one row per evaluated step, indexed by step.
    """

    model: PreTrainedModel | PeftModel
    history: pd.DataFrame
    evaluations: pd.DataFrame


class Recorder(TrainerCallback):
    """Adds turns and seconds to the trainer's log and evaluates at the marks."""

    def __init__(
        self,
        turns_until: Callable[[int], int],
        evaluations: Evaluations | None,
        label: str,
    ):
        """
        Args:
            turns_until: step -> turns consumed up to its end.
            evaluations: what to measure when.
            label: of the progress bar.
        """
        self.turns_until = turns_until
        self.evaluations = evaluations
        self.label = label
        self.seconds = 0.0
        self.since = 0.0
        self.bar: tqdm | None = None

    def on_train_begin(self, args, state, control, model=None, **_):
        logged = [row["seconds"] for row in state.log_history if "seconds" in row]
        self.seconds = logged[-1] if logged else 0.0
        if state.global_step == 0:
            self._evaluate(state, model)
        self.bar = tqdm(
            total=state.max_steps, initial=state.global_step, desc=self.label
        )
        self.since = time.perf_counter()

    def on_step_end(self, args, state, control, model=None, **_):
        self.seconds += time.perf_counter() - self.since
        self.bar.update()
        self._evaluate(state, model)
        self.since = time.perf_counter()

    def on_log(self, args, state, control, logs=None, **_):
        state.log_history[-1]["samples"] = self.turns_until(state.global_step)
        state.log_history[-1]["seconds"] = self.seconds
        shown = {k: logs[k] for k in ("loss", "reward", "kl") if k in logs}
        self.bar.set_postfix(shown, refresh=False)

    def on_train_end(self, args, state, control, **_):
        self.bar.close()

    def _evaluate(self, state, model) -> None:
        step = state.global_step
        if self.evaluations is None or step not in self.evaluations.steps:
            return
        with undisturbed(model), torch.no_grad():
            figures = self.evaluations.function(causal_model(model), step)
        row = {name: float(value) for name, value in figures.items()}
        state.log_history.append({"step": step, "evaluation": row})


@contextmanager
def undisturbed(model: torch.nn.Module) -> Iterator[None]:
    """Put global generators and the model's mode back as they were."""
    training, python, numpy = model.training, random.getstate(), np.random.get_state()
    with torch.random.fork_rng():
        model.eval()
        try:
            yield
        finally:
            model.train(training)
            random.setstate(python)
            np.random.set_state(numpy)


@contextmanager
def checkpoint_folder(
    folder: Path | None, settings: TrainingSettings, resume: bool
) -> Iterator[Path]:
    """Where a trainer writes: `folder`, or a place that is gone at the end.

    Raises:
        ValueError: checkpoints are asked for and there is no folder.
    """
    if folder is not None:
        yield Path(folder)
        return
    if settings.save_every or resume:
        raise ValueError("checkpoints need a place: pass folder=...")
    with tempfile.TemporaryDirectory() as place:
        yield Path(place)


def run(
    trainer: Trainer,
    recorder: Recorder,
    folder: Path | None,
    resume: bool,
) -> TrainingRun:
    """Train to the end, from the last whole checkpoint below `folder` if asked to."""
    trainer.remove_callback(PrinterCallback)
    trainer.add_callback(recorder)
    checkpoint = last_checkpoint(folder) if resume and folder else None
    try:
        trainer.train(resume_from_checkpoint=checkpoint and str(checkpoint))
    finally:
        release(trainer.model)
    log = trainer.state.log_history
    return TrainingRun(trainer.model, history_frame(log), evaluation_frame(log))


def last_checkpoint(folder: Path) -> Path | None:
    """The furthest checkpoint that was written to its end, None if there is none.

    A trainer writes `trainer_state.json` last; a run killed earlier leaves a folder
    without it, or with half of it.
    """
    whole = {}
    for state in folder.glob("checkpoint-*/trainer_state.json"):
        try:
            whole[json.loads(state.read_text())["global_step"]] = state.parent
        except json.JSONDecodeError:
            continue
    return whole[max(whole)] if whole else None


def history_frame(log: list[dict[str, Any]]) -> pd.DataFrame:
    """The per-step rows of a trainer's log."""
    rows = [row for row in log if "grad_norm" in row]
    frame = pd.DataFrame(rows).set_index("step") if rows else pd.DataFrame()
    absent = [c for c in frame.columns if c.startswith("category/")]
    return frame.fillna(dict.fromkeys(absent, 0.0))


def evaluation_frame(log: list[dict[str, Any]]) -> pd.DataFrame:
    """The evaluations of a trainer's log."""
    rows = [{"step": r["step"], **r["evaluation"]} for r in log if "evaluation" in r]
    return pd.DataFrame(rows).set_index("step") if rows else pd.DataFrame()
