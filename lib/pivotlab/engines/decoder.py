"""One lean forward pass with a key-value cache, for everything that samples or scores.

Rows of the cache are sequences of different lengths, all left-aligned. A pass takes new
tokens for any subset of rows, packs them without padding through every linear layer and
pads only inside attention, so ragged batches waste no matrix product. How the packed
queries meet the cached keys is the `attend` argument of `Decoder.forward`: `KVCache`
gives the plain one, and a sampler that shares prefixes between rows can pass its own.

Llama, Mistral, Qwen2 and Qwen3 models run through their own modules directly. Any other
decoder runs its own `forward` on the same cache, with explicit positions and mask.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn
from transformers import PreTrainedModel

#: Architectures whose blocks are: norm, attention with RoPE, norm, gated MLP.
LEAN_TYPES = frozenset({"llama", "mistral", "qwen2", "qwen3"})

#: (layer, queries, keys, values) -> mixed; all of shape "tokens heads head_dim"
Attend = Callable[[int, Tensor, Tensor, Tensor], Tensor]


@dataclass
class KVCache:
    """Keys and values of `rows` sequences.

    Attributes:
        keys: one tensor a layer, "rows kv_heads capacity head_dim"; places beyond a
            row's length hold finite leftovers and are never attended to.
        values: same shapes.
        lengths: tokens held by each row, on the CPU.
    """

    keys: list[Tensor]
    values: list[Tensor]
    lengths: Int[Tensor, "rows"]

    @property
    def rows(self) -> int:
        return len(self.lengths)

    @property
    def capacity(self) -> int:
        return self.keys[0].shape[2]

    def select(
        self, rows: Sequence[int], lengths: Sequence[int] | None = None
    ) -> KVCache:
        """A new cache with copies of `rows`, in that order; repeats fork a row.

        Args:
            rows: indices of rows to keep, repeats allowed.
            lengths: cut each copy to this length, e.g. to a turn's start.

        Raises:
            ValueError: a length is longer than what its row holds.
        """
        index = torch.as_tensor(rows, dtype=torch.long)
        held = self.lengths[index]
        kept = held.clone() if lengths is None else torch.as_tensor(lengths)
        if (kept > held).any():
            raise ValueError(f"cannot cut rows of {held.tolist()} to {kept.tolist()}")
        width = int(kept.max()) if len(kept) else 0
        place = index.to(self.keys[0].device)
        return KVCache(
            [k[:, :, :width].index_select(0, place) for k in self.keys],
            [v[:, :, :width].index_select(0, place) for v in self.values],
            kept,
        )

    def fork(self, copies: int) -> KVCache:
        """Every row `copies` times, copies of one row next to each other."""
        return self.select([r for r in range(self.rows) for _ in range(copies)])

    def join(self, other: KVCache) -> KVCache:
        """A new cache with the rows of this one, then those of `other`."""
        room = max(self.capacity, other.capacity)

        def stack(above: Tensor, below: Tensor) -> Tensor:
            both = (F.pad(t, (0, 0, 0, room - t.shape[2])) for t in (above, below))
            return torch.cat(list(both))

        return KVCache(
            [stack(a, b) for a, b in zip(self.keys, other.keys, strict=True)],
            [stack(a, b) for a, b in zip(self.values, other.values, strict=True)],
            torch.cat([self.lengths, other.lengths]),
        )

    def reserve(self, capacity: int) -> None:
        """Make room for `capacity` tokens a row, growing by half at least."""
        if capacity <= self.capacity:
            return
        room = max(capacity, self.capacity * 3 // 2) - self.capacity
        self.keys = [F.pad(k, (0, 0, 0, room)) for k in self.keys]
        self.values = [F.pad(v, (0, 0, 0, room)) for v in self.values]


@dataclass
class Pass:
    """Where the packed tokens of one forward pass belong.

    Attributes:
        rows: cache row of every token.
        positions: position of every token within its row, from 0.
        slots: index of every token's row among the rows that attention sees.
        offsets: index of every token among its row's new tokens.
        gathered: cache rows to copy out for attention, or None to attend over all rows
            in place (copying costs about three times the reading).
        shape: (attention rows, most new tokens of a row, most tokens of a row).
        mask: additive, "slots 1 queries keys"; None where every row starts empty.
    """

    rows: Int[Tensor, "tokens"]
    positions: Int[Tensor, "tokens"]
    slots: Int[Tensor, "tokens"]
    offsets: Int[Tensor, "tokens"]
    gathered: Int[Tensor, "slots"] | None
    shape: tuple[int, int, int]
    mask: Float[Tensor, "slots 1 queries keys"] | None


class Decoder:
    """Cached forward passes of a causal language model, without gradients.

    The model's own modules and live weights are used, so a decoder built once follows
    training. Logits are float32.
    """

    def __init__(self, model: PreTrainedModel):
        """
        Raises:
            ValueError: the model keeps state other than keys and values, or attends
                through a sliding window.
        """
        self.model = model
        self.config = model.config.get_text_config(decoder=True)
        window = getattr(self.config, "sliding_window", None)
        default = "sliding_attention" if window else "full_attention"
        kinds = set(getattr(self.config, "layer_types", None) or [default])
        if kinds != {"full_attention"}:
            raise ValueError(
                f"model type {self.config.model_type!r} has layers of kind "
                f"{sorted(kinds - {'full_attention'})}, which no key-value cache of "
                "full attention can hold; choose a full-attention model"
            )
        self.lean = self.config.model_type in LEAN_TYPES
        heads = self.config.num_attention_heads
        self.kv_heads = getattr(self.config, "num_key_value_heads", None) or heads
        self.head_dim = (
            getattr(self.config, "head_dim", None) or self.config.hidden_size // heads
        )

    @property
    def device(self) -> torch.device:
        return self.model.device

    def cache(self, rows: int, capacity: int = 0) -> KVCache:
        """An empty cache; it grows by itself beyond `capacity` tokens a row."""
        shape = (rows, self.kv_heads, capacity, self.head_dim)
        layers = self.config.num_hidden_layers
        like = {"dtype": self.model.dtype, "device": self.device}
        return KVCache(
            [torch.zeros(shape, **like) for _ in range(layers)],
            [torch.zeros(shape, **like) for _ in range(layers)],
            torch.zeros(rows, dtype=torch.long),
        )

    def prefill(
        self, sequences: Sequence[Sequence[int]], *, all_logits: bool = False
    ) -> tuple[KVCache, Float[Tensor, "out vocab"]]:
        """A new cache holding `sequences`, and the logits as `extend` returns them."""
        cache = self.cache(len(sequences), max(map(len, sequences), default=0))
        return cache, self.extend(cache, sequences, all_logits=all_logits)

    @torch.no_grad()
    def extend(
        self,
        cache: KVCache,
        tokens: Sequence[Sequence[int]],
        rows: Sequence[int] | None = None,
        *,
        all_logits: bool = False,
    ) -> Float[Tensor, "out vocab"]:
        """Append ragged token lists to rows of the cache.

        Args:
            cache: changed in place.
            tokens: one non-empty list per row.
            rows: cache row of every list, each at most once; all rows in order if None.
            all_logits: logits after every new token instead of after each row's last.

        Returns:
            Next-token logits: one line per list, or per token, lists in order.

        Raises:
            ValueError: a list is empty, or there is not one list per row.
        """
        counts = [len(row) for row in tokens]
        number = cache.rows if rows is None else len(rows)
        if len(counts) != number or 0 in counts:
            raise ValueError(
                f"{number} rows need as many non-empty token lists, got {counts}"
            )
        flat = torch.tensor([t for row in tokens for t in row], device=self.device)
        plan = self._plan(cache, counts, rows)
        ends = torch.tensor(list(accumulate(counts)), device=self.device) - 1
        return self._run(cache, flat, plan, None if all_logits else ends)

    @torch.no_grad()
    def step(
        self,
        cache: KVCache,
        tokens: Int[Tensor, "n"],
        rows: Sequence[int] | None = None,
    ) -> Float[Tensor, "n vocab"]:
        """Append one token to each of `rows` (all if None); their next-token logits."""
        plan = self._plan(cache, [1] * len(tokens), rows)
        return self._run(cache, tokens.to(self.device), plan, None)

    def forward(
        self,
        tokens: Int[Tensor, "tokens"],
        positions: Int[Tensor, "tokens"],
        attend: Attend,
    ) -> Float[Tensor, "tokens hidden"]:
        """Final hidden states of packed tokens; lean architectures only.

        Args:
            tokens: ids of new tokens of any number of sequences, one after another.
            positions: position of each within its sequence.
            attend: called once a layer with rotated queries and keys; it stores keys
                and values where it wants and returns the attention output.
        """
        body = self.model.get_decoder()
        hidden = body.embed_tokens(tokens)
        cos, sin = body.rotary_emb(hidden, positions[None])
        rotation = cos[0, :, None], sin[0, :, None]
        for layer, block in enumerate(body.layers):
            queries, keys, values = self._project(block, hidden, rotation)
            mixed = attend(layer, queries, keys, values).flatten(1)
            hidden = hidden + block.self_attn.o_proj(mixed)
            hidden = hidden + block.mlp(block.post_attention_layernorm(hidden))
        return body.norm(hidden)

    def logits(self, hidden: Float[Tensor, "out hidden"]) -> Float[Tensor, "out vocab"]:
        """Next-token logits of final hidden states (lean architectures), float32."""
        return self.model.get_output_embeddings()(hidden).float()

    def _project(
        self, block: nn.Module, hidden: Tensor, rotation: tuple[Tensor, Tensor]
    ) -> tuple[Tensor, Tensor, Tensor]:
        attention, normed = block.self_attn, block.input_layernorm(hidden)
        shape = (len(hidden), -1, self.head_dim)
        queries = attention.q_proj(normed).view(shape)
        keys = attention.k_proj(normed).view(shape)
        values = attention.v_proj(normed).view(shape)
        if hasattr(attention, "q_norm"):
            queries, keys = attention.q_norm(queries), attention.k_norm(keys)
        return _rotate(queries, *rotation), _rotate(keys, *rotation), values

    def _run(
        self, cache: KVCache, tokens: Tensor, plan: Pass, ends: Tensor | None
    ) -> Tensor:
        if not self.lean:
            logits = self._foreign_logits(cache, tokens, plan)
            logits = logits if ends is None else logits[ends]
        else:

            def attend(layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
                return attend_cached(cache, plan, layer, q, k, v)

            hidden = self.forward(tokens, plan.positions, attend)
            logits = self.logits(hidden if ends is None else hidden[ends])
        counts = torch.bincount(plan.rows.cpu(), minlength=cache.rows)
        cache.lengths = cache.lengths + counts
        return logits

    def _foreign_logits(self, cache: KVCache, tokens: Tensor, plan: Pass) -> Tensor:
        """Logits of packed tokens by the model's own forward on a padded batch."""
        slots, width, _ = plan.shape
        ids = tokens.new_zeros(slots, width)
        positions = tokens.new_zeros(slots, width)
        ids[plan.slots, plan.offsets] = tokens
        positions[plan.slots, plan.offsets] = plan.positions
        names = inspect.signature(self.model.forward).parameters
        cache_name = "cache" if "cache" in names else "past_key_values"
        mask = plan.mask
        if mask is None:
            mask = _additive(positions, width, self.model.dtype)
        training = self.model.training
        output = self.model.eval()(
            input_ids=ids,
            position_ids=positions,
            attention_mask=mask,
            use_cache=True,
            **{cache_name: _ForeignCache(cache, plan)},
        )
        self.model.train(training)
        return output.logits[plan.slots, plan.offsets].float()

    def _plan(
        self, cache: KVCache, counts: list[int], rows: Sequence[int] | None
    ) -> Pass:
        whole = rows is None or len(rows) == cache.rows
        chosen = torch.arange(cache.rows) if rows is None else torch.as_tensor(rows)
        added = torch.tensor(counts)
        starts = cache.lengths[chosen]
        cache.reserve(int((starts + added).max()))
        index = torch.repeat_interleave(torch.arange(len(counts)), added)
        offsets = torch.arange(len(index)) - (added.cumsum(0) - added)[index]
        in_place = whole or 3 * len(counts) >= cache.rows
        slots = chosen[index] if in_place else index
        shape = (
            cache.rows if in_place else len(counts),
            max(counts),
            int((starts + added).max()),
        )
        positions = starts[index] + offsets
        mask = None
        if bool(starts.any()) or not whole:
            padded = torch.zeros(shape[:2], dtype=torch.long)
            padded[slots, offsets] = positions
            mask = _additive(padded.to(self.device), shape[2], self.model.dtype)
        move = [t.to(self.device) for t in (chosen[index], positions, slots, offsets)]
        gathered = None if in_place else chosen.to(self.device)
        return Pass(*move, gathered, shape, mask)


