"""Keys and values of many prompts, every shared token computed once.

The nodes of a `PrefixPlan` are computed level by level. The tokens of a level are
packed one after another into passes of even size, so that matrix products run at full
width whatever the lengths; only attention looks at one node at a time. Children start
from a copy of their parent (copying a token costs less than a hundredth of computing
it), so every leaf ends up with its whole path in one place.

Only for architectures that `Decoder.forward` runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from pivotlab.engines.decoder import Decoder
from pivotlab.engines.prefix_plan import PrefixPlan

#: Activations of one pass (tokens x hidden size): about what the CPU's cache holds.
PASS_SIZE = 2**18
#: Queries that attend together; keys after a block's last query are never touched.
QUERY_BLOCK = 128


@dataclass
class Block:
    """Prefixes of similar length; padding holds zeros and is never attended to.

    Attributes:
        keys: "layers rows kv_heads capacity head_dim".
        values: same shape.
    """

    keys: Tensor
    values: Tensor


@dataclass(frozen=True)
class Piece:
    """Tokens `start:stop` of a node, at index `at` of a pass, with causal masks."""

    node: int
    start: int
    stop: int
    at: int
    masks: tuple[Tensor, ...]


class PrefixStore:
    """The computed prompts of a plan.

    Attributes:
        place: block and row of every leaf.
        index: place of every prompt in the plan.
    """

    def __init__(self, decoder: Decoder, plan: PrefixPlan):
        self.decoder, self.plan = decoder, plan
        self.place: dict[int, tuple[Block, int]] = {}
        self.index = {prompt: i for i, prompt in enumerate(plan.prompts)}
        self._hidden: dict[tuple[int, int], Tensor] = {}
        self._wanted: dict[int, set[int]] = {}
        for source, prompt in zip(plan.source, plan.prompts, strict=True):
            self._wanted.setdefault(source, set()).add(len(prompt) - 1)
        for level in plan.levels():
            self._allocate(level)
            for pieces in self._passes(level):
                self._run(pieces)
            for parent in {plan.nodes[i].parent for i in level}:
                self.place.pop(parent, None)

    def logits(self, prompts: Sequence[int]) -> Float[Tensor, "prompts vocab"]:
        """Next-token logits of some prompts, given by their index in the plan."""
        plan = self.plan
        hidden = [
            self._hidden[plan.source[i], len(plan.prompts[i]) - 1] for i in prompts
        ]
        return self.decoder.logits(torch.stack(hidden))

    def _allocate(self, level: list[int]) -> None:
        nodes, decoder = self.plan.nodes, self.decoder
        like = {"dtype": decoder.model.dtype, "device": decoder.device}
        for group in stack_alike(self.plan, level):
            shape = (
                decoder.config.num_hidden_layers,
                len(group),
                decoder.kv_heads,
                max(len(nodes[i].ids) for i in group),
                decoder.head_dim,
            )
            block = Block(torch.zeros(shape, **like), torch.zeros(shape, **like))
            for row, index in enumerate(group):
                self.place[index] = block, row
                start = nodes[index].start
                if start:
                    parent, at = self.place[nodes[index].parent]
                    block.keys[:, row, :, :start] = parent.keys[:, at, :, :start]
                    block.values[:, row, :, :start] = parent.values[:, at, :, :start]

    def _passes(self, level: list[int]) -> Iterator[list[Piece]]:
        """The level's tokens, cut into passes of about `PASS_SIZE` activations."""
        size = max(1, PASS_SIZE // self.decoder.config.hidden_size)
        pieces, used = [], 0
        for index in level:
            start, end = self.plan.nodes[index].start, len(self.plan.nodes[index].ids)
            while start < end:
                stop = min(end, start + size - used)
                masks = tuple(self._masks(start, stop))
                pieces.append(Piece(index, start, stop, used, masks))
                used += stop - start
                start = stop
                if used == size:
                    yield pieces
                    pieces, used = [], 0
        if pieces:
            yield pieces

    def _masks(self, start: int, stop: int) -> Iterator[Tensor]:
        """Additive causal mask of every query block, heads of one key head stacked."""
        repeat = self.decoder.config.num_attention_heads // self.decoder.kv_heads
        device, dtype = self.decoder.device, self.decoder.model.dtype
        for first in range(start, stop, QUERY_BLOCK):
            keys = torch.arange(min(first + QUERY_BLOCK, stop), device=device)
            later = keys[None] > keys[first:, None]
            mask = torch.zeros(later.shape, dtype=dtype, device=device)
            yield mask.masked_fill_(later, -torch.inf).repeat(repeat, 1)

    def _run(self, pieces: list[Piece]) -> None:
        nodes, device = self.plan.nodes, self.decoder.device
        ids = [t for p in pieces for t in nodes[p.node].ids[p.start : p.stop]]
        positions = [t for p in pieces for t in range(p.start, p.stop)]

        def attend(layer: int, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
            mixed = torch.empty_like(queries)
            for piece in pieces:
                part = slice(piece.at, piece.at + piece.stop - piece.start)
                self._store(layer, piece, keys[part], values[part])
                mixed[part] = self._attend(layer, piece, queries[part])
            return mixed

        hidden = self.decoder.forward(
            torch.tensor(ids, device=device),
            torch.tensor(positions, device=device),
            attend,
        )
        for piece in pieces:
            for position in self._wanted.get(piece.node, ()):
                if piece.start <= position < piece.stop:
                    row = hidden[piece.at + position - piece.start]
                    self._hidden[piece.node, position] = row.clone()

    def _store(self, layer: int, piece: Piece, keys: Tensor, values: Tensor) -> None:
        block, row = self.place[piece.node]
        block.keys[layer, row, :, piece.start : piece.stop] = keys.transpose(0, 1)
        block.values[layer, row, :, piece.start : piece.stop] = values.transpose(0, 1)

    def _attend(
        self, layer: int, piece: Piece, queries: Float[Tensor, "tokens heads head_dim"]
    ) -> Float[Tensor, "tokens heads head_dim"]:
        block, row = self.place[piece.node]
        mixed = torch.empty_like(queries)
        for number, mask in enumerate(piece.masks):
            part = slice(number * QUERY_BLOCK, (number + 1) * QUERY_BLOCK)
            count, end = len(queries[part]), mask.shape[-1]
            keys = block.keys[layer, None, row, :, :end]
            values = block.values[layer, None, row, :, :end]
            # The query heads of one key head follow each other along the time axis.
            grouped = queries[part].view(count, keys.shape[1], -1, keys.shape[-1])
            out = F.scaled_dot_product_attention(
                grouped.permute(1, 2, 0, 3).flatten(1, 2)[None],
                keys,
                values,
                attn_mask=mask,
            )
            shaped = out.view(keys.shape[1], -1, count, keys.shape[-1])
            mixed[part] = shaped.permute(2, 0, 1, 3).flatten(1, 2)
        return mixed


def stack_alike(plan: PrefixPlan, level: list[int]) -> Iterator[list[int]]:
    """Groups of nodes to keep in one block.

    Leaves that are read at their end only, by equally many prompts, share a block while
    padding stays below a quarter: decoding attends to them in one call. All other nodes
    stand alone, because their prompts end at different depths.
    """
    readers: dict[int, list[int]] = {}
    for prompt, leaf in zip(plan.prompts, plan.leaf, strict=True):
        readers.setdefault(leaf, []).append(len(prompt))
    length = {i: len(plan.nodes[i].ids) for i in level}
    alike = [i for i in level if set(readers.get(i, ())) == {length[i]}]
    yield from ([i] for i in level if i not in set(alike))
    alike.sort(key=lambda i: (len(readers[i]), length[i]))
    group: list[int] = []
    for index in alike:
        if group:
            held = sum(length[i] for i in group) + length[index]
            uneven = len(readers[index]) != len(readers[group[0]])
            if uneven or (len(group) + 1) * length[index] > 1.25 * held:
                yield group
                group = []
        group.append(index)
    if group:
        yield group
