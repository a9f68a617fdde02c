"""Many continuations of few prefixes, without a copy of any prefix.

Attention over the stored prefix (read in place, all samples of a prefix as one matrix
product) and attention over a sample's own new tokens are computed apart and joined by
their log-sum-exps, which is exact:

    softmax([a, b]) [V_a; V_b] = w o_a + (1 - w) o_b,   w = sigmoid(lse_a - lse_b).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import torch
from jaxtyping import Float, Int
from torch import Tensor

from pivotlab.engines.prefix_store import Block, PrefixStore

#: Wasted multiply-adds that cost less than one more attention call.
CHEAP = 10**6


@dataclass(frozen=True)
class Reader:
    """Batch rows that read the first `length` keys of one row of a block."""

    block: Block
    row: int
    length: int
    samples: range


@dataclass(frozen=True)
class Unit:
    """Samples that attend to neighbouring rows of a block in one call.

    Attributes:
        keys: "layers rows kv_heads length head_dim", a view of the block.
        values: same.
        samples: batch rows, padded with repeats where a row has fewer.
        real: which places of `samples` are no padding, None where all are.
        mask: additive "rows 1 queries length", None where every sample reads all.
    """

    keys: Tensor
    values: Tensor
    samples: Int[Tensor, "rows samples"]
    real: Tensor | None
    mask: Tensor | None


class SharedDecode:
    """Continuations of stored prompts, one batch row per sample."""

    def __init__(self, store: PrefixStore, prompts: Sequence[int], n: int):
        """
        Args:
            store: the computed prefixes.
            prompts: indices into the store's plan, sorted by `decode_order`.
            n: samples per prompt; batch row i * n + j is sample j of `prompts[i]`.
        """
        self.store, self.decoder = store, store.decoder
        self.owner = [p for p in prompts for _ in range(n)]
        self.prompts, self.n = prompts, n
        self.length = 0
        self.keys = self._room(len(self.owner), 16)
        self.values = self._room(len(self.owner), 16)
        self._arrange()

    def first_logits(self) -> Float[Tensor, "batch vocab"]:
        """Logits of every sample's first token."""
        return self.store.logits(self.prompts).repeat_interleave(self.n, 0)

    def step(self, tokens: Int[Tensor, "batch"]) -> Float[Tensor, "batch vocab"]:
        """Append one token to every sample; the next-token logits."""
        if self.length == self.keys.shape[3]:
            self.keys = self._moved(self.keys, slice(None), 2 * self.length)
            self.values = self._moved(self.values, slice(None), 2 * self.length)
        self.length += 1
        positions = self.prefix_lengths + (self.length - 1)
        return self.decoder.logits(
            self.decoder.forward(tokens, positions, self._attend)
        )

    def keep(self, rows: Int[Tensor, "kept"]) -> None:
        """Go on with some samples only; `rows` ascends."""
        capacity = self.keys.shape[3]
        self.keys = self._moved(self.keys, rows, capacity)
        self.values = self._moved(self.values, rows, capacity)
        self.owner = [self.owner[i] for i in rows.tolist()]
        self._arrange()

    def _room(self, batch: int, capacity: int) -> Tensor:
        decoder = self.decoder
        shape = (
            decoder.config.num_hidden_layers,
            batch,
            decoder.kv_heads,
            capacity,
            decoder.head_dim,
        )
        return torch.empty(shape, dtype=decoder.model.dtype, device=decoder.device)

    def _moved(self, held: Tensor, rows: Tensor | slice, capacity: int) -> Tensor:
        kept = held[:, rows, :, : self.length]
        moved = self._room(kept.shape[1], capacity)
        moved[:, :, :, : self.length] = kept
        return moved

    def _arrange(self) -> None:
        plan, device = self.store.plan, self.decoder.device
        lengths = [len(plan.prompts[p]) for p in self.owner]
        self.prefix_lengths = torch.tensor(lengths, device=device)
        self.units = list(self._units())

    def _units(self) -> Iterator[Unit]:
        readers = list(self._readers())
        per_key = self.decoder.config.num_attention_heads * self.decoder.head_dim
        for _, group in groupby(readers, key=lambda r: id(r.block)):
            pending: list[Reader] = []
            for reader in group:
                if pending and _waste([*pending, reader], per_key):
                    yield self._unit(pending)
                    pending = []
                pending.append(reader)
            yield self._unit(pending)

    def _readers(self) -> Iterator[Reader]:
        plan, at = self.store.plan, 0
        for prompt, rows in groupby(self.owner):
            count = len(list(rows))
            block, row = self.store.place[plan.leaf[prompt]]
            length = len(plan.prompts[prompt])
            yield Reader(block, row, length, range(at, at + count))
            at += count

    def _unit(self, readers: list[Reader]) -> Unit:
        rows = _by_row(readers)
        width, length = max(map(len, rows)), max(r.length for r in readers)
        fill = (readers[0].samples[0], length)
        padded = torch.tensor([r + [fill] * (width - len(r)) for r in rows])
        samples, seen = padded.to(self.decoder.device).unbind(-1)
        counts = torch.tensor([[len(r)] for r in rows])
        real = (torch.arange(width) < counts).flatten().to(self.decoder.device)
        span = slice(readers[0].row, readers[-1].row + 1)
        block = readers[0].block
        return Unit(
            block.keys[:, span, :, :length],
            block.values[:, span, :, :length],
            samples,
            None if real.all() else real,
            self._mask(seen, length),
        )

    def _mask(self, seen: Int[Tensor, "rows samples"], length: int) -> Tensor | None:
        if (seen == length).all():
            return None
        repeat = self.decoder.config.num_attention_heads // self.decoder.kv_heads
        beyond = torch.arange(length, device=seen.device) >= seen[..., None]
        like = {"dtype": self.decoder.model.dtype, "device": seen.device}
        mask = torch.zeros(beyond.shape, **like).masked_fill_(beyond, -torch.inf)
        return mask.repeat_interleave(repeat, 1)[:, None]

    def _attend(
        self, layer: int, queries: Tensor, keys: Tensor, values: Tensor
    ) -> Float[Tensor, "batch heads head_dim"]:
        self.keys[layer, :, :, self.length - 1] = keys
        self.values[layer, :, :, self.length - 1] = values
        mixed = torch.empty_like(queries)
        lse = queries.new_empty(queries.shape[:2], dtype=torch.float32)
        for unit in self.units:
            self._attend_prefix(unit, layer, queries, mixed, lse)
        own, own_lse = self._attend_own(layer, queries)
        weight = torch.sigmoid(lse - own_lse).to(mixed.dtype)
        return torch.lerp(own, mixed, weight[..., None])

    def _attend_prefix(
        self, unit: Unit, layer: int, queries: Tensor, mixed: Tensor, lse: Tensor
    ) -> None:
        rows, width = unit.samples.shape
        kv_heads, head_dim = unit.keys.shape[2], unit.keys.shape[4]
        index = unit.samples.flatten()
        grouped = queries[index].view(rows, width, kv_heads, -1, head_dim)
        out, out_lse = attention_with_lse(
            grouped.transpose(1, 2).flatten(2, 3),
            unit.keys[layer],
            unit.values[layer],
            unit.mask,
        )
        out = out.view(rows, kv_heads, width, -1, head_dim).transpose(1, 2)
        out_lse = out_lse.view(rows, kv_heads, width, -1).transpose(1, 2)
        out, out_lse = out.flatten(2, 3).flatten(0, 1), out_lse.flatten(2).flatten(0, 1)
        if unit.real is not None:
            index, out, out_lse = index[unit.real], out[unit.real], out_lse[unit.real]
        mixed[index] = out
        lse[index] = out_lse

    def _attend_own(self, layer: int, queries: Tensor) -> tuple[Tensor, Tensor]:
        keys = self.keys[layer, :, :, : self.length]
        values = self.values[layer, :, :, : self.length]
        batch, kv_heads, _, head_dim = keys.shape
        grouped = queries.view(batch, kv_heads, -1, head_dim)
        out, lse = attention_by_products(grouped, keys, values, None)
        return out.flatten(1, 2), lse.flatten(1, 2)


