"""Supervised fine-tuning on the data of the other methods: the baseline of PivotRL.

Two forms of the same data. `turn_rows`: one row per candidate turn, its prefix as
prompt and loss on the demonstrated action alone; with the same schedule as the RL
methods they see the same turns at the same step. `conversation_rows`: one row per
trajectory, every token once, loss on all of its decisions; cheaper per turn, and what
SFT usually means. The rows of a step are packed (`packing`), and only tokens that carry
loss are projected to the vocabulary; the loss is TRL's.

Departures from the paper:
1. The sources print no SFT recipe; optimizer, schedule and batch are those of PivotRL.
2. The loss is the mean over the tokens of a step (TRL's), so long actions weigh more.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from peft import PeftConfig
from transformers import PreTrainedModel, PreTrainedTokenizerBase
from trl import SFTConfig, SFTTrainer

from pivotlab.records import Candidate, Trajectory
from pivotlab.rendering import Renderer
from pivotlab.training.history import (
    Evaluations,
    Recorder,
    TrainingRun,
    checkpoint_folder,
    run,
)
from pivotlab.training.packing import pack, refusal, row_multiple
from pivotlab.training.schedule import turn_schedule
from pivotlab.training.settings import (
    TrainingSettings,
    rows_per_part,
    trainer_fields,
)
from pivotlab.training.trl_compat import PackedSFTTrainer, release

#: Label of tokens that carry no loss.
IGNORED = -100


@dataclass(frozen=True)
class SupervisedRow:
    """One training sequence.

    Attributes:
        ids: its tokens.
        labels: the token where it carries loss, else `IGNORED`; same length.
        turns: assistant turns that carry loss.
    """

    ids: tuple[int, ...]
    labels: tuple[int, ...]
    turns: int = 1


@dataclass(frozen=True)
class SFTSettings(TrainingSettings):
    """Settings of one run.

    Attributes:
        rows_per_step: turns, or conversations, of a step.
    """

    rows_per_step: int = 8


def turn_rows(
    tokenizer: PreTrainedTokenizerBase, candidates: Sequence[Candidate]
) -> list[SupervisedRow]:
    """A row per candidate: loss on the demonstrated action given its prefix."""
    renderer = Renderer(tokenizer)
    rows = []
    for candidate in candidates:
        prefix, tools = candidate.prefix, candidate.tools
        prompt = renderer.prompt_ids(prefix, tools)
        action = renderer.completion_ids(prefix, candidate.expert, tools)
        labels = (IGNORED,) * len(prompt) + tuple(action)
        rows.append(SupervisedRow((*prompt, *action), labels))
    return rows


def conversation_rows(
    tokenizer: PreTrainedTokenizerBase, trajectories: Iterable[Trajectory]
) -> list[SupervisedRow]:
    """A row per trajectory: loss on every assistant turn that is a decision.

    Trajectories without a decision make no row.

    Raises:
        ValueError: the template rewrites earlier turns, so no one sequence holds them.
    """
    renderer = Renderer(tokenizer)
    rows = []
    for trajectory in trajectories:
        conversation = renderer.conversation(trajectory)
        if not all(conversation.append_only):
            raise ValueError(
                f"trajectory {trajectory.uid}: the chat template rewrites earlier "
                "turns; train on turn_rows instead"
            )
        places = zip(trajectory.assistant_turns(), conversation.spans, strict=True)
        spans = [span for index, span in places if index not in trajectory.skips]
        labels = [IGNORED] * len(conversation.ids)
        for start, stop in spans:
            labels[start:stop] = conversation.ids[start:stop]
        if spans:
            rows.append(SupervisedRow(conversation.ids, tuple(labels), len(spans)))
    return rows


def train_sft(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    rows: Sequence[SupervisedRow],
    settings: SFTSettings,
    *,
    evaluations: Evaluations | None = None,
    peft_config: PeftConfig | None = None,
    folder: Path | None = None,
    resume: bool = False,
) -> TrainingRun:
    """Train `model` in place on `rows`.

    Args:
        model: what to start from.
        tokenizer: its pad token fills short rows.
        rows: from `turn_rows` or `conversation_rows`.
        settings: see `SFTSettings`.
        evaluations: what to measure at which steps.
        peft_config: trains an adapter instead of the weights.
        folder: keeps checkpoints; needed if `settings.save_every` or `resume` is set.
        resume: continue from the last whole checkpoint in `folder`, if there is one.

    Raises:
        ValueError: no rows, a row without prompt, without loss or beyond the model's
            window, or settings that do not divide the batch evenly.
    """
    _check_rows(model, rows)
    per_step = settings.rows_per_step
    order = turn_schedule(len(rows), settings.steps, per_step, settings.seed)
    turns = [0, *accumulate(rows[i].turns for i in order)]
    columns = {
        "input_ids": [list(row.ids) for row in rows],
        "labels": [list(row.labels) for row in rows],
    }
    with checkpoint_folder(folder, settings, resume) as place:
        kind, collator = _trainer(release(model))
        trainer = kind(
            model,
            sft_config(settings, place),
            data_collator=collator,
            train_dataset=Dataset.from_dict(columns).select(order),
            processing_class=tokenizer,
            peft_config=peft_config,
        )
        recorder = Recorder(lambda step: turns[step * per_step], evaluations, "SFT")
        return run(trainer, recorder, folder, resume)


def packed_batch(
    rows: Sequence[Mapping[str, Sequence[int]]], multiple: int = 1
) -> dict[str, torch.Tensor]:
    """Rows of `input_ids` and `labels` as one batch of `PackedSFTTrainer`."""
    starts = [next(i for i, t in enumerate(r["labels"]) if t != IGNORED) for r in rows]
    pairs = list(zip(rows, starts, strict=True))
    packed = pack(
        [(tuple(r["input_ids"][:s]), tuple(r["input_ids"][s:])) for r, s in pairs],
        multiple=multiple,
    )
    trained = torch.zeros_like(packed.mask)
    for number, (row, start) in enumerate(pairs):
        labels = torch.tensor(row["labels"][start:])
        trained[number, : len(labels)] = labels != IGNORED
    nodes = packed.nodes[trained]
    return {
        "input_ids": packed.input_ids,
        "position_ids": packed.position_ids,
        "ends": packed.ends,
        "sources": packed.sources[nodes],
        "labels": packed.targets[nodes][None],
        "shift_labels": packed.targets[nodes][None],
    }


def _trainer(model: PreTrainedModel) -> tuple[type[SFTTrainer], Any]:
    """Trainer and collator: packed rows, or the stock ones where the model refuses."""
    reason = refusal(model)
    if reason is None:
        return PackedSFTTrainer, partial(packed_batch, multiple=row_multiple(model))
    warnings.warn(f"packing is off: {reason}", stacklevel=2)
    return SFTTrainer, None


def sft_config(settings: SFTSettings, folder: Path) -> SFTConfig:
    """TRL's configuration of a run; the rows are tokens already and in order.

    Raises:
        ValueError: the step's rows don't divide by processes x micro-batches.
    """
    fields = {
        "per_device_train_batch_size": rows_per_part(settings, "rows_per_step"),
        "dataset_kwargs": {"skip_prepare_dataset": True},
        "train_sampling_strategy": "sequential",
        "max_length": None,
    }
    return SFTConfig(**{**fields, **trainer_fields(settings, folder)})


def _check_rows(model: PreTrainedModel, rows: Sequence[SupervisedRow]) -> None:
    config = model.config.get_text_config(decoder=True)
    window = getattr(config, "max_position_embeddings", None)
    for number, row in enumerate(rows):
        if window and len(row.ids) > window:
            raise ValueError(
                f"row {number} of {len(row.ids)} tokens exceeds the model's window of "
                f"{window}; leave such turns out when you build candidates"
            )
        trained = [i for i, label in enumerate(row.labels) if label != IGNORED]
        if not trained or trained[0] == 0:
            raise ValueError(
                f"row {number}: a row needs a prompt and then a token with loss; its "
                f"first token with loss is {trained[0] if trained else None}"
            )
