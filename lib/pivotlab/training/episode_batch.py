"""From signals to the tensors of a batch: advantages, recovery rows, divergences.

One row per rollout, then recovery rows; one advantage per token (PivotOPD Eqs. 5-6).
All terms share one denominator, the trained tokens of rollouts and recovery rows
together (Eq. 7), so a recovery row enlarges it even at weight 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from pivotlab.distillation.losses import Direction, divergence, token_advantages
from pivotlab.records import Rollout
from pivotlab.training.distilled import Distillation, Signals
from pivotlab.training.extra_rows import (
    ExtraRow,
    most_extra,
    placement,
    with_extra_rows,
)
from pivotlab.training.marks import Mark
from pivotlab.training.packing import Ids, pack, row_multiple
from pivotlab.training.trl_compat import causal_model, node_logits


@dataclass(frozen=True)
class Target:
    """A teacher's distributions at consecutive completion columns of a row.

    `weight` multiplies the divergence in the given direction, `log_probs` is
    "columns vocab".
    """

    start: int
    log_probs: Float[Tensor, "columns vocab"]
    direction: Direction
    weight: float


def extra_rows(rollouts: Sequence[Rollout], signals: Signals) -> list[ExtraRow]:
    """Recovery turns as rows: the rollout's prompt, masked context, the response."""
    rows = []
    for recovery in signals.recoveries:
        cut = rollouts[recovery.rollout].turns[0].span[0]
        context = recovery.prompt[cut:]
        mask = (0,) * len(context) + (1,) * len(recovery.response)
        rows.append(ExtraRow(recovery.rollout, (*context, *recovery.response), mask))
    return rows


def add_signals(
    batch: dict[str, Any],
    rollouts: Sequence[Rollout],
    signals: Signals,
    settings: Distillation,
    scores: dict[str, Tensor],
    *,
    parts: int,
    pad: int,
    everyone: Callable[[list], list],
) -> dict[str, Any]:
    """The batch with token advantages and recovery rows.

    Args:
        batch: TRL's, one row per rollout, `advantages` of shape "batch".
        rollouts: of this process, in order.
        signals: of the distiller.
        settings: weights and support.
        scores: log-probs of the recovery rows under the batch's keys.
        parts: micro-batches of a step.
        pad: id of the padding token.
        everyone: joins the lists of all processes.
    """
    extra = extra_rows(rollouts, signals)
    owners = [row.rollout for row in extra]
    room = max(everyone([most_extra(owners, len(rollouts), parts)]))
    order = placement(owners, len(rollouts), parts, room)
    group = batch["advantages"]
    if room:
        batch = with_extra_rows(batch, extra, scores, order, pad)
        trained = (batch["completion_mask"] * batch["tool_mask"]).sum().item()
        total = sum(everyone([trained]))
        batch["num_items_in_batch"] = batch["num_items_in_batch"].new_tensor(total)
    sampled = settings.support == "sampled"
    shape = (len(rollouts) + len(extra), batch["completion_ids"].shape[1])
    table = advantage_table(group, rollouts, signals, settings, shape, sampled)
    table = torch.cat([table, table.new_zeros(1, shape[1])])
    places = [row if row >= 0 else shape[0] for row in order]
    batch["advantages"] = table[torch.tensor(places, device=table.device)]
    if not sampled:
        rows = [*target_rows(rollouts, signals, settings), []]
        batch["targets"] = [rows[place] for place in places]
    return batch


def advantage_table(
    group: Float[Tensor, "rollouts"],
    rollouts: Sequence[Rollout],
    signals: Signals,
    settings: Distillation,
    shape: tuple[int, int],
    sampled: bool,
) -> Float[Tensor, "rows time"]:
    """Advantages of rollouts, then recovery rows, before they are put in order.

    Args:
        group: A_RL of every rollout.
        shape: rows and completion columns.
        sampled: False leaves prevention, recovery and `every` to the divergences.
    """
    here = {"device": group.device, "dtype": group.dtype}
    distill, lesson, every = (torch.zeros(shape, **here) for _ in range(3))
    cuts = [r.turns[0].span[0] for r in rollouts]
    marked = [(signals.lesson, lesson)]
    if sampled:
        marked += [(signals.prevention, distill), (signals.every, every)]
    for marks, table in marked:
        for mark in marks:
            start = mark.start - cuts[mark.rollout]
            values = torch.tensor(mark.values, **here)
            table[mark.rollout, start : start + len(values)] += values
    if sampled:
        for place, recovery in enumerate(signals.recoveries, start=len(rollouts)):
            start = len(recovery.prompt) - cuts[recovery.rollout]
            values = torch.tensor(recovery.distill, **here)
            distill[place, start : start + len(values)] = values
    is_recovery = torch.arange(shape[0], device=group.device) >= len(rollouts)
    padded = torch.nn.functional.pad(group, (0, shape[0] - len(group)))
    advantages = token_advantages(
        settings.w_rl * padded,
        distill,
        ~is_recovery,
        is_recovery,
        settings.weights,
        lesson,
    )
    return advantages + settings.w_every * every