def decode_order(store: PrefixStore, prompts: Sequence[int]) -> list[int]:
    """Positions in `prompts`, so ordered that readers of the same keys are adjacent."""
    number: dict[int, int] = {}
    for block, _ in store.place.values():
        number.setdefault(id(block), len(number))

    def key(position: int) -> tuple[int, int, int, int]:
        prompt = prompts[position]
        block, row = store.place[store.plan.leaf[prompt]]
        return number[id(block)], row, len(store.plan.prompts[prompt]), prompt

    return sorted(range(len(prompts)), key=key)


def attention_with_lse(
    queries: Float[Tensor, "rows heads queries head_dim"],
    keys: Float[Tensor, "rows heads keys head_dim"],
    values: Float[Tensor, "rows heads keys head_dim"],
    mask: Float[Tensor, "rows 1 queries keys"] | None,
) -> tuple[Tensor, Tensor]:
    """Scaled dot-product attention and the log-sum-exp of its scores.

    Returns:
        Outputs of the shape of `queries`; log-sum-exps "rows heads queries", float32.
    """
    if queries.device.type != "cpu":
        return attention_by_products(queries, keys, values, mask)
    kernel = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
    return kernel(queries, keys, values, 0.0, False, attn_mask=mask)


def attention_by_products(
    queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None
) -> tuple[Tensor, Tensor]:
    """`attention_with_lse` from matrix products; quicker where keys are few."""
    scores = (queries * queries.shape[-1] ** -0.5) @ keys.transpose(-1, -2)
    scores = scores.float() if mask is None else scores.float() + mask
    return scores.softmax(-1).to(values.dtype) @ values, scores.logsumexp(-1)


def _by_row(readers: list[Reader]) -> list[list[tuple[int, int]]]:
    """For every block row from first to last: (batch row, keys read) of its samples."""
    rows = [[] for _ in range(readers[0].row, readers[-1].row + 1)]
    for reader in readers:
        held = rows[reader.row - readers[0].row]
        held += [(sample, reader.length) for sample in reader.samples]
    return rows


def _waste(readers: list[Reader], per_key: int) -> bool:
    """Whether one call for all readers computes too much that nobody reads."""
    useful = sum(len(r.samples) * r.length for r in readers)
    widths = [sum(len(r.samples) for r in g) for _, g in groupby(readers, _row)]
    rows = readers[-1].row - readers[0].row + 1
    computed = rows * max(widths) * max(r.length for r in readers)
    wasted = computed - useful
    return wasted > 0.25 * useful and wasted * per_key > CHEAP * len(readers)


def _row(reader: Reader) -> int:
    return reader.row
