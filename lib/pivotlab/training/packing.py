"""Sequences that share beginnings, laid out so that every shared token is there once.

A group is one prompt followed by the tree of its completions: completions that begin
alike share those tokens too. Every token sees its ancestors alone and is placed at its
depth, so its hidden state is the one it has in its own sequence.

The tree is laid out in depth-first order, in which the descendants of token j are the
tokens j..ends[j]-1. So the whole attention rule is: i sees j iff j <= i < ends[j]. The
same rule packs several groups into one row and keeps padding to itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.attention.flex_attention import BlockMask, create_block_mask
from transformers import PreTrainedModel

from pivotlab.engines.local import evaluating

#: FlexAttention works on blocks of this many tokens; rows are padded to whole blocks.
BLOCK = 128

#: Largest mean difference of log-probs between packed and plain, by float type.
TOLERANCE = {torch.float32: 1e-4, torch.float16: 2e-2, torch.bfloat16: 5e-2}

Ids = tuple[int, ...]
#: What the sequences of a group have in common: the prompt, and their `apart` number.
Key = tuple[Ids, int]


@dataclass(frozen=True)
class CompletionTree:
    """The completions of one prompt as a tree, in depth-first order.

    Attributes:
        tokens: one token per node.
        parents: node before each node, -1 where that is the prompt's last token.
        depths: tokens between the prompt and the node.
        ends: the node's descendants, itself included, are nodes i..ends[i]-1.
        paths: for every completion the nodes of its tokens.
    """

    tokens: list[int]
    parents: list[int]
    depths: list[int]
    ends: list[int]
    paths: dict[Ids, list[int]]


def completion_tree(completions: Sequence[Ids]) -> CompletionTree:
    """Merge the common beginnings of completions.

    Example:
        The completions (7, 8) and (7, 9) make nodes 7, 8, 9 with parents -1, 0, 0.
    """
    tree = CompletionTree([], [], [], [], {})
    path: list[int] = []
    for completion in sorted(set(completions)):
        pairs = zip(path, completion, strict=False)
        kept = sum(1 for _ in takewhile(lambda p: tree.tokens[p[0]] == p[1], pairs))
        for node in path[kept:]:
            tree.ends[node] = len(tree.tokens)
        path = path[:kept]
        for token in completion[kept:]:
            tree.parents.append(path[-1] if path else -1)
            tree.depths.append(len(path))
            path.append(len(tree.tokens))
            tree.tokens.append(token)
            tree.ends.append(-1)
        tree.paths[completion] = list(path)
    for node in path:
        tree.ends[node] = len(tree.tokens)
    return tree


@dataclass(frozen=True)
class PackedBatch:
    """Groups laid out in rows.

    Attributes:
        input_ids: 0 on padding.
        position_ids: place of every token in its own sequence, from 0.
        ends: token j of a row is seen by the tokens i of it with j <= i < ends[j].
        sources: flat index row * time + column of the token that predicts each node.
        targets: the token of each tree node.
        nodes: tree node of every completion token, 0 on padding.
        mask: where `nodes` means something.
    """

    input_ids: Int[Tensor, "rows time"]
    position_ids: Int[Tensor, "rows time"]
    ends: Int[Tensor, "rows time"]
    sources: Int[Tensor, "nodes"]
    targets: Int[Tensor, "nodes"]
    nodes: Int[Tensor, "batch completion"]
    mask: Bool[Tensor, "batch completion"]

    def to(self, device: torch.device) -> PackedBatch:
        """The batch on a device."""
        return PackedBatch(**{k: v.to(device) for k, v in vars(self).items()})


def pack(
    sequences: Sequence[tuple[Ids, Ids]],
    width: int = 0,
    multiple: int = 1,
    apart: Sequence[int] = (),
) -> PackedBatch:
    """Lay (prompt, completion) pairs out as groups of equal prompts.

    Groups fill rows first-fit, longest first; a row is as long as the longest group.

    Args:
        sequences: in any order.
        width: columns of `nodes`, at least the longest completion.
        multiple: rows are rounded up to a multiple of this.
        apart: a number per sequence; those with different numbers share nothing even
            if their prompts are equal. Empty: all equal prompts share.

    Returns:
        The layout, on the CPU.

    Raises:
        ValueError: a prompt is empty, so nothing predicts its completion's first token.
    """
    numbers = apart or [0] * len(sequences)
    keys = [(prompt, n) for (prompt, _), n in zip(sequences, numbers, strict=True)]
    groups: dict[Key, list[Ids]] = {}
    for key, (_, completion) in zip(keys, sequences, strict=True):
        groups.setdefault(key, []).append(completion)
    if any(prompt == () for prompt, _ in groups):
        raise ValueError("a prompt has no tokens; every prompt needs at least one")
    trees = {key: completion_tree(group) for key, group in groups.items()}
    lengths = {key: len(key[0]) + len(trees[key].tokens) for key in groups}
    time = -(-max(lengths.values()) // multiple) * multiple
    places, rows = first_fit(lengths, time)
    layout = _Layout(rows, time)
    for key, tree in trees.items():
        layout.add(key, tree, *places[key])
    columns = max(width, *(len(completion) for _, completion in sequences))
    nodes = torch.zeros(len(sequences), columns, dtype=torch.long)
    mask = torch.zeros(len(sequences), columns, dtype=torch.bool)
    for row, (key, (_, completion)) in enumerate(zip(keys, sequences, strict=True)):
        path = trees[key].paths[completion]
        nodes[row, : len(path)] = torch.tensor(path) + layout.first_node[key]
        mask[row, : len(path)] = True
    return layout.batch(nodes, mask)


class _Layout:
    """Rows under construction, as flat lists."""

    def __init__(self, rows: int, time: int):
        self.time = time
        self.input_ids = [0] * (rows * time)
        self.position_ids = [0] * (rows * time)
        self.ends = list(range(1, time + 1)) * rows
        self.sources: list[int] = []
        self.targets: list[int] = []
        self.first_node: dict[Key, int] = {}

    def add(self, key: Key, tree: CompletionTree, row: int, column: int) -> None:
        """Write one group at a place of a row."""
        self.first_node[key] = len(self.targets)
        prompt, _ = key
        length = len(prompt)
        base = row * self.time + column
        stop = base + length + len(tree.tokens)
        self.input_ids[base:stop] = [*prompt, *tree.tokens]
        tree_positions = [length + depth for depth in tree.depths]
        self.position_ids[base:stop] = [*range(length), *tree_positions]
        tree_ends = [column + length + end for end in tree.ends]
        self.ends[base:stop] = [column + stop - base] * length + tree_ends
        self.sources += [base + length + parent for parent in tree.parents]
        self.targets += tree.tokens

    def batch(self, nodes: Tensor, mask: Tensor) -> PackedBatch:
        flat = (self.input_ids, self.position_ids, self.ends)
        grids = [torch.tensor(column).view(-1, self.time) for column in flat]
        # A batch whose completions are all masked still runs the model, on one dummy.
        sources = torch.tensor(self.sources or [0])
        targets = torch.tensor(self.targets or [0])
        return PackedBatch(*grids, sources, targets, nodes, mask)


def first_fit(
    lengths: dict[Any, int], time: int
) -> tuple[dict[Any, tuple[int, int]], int]:
    """(row, column) of every group, longest first, and the number of rows."""
    used: list[int] = []
    places = {}
    for key in sorted(lengths, key=lambda k: -lengths[k]):
        fitting = (r for r, u in enumerate(used) if u + lengths[key] <= time)
        row = next(fitting, len(used))
        if row == len(used):
            used.append(0)
        places[key] = (row, used[row])
        used[row] += lengths[key]
    return places, len(used)


def visible(ends: Int[Tensor, "rows time"]) -> Bool[Tensor, "rows time time"]:
    """[row, query, key]: which key each query sees, key <= query < ends[key]."""
    place = torch.arange(ends.shape[1], device=ends.device)
    causal = place[None, :] <= place[:, None]
    return causal & (place[:, None] < ends[:, None, :])


def attention_mask(
    ends: Int[Tensor, "rows time"], model: PreTrainedModel
) -> Float[Tensor, "rows 1 time time"] | BlockMask:
    """The rule in the form the model's attention takes.

    FlexAttention gets a block-sparse mask. Everything else gets an additive one of the
    model's float type: a boolean mask would be converted again in every layer.
    """
    rows, time = ends.shape
    if model.config._attn_implementation == "flex_attention":
        return create_block_mask(
            lambda row, head, query, key: (key <= query) & (query < ends[row, key]),
            rows,
            None,
            time,
            time,
            device=ends.device,
        )
    mask = torch.zeros(rows, 1, time, time, dtype=model.dtype, device=ends.device)
    return mask.masked_fill_(~visible(ends)[:, None], float("-inf"))


def row_multiple(model: PreTrainedModel) -> int:
    """What the lengths of packed rows must be a multiple of."""
    return BLOCK if model.config._attn_implementation == "flex_attention" else 1


def refusal(model: PreTrainedModel) -> str | None:
    """Why a model can't be run on packed rows; None if it can.

    Its configuration may rule it out. Otherwise two short groups are scored packed and
    one by one, which finds a model that ignores the mask or the positions.
    """
    config = model.config.get_text_config(decoder=True)
    if config._attn_implementation not in ("eager", "sdpa", "flex_attention"):
        return f"attention {config._attn_implementation!r} takes no mask of its own"
    window = getattr(config, "sliding_window", None)
    default = "sliding_attention" if window else "full_attention"
    kinds = set(getattr(config, "layer_types", None) or [default])
    if kinds != {"full_attention"}:
        return f"layers of kind {sorted(kinds - {'full_attention'})}"
    try:
        gap = _packed_gap(model, config.vocab_size)
    except (TypeError, ValueError, RuntimeError) as error:
        return f"its forward pass fails on packed rows: {error}"
    limit = TOLERANCE[model.dtype]
    return None if gap <= limit else f"packed log-probs differ by {gap:.1e} > {limit}"


@torch.no_grad()
def _packed_gap(model: PreTrainedModel, vocabulary: int) -> float:
    """Mean difference of log-probs, packed against plain, on made-up groups."""
    draw = torch.Generator().manual_seed(0)
    ids = torch.randint(vocabulary, (40,), generator=draw).tolist()
    first, second = tuple(ids[:17]), tuple(ids[17:26])
    endings = tuple(ids[26:33]), tuple(ids[33:36]), tuple(ids[36:40])
    sequences = [(first, endings[0]), (first, endings[1]), (second, endings[2])]
    packed = pack(sequences, multiple=row_multiple(model)).to(model.device)
    with evaluating(model):
        logits = model(
            input_ids=packed.input_ids,
            position_ids=packed.position_ids,
            attention_mask=attention_mask(packed.ends, model),
        ).logits.flatten(0, 1)[packed.sources]
        plain = [_plain_log_probs(model, *sequence) for sequence in sequences]
    together = _chosen(logits, packed.targets)
    rows = zip(plain, packed.nodes, packed.mask, strict=True)
    gaps = [(together[nodes[kept]] - alone).abs() for alone, nodes, kept in rows]
    return torch.cat(gaps).mean().item()


def _plain_log_probs(model: nn.Module, prompt: Ids, completion: Ids) -> Tensor:
    ids = torch.tensor([[*prompt, *completion]], device=model.device)
    mask = torch.ones_like(ids)
    logits = model(input_ids=ids, attention_mask=mask).logits[0, len(prompt) - 1 : -1]
    return _chosen(logits, ids[0, len(prompt) :])


def _chosen(logits: Tensor, targets: Tensor) -> Tensor:
    return logits.float().log_softmax(-1).gather(-1, targets[:, None])[:, 0]