def attend_cached(
    cache: KVCache,
    plan: Pass,
    layer: int,
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
) -> Float[Tensor, "tokens heads head_dim"]:
    """Store packed keys and values in the cache and attend over each token's row."""
    stored_keys, stored_values = _store(cache, plan, layer, keys, values)
    slots, width, _ = plan.shape
    kv_heads, head_dim = keys.shape[1:]
    padded = queries.new_zeros(slots, width, *queries.shape[1:])
    padded[plan.slots, plan.offsets] = queries
    if width == 1 and plan.mask is not None:
        # One query a row: the queries of a key head stand in for a query length, so
        # that grouped heads read their keys once.
        grouped = padded.view(slots, kv_heads, -1, head_dim)
        mask = plan.mask.expand(-1, -1, grouped.shape[2], -1)
        mixed = F.scaled_dot_product_attention(
            grouped, stored_keys, stored_values, attn_mask=mask
        ).view(slots, 1, -1, head_dim)
    else:
        mixed = F.scaled_dot_product_attention(
            padded.transpose(1, 2),
            stored_keys,
            stored_values,
            attn_mask=plan.mask,
            is_causal=plan.mask is None,
            enable_gqa=kv_heads != queries.shape[1],
        ).transpose(1, 2)
    return mixed[plan.slots, plan.offsets]


