"""Continuations with a copy of the prompt's keys and values for every sample.

The plain way, for architectures whose attention `Decoder` can't reach into. Prompts
that extend each other are still computed once.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from pivotlab.engines.decoder import Decoder
from pivotlab.engines.prefix_plan import Ids, deepest


class ForkedDecode:
    """Samples in progress; same use as `SharedDecode`."""

    def __init__(self, decoder: Decoder, prompts: Sequence[Ids], n: int):
        self.decoder = decoder
        leaves = deepest(prompts)
        whole, _ = decoder.prefill(leaves)
        leaf_of = [
            next(r for r, leaf in enumerate(leaves) if leaf[: len(p)] == p)
            for p in prompts
        ]
        # One token short: stepping it gives the logits at the prompt's end.
        cut = whole.select(leaf_of, [len(p) - 1 for p in prompts])
        logits = decoder.step(cut, torch.tensor([p[-1] for p in prompts]))
        self._first = logits.repeat_interleave(n, 0)
        self.cache = cut.fork(n)

    def first_logits(self) -> Float[Tensor, "batch vocab"]:
        """Logits of every sample's first token."""
        return self._first

    def step(self, tokens: Int[Tensor, "batch"]) -> Float[Tensor, "batch vocab"]:
        """Append one token to every sample; the next-token logits."""
        return self.decoder.step(self.cache, tokens)

    def keep(self, rows: Int[Tensor, "kept"]) -> None:
        """Go on with some samples only."""
        self.cache = self.cache.select(rows.tolist())