def target_rows(
    rollouts: Sequence[Rollout], signals: Signals, settings: Distillation
) -> list[list[Target]]:
    """What the divergences of every row are taken to."""
    weights = settings.weights
    rows: list[list[Target]] = [[] for _ in rollouts]
    cuts = [r.turns[0].span[0] for r in rollouts]
    for marks, weight in (
        (signals.prevention, weights.w_prev),
        (signals.every, settings.w_every),
    ):
        for mark in marks:
            rows[mark.rollout] += _targets_of(mark, rollouts, cuts, weight)
    toward: Direction = "reverse" if settings.recovery == "student" else "forward"
    for recovery in signals.recoveries:
        start = len(recovery.prompt) - cuts[recovery.rollout]
        target = Target(start, recovery.distribution, toward, weights.w_rec)
        rows.append([target])
    return rows


def _targets_of(mark: Mark, rollouts, cuts, weight: float) -> list[Target]:
    """The mark's stretches of policy tokens; the environment's are left out."""
    mask = rollouts[mark.rollout].mask[mark.start : mark.start + len(mark.values)]
    targets, first = [], None
    for place, on in enumerate([*mask, 0]):
        if on and first is None:
            first = place
        elif not on and first is not None:
            start = mark.start - cuts[mark.rollout] + first
            own = mark.distribution[first:place]
            targets.append(Target(start, own, "reverse", weight))
            first = None
    return targets


def divergence_loss(
    model: nn.Module,
    sequences: Sequence[tuple[Ids, Ids]],
    targets: Sequence[Sequence[Target]],
    temperature: float,
    top_k: int | None,
) -> Float[Tensor, ""]:
    """Weighted sum of the divergences of all targets, in nats.

    Args:
        model: the policy; a forward pass with gradients of its own.
        sequences: (prompt, completion) of every row.
        targets: of every row.
        temperature: of the student's distributions, as of the teacher's.
        top_k: see `losses.divergence`.
    """
    own = [(s, found) for s, found in zip(sequences, targets, strict=True) if found]
    packed = pack([s for s, _ in own], multiple=row_multiple(causal_model(model)))
    packed = packed.to(next(model.parameters()).device)
    logits = node_logits(model, packed).float() / temperature
    total = logits.new_zeros(())
    for nodes, (_, found) in zip(packed.nodes, own, strict=True):
        for target in found:
            stop = target.start + len(target.log_probs)
            student = logits[nodes[target.start : stop]].log_softmax(-1)
            teacher = target.log_probs.to(student)
            gap = divergence(student[None], teacher[None], target.direction, top_k)
            total = total + target.weight * gap.sum()
    return total


def component_figures(
    rollouts: Sequence[Rollout],
    signals: Signals,
    settings: Distillation,
    everyone: Callable[[list], list],
) -> dict[str, float]:
    """Trained tokens and mean advantage of each component, over all processes.

    The mean is over the component's own tokens, weights and clip included, whatever
    they share the step's denominator with.
    """
    weights = settings.weights
    repaired = [
        weights.w_rec * max(-weights.delta, min(weights.delta, value))
        for recovery in signals.recoveries
        for value in recovery.distill
    ]
    parts = {
        "prevention": _weighted(rollouts, signals.prevention, weights.w_prev),
        "lesson": _weighted(rollouts, signals.lesson, weights.w_traj),
        "every": _weighted(rollouts, signals.every, settings.w_every),
        "recovery": repaired,
        "rollout": [0.0] * sum(sum(r.mask) for r in rollouts),
    }
    sums = {name: (len(values), sum(values)) for name, values in parts.items()}
    figures: dict[str, float] = {}
    for name in parts:
        pairs = [found[name] for found in everyone([sums])]
        tokens = sum(n for n, _ in pairs)
        figures[f"{name}/tokens"] = float(tokens)
        if name != "rollout":
            mean = sum(s for _, s in pairs) / tokens if tokens else 0.0
            figures[f"{name}/advantage"] = mean
    return figures


def _weighted(
    rollouts: Sequence[Rollout], marks: Sequence[Mark], weight: float
) -> list[float]:
    values = []
    for mark in marks:
        mask = rollouts[mark.rollout].mask[mark.start :]
        pairs = zip(mark.values, mask, strict=False)
        values += [weight * value for value, on in pairs if on]
    return values
