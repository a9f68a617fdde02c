"""A published method's signals as tensors of a batch: advantages and a token loss.

Rows stay TRL's, one per rollout; columns are its completion tokens. Every term shares
the step's one token mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from pivotlab.distillation.skill_bank import situation
from pivotlab.distillation.step_view import StepView
from pivotlab.records import Rollout
from pivotlab.training.distilled import Distillation, Signals
from pivotlab.training.episode_batch import target_rows
from pivotlab.training.marks import Mark


def step_view(
    group: Float[Tensor, "rollouts"],
    rollouts: Sequence[Rollout],
    signals: Signals,
    width: int,
    *,
    group_size: int,
    step: int = 0,
    steps: int = 1,
) -> StepView:
    """What a method's rule looks at.

    Args:
        group: A of every rollout.
        rollouts: of this process, whole groups in order.
        signals: what the distiller read.
        width: completion columns.
        group_size: rollouts per task.
        step: optimizer steps so far.
        steps: of the run.
    """
    rewards = torch.tensor([r.reward for r in rollouts]).to(group)
    anchors = [tuple(situation(r, t) for t in range(len(r.turns))) for r in rollouts]
    lesson = mark_table(signals.lesson, rollouts, width).to(group)
    return StepView(
        group,
        turn_table(rollouts, width).to(group.device),
        mark_table(signals.every, rollouts, width).to(group),
        lesson if signals.lesson else None,
        rewards,
        group_size,
        tuple(anchors),
        tuple(map(tuple, signals.verdicts)),
        step,
        steps,
        tuple(tuple(turn.snapshot for turn in r.turns) for r in rollouts),
    )


def turn_table(
    rollouts: Sequence[Rollout], width: int
) -> Int[Tensor, "rollouts width"]:
    """Turn of every completion token the policy wrote, -1 elsewhere."""
    table = torch.full((len(rollouts), width), -1)
    for row, rollout in enumerate(rollouts):
        cut = rollout.turns[0].span[0]
        for number, turn in enumerate(rollout.turns):
            if not turn.forced:
                table[row, turn.span[0] - cut : turn.span[1] - cut] = number
    return table


def mark_table(
    marks: Sequence[Mark], rollouts: Sequence[Rollout], width: int
) -> Float[Tensor, "rollouts width"]:
    """The marks' values at their completion columns, 0 elsewhere."""
    table = torch.zeros(len(rollouts), width)
    for mark in marks:
        start = mark.start - rollouts[mark.rollout].turns[0].span[0]
        table[mark.rollout, start : start + len(mark.values)] += torch.tensor(
            mark.values
        )
    return table


def asked_table(
    marks: Sequence[Mark], rollouts: Sequence[Rollout], width: int
) -> Float[Tensor, "rollouts width"]:
    """1 where a teacher said something about a token of the policy, 0 elsewhere."""
    ones = [replace(mark, values=(1.0,) * len(mark.values)) for mark in marks]
    said = mark_table(ones, rollouts, width).clamp(max=1.0)
    return said * (turn_table(rollouts, width) >= 0)


def add_method(
    batch: dict[str, Any],
    rollouts: Sequence[Rollout],
    signals: Signals,
    settings: Distillation,
    **place: int,
) -> dict[str, Any]:
    """The batch with the method's token advantages, and what its losses need.

    Args:
        batch: TRL's, one row per rollout, `advantages` of shape "batch".
        rollouts: of this process, in order.
        signals: what the distiller read.
        settings: with a method.
        place: `group_size`, `step` and `steps`, see `step_view`.
    """
    width, group = batch["completion_ids"].shape[1], batch["advantages"]
    view = step_view(group, rollouts, signals, width, **place)
    batch["advantages"] = settings.method.advantages(view)
    if settings.method.auxiliary is not None:
        batch["teacher_gap"] = view.gap
        asked = asked_table(signals.every, rollouts, width)
        batch["teacher_asked"] = asked.to(view.gap)
    if settings.support != "sampled":
        batch["targets"] = target_rows(rollouts, signals, settings)
    return batch


def auxiliary_loss(
    settings: Distillation,
    inputs: dict[str, Any],
    log_probs: Float[Tensor, "batch completion"],
) -> Float[Tensor, ""]:
    """Sum of the method's token loss over the tokens its teacher was asked about.

    The teacher's log-prob is the rollout policy's plus the gap; with one optimizer step
    a batch the rollout policy is the student itself, without gradient.
    """
    old = inputs.get("old_per_token_logps", log_probs).detach()
    teacher = old + inputs["teacher_gap"]
    losses = settings.method.token_loss(log_probs, teacher, old)
    return (losses * inputs["teacher_asked"]).sum()
