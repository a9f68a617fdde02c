"""GRPO at the price of each token once: a group of completions shares its prompt.

Stock training repeats the prompt for each of the G completions of a group. Here a group
is prefilled once to sample from, and scored as one tree (`packing`), for the policy as
for the reference; log-probs and gradients are the stock ones up to rounding. Only hooks
are replaced; the loss is TRL's own. A model that does not accept such masks trains the
stock way, with one warning and a counter.

Departures from stock TRL:
1. Sample j of group i at a step depends on (seed, step, i, j) alone, not on the global
   generator.
2. With dropout on, shared tokens share their dropout mask.
3. Positions count from the prompt's first token. Stock TRL counts the padding on the
   left, which only models of absolute positions notice.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from pivotlab.engines.local import LocalSampler
from pivotlab.engines.noise import derive_seed
from pivotlab.engines.protocol import Sampler, Sampling
from pivotlab.training.packing import Ids, pack, refusal, row_multiple
from pivotlab.training.trl_compat import (
    PivotTrainer,
    TokenBatch,
    causal_model,
    score_nodes,
)


class PrefixSharingTrainer(PivotTrainer):
    """GRPO that generates from one prefill and scores groups as trees."""

    def __init__(self, *args: Any, stop_ids: Sequence[int] = (), **kwargs: Any):
        """
        Args:
            stop_ids: tokens that end a completion beside those the model declares.
        """
        super().__init__(*args, **kwargs)
        self.eos_token_ids = sorted({*self.eos_token_ids, *stop_ids})
        self.refusal = refusal(causal_model(self.model))
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

    def token_scores(
        self, model: nn.Module, tokens: TokenBatch, with_entropy: bool
    ) -> tuple[Float[Tensor, "batch completion"], Tensor | None]:
        """Log-probs and entropies, every shared token computed once."""
        if self.refusal:
            self.note_fallback(self.refusal)
            return super().token_scores(model, tokens, with_entropy)
        with self.accelerator.autocast():
            apart = self.keep_apart(tokens)
            log_probs, entropies, share = shared_scores(model, tokens, apart)
        if with_entropy:
            self.record("prefix_sharing/token_share", share)
        return log_probs, entropies

    def keep_apart(self, tokens: TokenBatch) -> Sequence[int]:
        """Hook: a number per row; rows of different numbers are laid out apart."""
        return ()

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


def shared_scores(
    model: nn.Module, tokens: TokenBatch, apart: Sequence[int] = ()
) -> tuple[Float[Tensor, "batch completion"], Tensor | None, float]:
    """Log-probs and entropies of all completions, every shared token computed once.

    Rows with equal prompts form a group wherever they stand in the batch, unless
    `apart` gives them different numbers.

    Returns:
        Log-probs and entropies (None where the model's head has none), 0 on padding,
        and the share of the stock batch's tokens that was computed.
    """
    width, multiple = tokens.completion_width, row_multiple(causal_model(model))
    packed = pack(split(tokens), width, multiple, apart)
    share = packed.input_ids.numel() / tokens.input_ids.numel()
    packed = packed.to(tokens.input_ids.device)
    scores = score_nodes(model, packed)
    log_probs, entropies = (
        None if s is None else torch.where(packed.mask, s[packed.nodes], 0.0)
        for s in scores
    )
    return log_probs, entropies, share


def split(tokens: TokenBatch) -> list[tuple[Ids, Ids]]:
    """(prompt, completion) of every row, without padding."""
    cut = tokens.input_ids.shape[1] - tokens.completion_width
    kept = tokens.attention_mask.bool()
    prompt_lengths = kept[:, :cut].sum(1).tolist()
    completion_lengths = kept[:, cut:].sum(1).tolist()
    rows = zip(
        tokens.input_ids.tolist(), prompt_lengths, completion_lengths, strict=True
    )
    return [
        (tuple(ids[cut - prompt : cut]), tuple(ids[cut : cut + completion]))
        for ids, prompt, completion in rows
    ]
