"""Settings that every training method has, and the trainer's arguments from them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch


@dataclass(frozen=True)
class TrainingSettings:
    """What every method shares; all lengths are in optimizer steps.

    Attributes:
        steps: how many.
        learning_rate: constant after `warmup_steps` of linear warm-up (AdamW, no weight
            decay).
        warmup_steps: of the learning rate.
        gradient_accumulation: micro-batches of a step; the gradient stays the same.
        max_grad_norm: gradients are scaled down to this norm.
        seed: of the order of the data and of sampling.
        log_every: steps averaged into one row of the history.
        save_every: steps between checkpoints, 0 for none.
        trl: further fields of TRL's configuration, e.g. `{"bf16": True}`.
    """

    steps: int = 60
    learning_rate: float = 1e-4
    warmup_steps: int = 5
    gradient_accumulation: int = 1
    max_grad_norm: float = 1.0
    seed: int = 0
    log_every: int = 1
    save_every: int = 0
    trl: Mapping[str, Any] = field(default_factory=dict)


def trainer_fields(settings: TrainingSettings, folder: Path) -> dict[str, Any]:
    """Fields of `TrainingArguments`: quiet, local, float32 where there is no GPU."""
    return {
        "output_dir": str(folder),
        "max_steps": settings.steps,
        "learning_rate": settings.learning_rate,
        "lr_scheduler_type": "constant_with_warmup",
        "warmup_steps": settings.warmup_steps,
        "weight_decay": 0.0,
        "gradient_accumulation_steps": settings.gradient_accumulation,
        "max_grad_norm": settings.max_grad_norm,
        "seed": settings.seed,
        "logging_steps": settings.log_every,
        "save_strategy": "steps" if settings.save_every else "no",
        "save_steps": settings.save_every or settings.steps,
        "save_total_limit": 2,
        "report_to": "none",
        "disable_tqdm": True,
        "use_cpu": not torch.cuda.is_available(),
        "bf16": False,
        "gradient_checkpointing": False,
        **settings.trl,
    }


def rows_per_part(settings: TrainingSettings, name: str) -> int:
    """The field `name` of the settings divided by processes x micro-batches.

    Raises:
        ValueError: it does not divide, so that some part would get fewer rows.
    """
    parts = int(os.environ.get("WORLD_SIZE", "1")) * settings.gradient_accumulation
    whole = getattr(settings, name)
    if whole % parts:
        raise ValueError(
            f"{name}={whole} must be a multiple of processes x "
            f"gradient_accumulation = {parts}"
        )
    return whole // parts
