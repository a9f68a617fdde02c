"""Training sequences beside the rollouts of a batch, each next to its own rollout.

A batch of TRL has one row per rollout. A recovery turn is a further row: its prompt is
the rollout's, its completion the recorded context (masked out) and the response. Rows
are inserted so that every micro-batch holds its rollouts' own, equally many everywhere;
what is missing is filled with rows that carry no loss.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor

from pivotlab.training.trl_compat import TokenBatch


@dataclass(frozen=True)
class ExtraRow:
    """A completion of a rollout's prompt, with the mask of its trained tokens."""

    rollout: int
    completion: tuple[int, ...]
    mask: tuple[int, ...]


def widened(tokens: TokenBatch, extra: Sequence[ExtraRow], pad: int) -> TokenBatch:
    """The token batch with the extra rows below its own."""
    cut = tokens.input_ids.shape[1] - tokens.completion_width
    width = max(tokens.completion_width, *(len(row.completion) for row in extra))
    ids, mask = (
        _to_width(t, cut + width, value)
        for t, value in ((tokens.input_ids, pad), (tokens.attention_mask, 0))
    )
    own = torch.tensor([row.rollout for row in extra], device=ids.device)
    prompts, prompt_mask = ids[own, :cut], mask[own, :cut]
    completions = _stack([row.completion for row in extra], width, pad, ids)
    kept = _stack([[1] * len(row.completion) for row in extra], width, 0, mask)
    return TokenBatch(
        torch.cat([ids, torch.cat([prompts, completions], 1)]),
        torch.cat([mask, torch.cat([prompt_mask, kept], 1)]),
        width,
        tokens.micro_batch,
    )


def placement(owners: Sequence[int], rollouts: int, parts: int, room: int) -> list[int]:
    """Order of all rows: per micro-batch its rollouts, its extra rows, then fillers.

    Args:
        owners: the rollout of each extra row.
        rollouts: how many there are, a multiple of `parts`.
        parts: micro-batches.
        room: extra rows of every micro-batch, fillers included.

    Returns:
        Row numbers: 0.. rollouts, then extra rows; -1 - r is a filler with the prompt
        of rollout r.
    """
    size = rollouts // parts
    order: list[int] = []
    for first in range(0, rollouts, size):
        own = [
            rollouts + place
            for place, owner in enumerate(owners)
            if first <= owner < first + size
        ]
        fillers = [-1 - first] * (room - len(own))
        order += [*range(first, first + size), *own, *fillers]
    return order


def most_extra(owners: Sequence[int], rollouts: int, parts: int) -> int:
    """Extra rows of the micro-batch that has most of them."""
    size = rollouts // parts
    counts = [sum(owner // size == part for owner in owners) for part in range(parts)]
    return max(counts)


def with_extra_rows(
    batch: dict[str, Any],
    extra: Sequence[ExtraRow],
    scores: dict[str, Tensor],
    order: Sequence[int],
    pad: int,
) -> dict[str, Any]:
    """The batch with all rows in the given order.

    Args:
        batch: TRL's, one row per rollout; `advantages` may be "batch" or "batch time".
        extra: further rows.
        scores: log-probs of the extra rows, "extra time", under the batch's keys.
        order: see `placement`.
        pad: id of the padding token.
    """
    cut = batch["prompt_ids"].shape[1]
    tokens = TokenBatch(
        torch.cat([batch["prompt_ids"], batch["completion_ids"]], 1),
        torch.cat([batch["prompt_mask"], batch["completion_mask"]], 1),
        batch["completion_ids"].shape[1],
    )
    filled = [*extra, *_fillers(order, batch["completion_ids"])]
    fillers = iter(range(len(batch["prompt_ids"]) + len(extra), len(order)))
    places = [row if row >= 0 else next(fillers) for row in order]
    wide = widened(tokens, filled, pad)
    width, index = wide.completion_width, torch.tensor(places)
    own = _to_width(batch["tool_mask"], width, 1)
    trained = _stack([row.mask for row in filled], width, 0, own)
    out = {
        **batch,
        "prompt_ids": wide.input_ids[:, :cut],
        "prompt_mask": wide.attention_mask[:, :cut],
        "completion_ids": wide.input_ids[:, cut:],
        "completion_mask": wide.attention_mask[:, cut:],
        "tool_mask": torch.cat([own, trained]),
    }
    for key, values in scores.items():
        rows = torch.zeros(len(filled), width, device=values.device)
        rows[: len(extra), : values.shape[1]] = values
        out[key] = torch.cat([_to_width(batch[key], width, 0), rows])
    advantages = batch["advantages"]
    if advantages.dim() == 1:
        advantages = advantages[:, None].expand(-1, width)
    none = torch.zeros(len(filled), width, device=advantages.device)
    out["advantages"] = torch.cat([_to_width(advantages, width, 0), none])
    moved = ("prompt_ids", "prompt_mask", "completion_ids", "completion_mask")
    for key in (*moved, "tool_mask", "advantages", *scores):
        out[key] = out[key][index.to(out[key].device)]
    return out


def _fillers(order: Sequence[int], completions: Tensor) -> list[ExtraRow]:
    owners = [-1 - row for row in order if row < 0]
    return [ExtraRow(o, (int(completions[o, 0]),), (0,)) for o in owners]


def _to_width(rows: Tensor, width: int, value: int) -> Tensor:
    missing = width - rows.shape[1]
    return torch.nn.functional.pad(rows, (0, missing), value=value)


def _stack(
    rows: Sequence[Sequence[int]], width: int, value: int, like: Tensor
) -> Int[Tensor, "rows width"]:
    out = torch.full((len(rows), width), value, dtype=like.dtype, device=like.device)
    for place, row in enumerate(rows):
        out[place, : len(row)] = torch.tensor(row, dtype=like.dtype)
    return out
