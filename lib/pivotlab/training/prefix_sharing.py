"""GRPO at the price of each token once: a group of completions shares one prompt.

Stock training repeats the prompt for each of the G completions of a group. Here a
group is one sequence, its prompt followed by the tree of its completions: completions
that begin alike share those tokens too. Every token sees its ancestors alone and is
placed at its depth, so its hidden state is the one it has in its own sequence, and the
log-probs and gradients are the stock ones up to rounding.

The tree is laid out in depth-first order, in which the descendants of token j are the
tokens j..end[j]-1. So the whole attention rule is: token i sees j iff j <= i < end[j].
The same rule packs several groups into one row and keeps padding to itself.

Only the log-prob hook of the trainer is replaced; the loss is TRL's own. A model that
does not accept such masks trains the stock way, with one warning and a counter.

Departures:
1. With dropout on, shared tokens share their dropout mask.
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

from pivotlab.engines.local import LocalSampler
from pivotlab.engines.noise import derive_seed
from pivotlab.engines.protocol import Sampler, Sampling
from pivotlab.training.trl_compat import (
    PivotTrainer,
    TokenBatch,
    causal_model,
    score_positions,
)

#: FlexAttention works on blocks of this many tokens; rows are padded to whole blocks.
BLOCK = 128

#: Largest mean difference of log-probs that a model may show on its first group.
TOLERANCE = {torch.float32: 1e-4, torch.float16: 2e-2, torch.bfloat16: 5e-2}


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
    paths: dict[tuple[int, ...], list[int]]


def completion_tree(completions: Sequence[tuple[int, ...]]) -> CompletionTree:
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
        sources: flat index of the token whose hidden state predicts each tree node.
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
        return PackedBatch(**{k: v.to(device) for k, v in vars(self).items()})


def pack(tokens: TokenBatch, multiple: int = 1) -> PackedBatch:
    """Lay a batch of prompt-completion rows out as shared-prefix groups.

    Rows with equal prompts form a group wherever they stand in the batch. Groups fill
    rows first-fit, longest first; a row is as long as the longest group, rounded up to
    `multiple`. The result is on the CPU.

    Raises:
        ValueError: a prompt is empty, so nothing predicts its completion's first token.
    """
    sequences = _split(tokens)
    groups: dict[tuple[int, ...], list[tuple[int, ...]]] = {}
    for prompt, completion in sequences:
        groups.setdefault(prompt, []).append(completion)
    if () in groups:
        raise ValueError("a prompt has no tokens; every prompt needs at least one")
    trees = {prompt: completion_tree(group) for prompt, group in groups.items()}
    lengths = {p: len(p) + len(trees[p].tokens) for p in groups}
    width = -(-max(lengths.values()) // multiple) * multiple
    places, rows = _first_fit(lengths, width)
    layout = _Layout(rows, width)
    for prompt, tree in trees.items():
        layout.add(prompt, tree, *places[prompt])
    shape = (len(sequences), tokens.completion_width)
    nodes, mask = torch.zeros(shape, dtype=torch.long), torch.zeros(shape).bool()
    for row, (prompt, completion) in enumerate(sequences):
        path = trees[prompt].paths[completion]
        nodes[row, : len(path)] = torch.tensor(path) + layout.first_node[prompt]
        mask[row, : len(path)] = True
    return layout.batch(nodes, mask)


class _Layout:
    """Rows under construction, as flat lists."""

    def __init__(self, rows: int, width: int):
        self.width = width
        self.input_ids = [0] * (rows * width)
        self.position_ids = [0] * (rows * width)
        self.ends = list(range(1, width + 1)) * rows
        self.sources: list[int] = []
        self.targets: list[int] = []
        self.first_node: dict[tuple[int, ...], int] = {}

    def add(self, prompt: tuple[int, ...], tree: CompletionTree, row: int, column: int):
        """Write one group at a place of a row."""
        self.first_node[prompt] = len(self.targets)
        length = len(prompt)
        base = row * self.width + column
        stop = base + length + len(tree.tokens)
        self.input_ids[base:stop] = [*prompt, *tree.tokens]
        self.position_ids[base:stop] = [
            *range(length),
            *(length + d for d in tree.depths),
        ]
        tree_ends = [column + length + end for end in tree.ends]
        self.ends[base:stop] = [column + stop - base] * length + tree_ends
        self.sources += [base + length + parent for parent in tree.parents]
        self.targets += tree.tokens

    def batch(self, nodes: Tensor, mask: Tensor) -> PackedBatch:
        flat = (self.input_ids, self.position_ids, self.ends)
        grids = [torch.tensor(column).view(-1, self.width) for column in flat]
        # A batch whose completions are all masked still runs the model, on one dummy.
        sources = torch.tensor(self.sources or [0])
        targets = torch.tensor(self.targets or [0])
        return PackedBatch(*grids, sources, targets, nodes, mask)


def _split(tokens: TokenBatch) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """(prompt, completion) of every row, without padding."""
    cut = tokens.input_ids.shape[1] - tokens.completion_width
    kept = tokens.attention_mask.bool()
    prompt_lengths = kept[:, :cut].sum(1).tolist()
    completion_lengths = kept[:, cut:].sum(1).tolist()
    ids = tokens.input_ids.tolist()
    return [
        (tuple(row[cut - prompt : cut]), tuple(row[cut : cut + completion]))
        for row, prompt, completion in zip(
            ids, prompt_lengths, completion_lengths, strict=True
        )
    ]


def _first_fit(
    lengths: dict[tuple[int, ...], int], width: int
) -> tuple[dict[tuple[int, ...], tuple[int, int]], int]:
    """(row, column) of every group, longest first, and the number of rows."""
    used: list[int] = []
    places = {}
    for prompt in sorted(lengths, key=lambda p: -lengths[p]):
        fitting = (r for r, u in enumerate(used) if u + lengths[prompt] <= width)
        row = next(fitting, len(used))
        if row == len(used):
            used.append(0)
        places[prompt] = (row, used[row])
        used[row] += lengths[prompt]
    return places, len(used)


def visible(ends: Int[Tensor, "rows time"]) -> Bool[Tensor, "rows query key"]:
    """Which key each query sees: key <= query < ends[key]."""
    place = torch.arange(ends.shape[1], device=ends.device)
    causal = place[None, :] <= place[:, None]
    return causal & (place[:, None] < ends[:, None, :])


def attention_mask(
    ends: Int[Tensor, "rows time"], implementation: str, dtype: torch.dtype
) -> Float[Tensor, "rows 1 query key"] | BlockMask:
    """The rule in the form the attention implementation takes.

    Args:
        ends: as in `PackedBatch`.
        implementation: "flex_attention" gets a block-sparse mask; every other gets an
            additive one (a boolean mask is converted again in every layer on a CPU).
        dtype: of the additive mask, the model's.
    """
    rows, time = ends.shape
    if implementation == "flex_attention":
        return create_block_mask(
            lambda row, head, query, key: (key <= query) & (query < ends[row, key]),
            rows,
            None,
            time,
            time,
            device=ends.device,
        )
    mask = torch.zeros(rows, 1, time, time, dtype=dtype, device=ends.device)
    return mask.masked_fill_(~visible(ends)[:, None], float("-inf"))


def shared_scores(
    model: nn.Module, tokens: TokenBatch
) -> tuple[Float[Tensor, "batch completion"], Tensor | None, float]:
    """Log-probs and entropies of all completions, every shared token computed once.

    Returns:
        Log-probs and entropies (None where the model's head has none), 0 on padding,
        and the share of the stock batch's tokens that was computed.
    """
    inner = causal_model(model)
    implementation = inner.config._attn_implementation
    packed = pack(tokens, BLOCK if implementation == "flex_attention" else 1)
    share = packed.input_ids.numel() / tokens.input_ids.numel()
    packed = packed.to(tokens.input_ids.device)
    inputs = {
        "input_ids": packed.input_ids,
        "position_ids": packed.position_ids,
        "attention_mask": attention_mask(packed.ends, implementation, inner.dtype),
    }
    scores = score_positions(model, inputs, packed.sources, packed.targets)
    log_probs, entropies = (
        None if s is None else torch.where(packed.mask, s[packed.nodes], 0.0)
        for s in scores
    )
    return log_probs, entropies, share


def refusal(model: nn.Module) -> str | None:
    """Why a model cannot share prefixes by its configuration; None if it can."""
    config = causal_model(model).config.get_text_config(decoder=True)
    if config._attn_implementation not in ("eager", "sdpa", "flex_attention"):
        return f"attention {config._attn_implementation!r} takes no mask of its own"
    window = getattr(config, "sliding_window", None)
    default = "sliding_attention" if window else "full_attention"
    kinds = set(getattr(config, "layer_types", None) or [default])
    if kinds != {"full_attention"}:
        return f"layers of kind {sorted(kinds - {'full_attention'})}"
    return None


class PrefixSharingTrainer(PivotTrainer):
    """GRPO whose policy and reference log-probs share the prompt of a group.

    The first batch's first group is scored both ways; a model that disagrees with
    itself (it ignores the mask or the positions) is trained the stock way from then on.
    Generation prefills each prompt once and goes on from its key-value cache.
    """

    def __init__(self, *args: Any, stop_ids: Sequence[int] = (), **kwargs: Any):
        """
        Args:
            stop_ids: tokens that end a completion beside those the model declares.
        """
        super().__init__(*args, **kwargs)
        self.eos_token_ids = sorted({*self.eos_token_ids, *stop_ids})
        self._refusal: str | None = None
        self._checked = False
        self._sampler: Sampler | None = None

    def generate_ids(self, prompt_ids: list[list[int]]) -> list[list[int]] | None:
        """Whole groups; sample j of group i follows from seed, step, i and j."""
        size = self.num_generations
        prompts = prompt_ids[::size]
        if prompt_ids != [prompt for prompt in prompts for _ in range(size)]:
            raise ValueError(f"a process must hold whole groups of {size} completions")
        first = self.accelerator.process_index * len(prompts)
        seeds = [
            derive_seed(self.args.seed, self.state.global_step, first + i)
            for i in range(len(prompts))
        ]
        sampling = Sampling(
            self.max_completion_length, self.temperature, tuple(self.eos_token_ids)
        )
        with self.generating() as model:
            sampler = self._shared_sampler(model)
            if sampler is None:
                return None
            groups = sampler.sample(prompts, size, sampling, seeds)
        return [list(sample.token_ids) for group in groups for sample in group]

    def _shared_sampler(self, model: nn.Module) -> Sampler | None:
        """A sampler on the live policy; None, noted, where only TRL can generate."""
        if self.is_fsdp_enabled or self.is_deepspeed_enabled:
            self.note_fallback("generation from sharded weights")
            return None
        if self._sampler is None:
            try:
                self._sampler = LocalSampler(causal_model(model))
            except ValueError as error:
                self.note_fallback(str(error))
        return self._sampler

    def token_scores(
        self, model: nn.Module, tokens: TokenBatch, with_entropy: bool
    ) -> tuple[Float[Tensor, "batch completion"], Tensor | None]:
        if not self._checked:
            self._refusal = refusal(model) or self._disagreement(model, tokens)
            self._checked = True
        if self._refusal:
            self.note_fallback(self._refusal)
            return super().token_scores(model, tokens, with_entropy)
        with self.accelerator.autocast():
            log_probs, entropies, share = shared_scores(model, tokens)
        if with_entropy:
            self.record("prefix_sharing/token_share", share)
        return log_probs, entropies

    @torch.no_grad()
    def _disagreement(self, model: nn.Module, tokens: TokenBatch) -> str | None:
        """Compare both ways on the first group; every process decides alike."""
        prompts = tokens.input_ids[:, : -tokens.completion_width]
        group = (prompts == prompts[:1]).all(1)
        # Without padding on the left: a model of absolute positions would count it.
        start = int(tokens.attention_mask[0].argmax())
        probe = TokenBatch(
            tokens.input_ids[group, start:],
            tokens.attention_mask[group, start:],
            tokens.completion_width,
            tokens.micro_batch,
        )
        stock, _ = super().token_scores(model, probe, False)
        try:
            with self.accelerator.autocast():
                shared, _, _ = shared_scores(model, probe)
            gap, why = (stock - shared).abs().mean(), "log-probs differ from stock ones"
        except (TypeError, ValueError, RuntimeError) as error:
            gap, why = stock.new_tensor(float("inf")), f"its forward fails: {error}"
        worst = self.accelerator.gather(gap[None]).max().item()
        limit = TOLERANCE[causal_model(model).dtype]
        return None if worst <= limit else f"{why} (mean {worst:.1e}, limit {limit})"