class _ForeignCache:
    """`KVCache` in the shape transformers' attention modules expect."""

    is_compileable = False

    def __init__(self, cache: KVCache, plan: Pass):
        self.cache, self.plan = cache, plan

    def update(
        self, keys: Tensor, values: Tensor, layer: int, *_: object, **__: object
    ) -> tuple[Tensor, Tensor]:
        """Store padded "slots heads width head_dim" states; the whole rows back."""
        slots, offsets = self.plan.slots, self.plan.offsets
        packed = (t.transpose(1, 2)[slots, offsets] for t in (keys, values))
        return _store(self.cache, self.plan, layer, *packed)

    def get_seq_length(self, layer: int = 0) -> int:
        return int(self.cache.lengths.max())


def _store(
    cache: KVCache, plan: Pass, layer: int, keys: Tensor, values: Tensor
) -> tuple[Tensor, Tensor]:
    """Write packed keys and values; views (or copies) of the rows attention reads."""
    held_keys, held_values = cache.keys[layer], cache.values[layer]
    held_keys[plan.rows, :, plan.positions] = keys
    held_values[plan.rows, :, plan.positions] = values
    length = plan.shape[2]
    if plan.gathered is None:
        return held_keys[:, :, :length], held_values[:, :, :length]
    return (
        held_keys[:, :, :length].index_select(0, plan.gathered),
        held_values[:, :, :length].index_select(0, plan.gathered),
    )


def _additive(
    positions: Int[Tensor, "slots queries"], keys: int, dtype: torch.dtype
) -> Float[Tensor, "slots 1 queries keys"]:
    """0 where a query at `positions` sees a key, -inf elsewhere."""
    hidden = torch.arange(keys, device=positions.device) > positions[..., None]
    mask = torch.zeros(hidden.shape, dtype=dtype, device=positions.device)
    return mask.masked_fill_(hidden, -torch.inf)[:, None]


def _rotate(states: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotary embedding of packed "tokens heads head_dim" states."""
    first, second = states.chunk(2, dim=-1)
    return states * cos + torch.cat((-second, first), dim=-1) * sin
