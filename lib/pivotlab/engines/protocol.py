"""What every sampling engine offers: token ids in, token ids out.

Text never passes through an engine, so nothing is re-tokenised between sampling,
verification and training.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable


@dataclass(frozen=True)
class Sampling:
    """How to sample. `temperature` 0 is greedy; `stop_ids` end a sample and stay in it.

    Top-p and top-k are absent on purpose: truncated sampling biases the ratios of the
    policy gradient. `first_sample` is the index of the first sample drawn: raising it
    tops up a turn that has that many already.
    """

    max_new_tokens: int = 24
    temperature: float = 1.0
    stop_ids: tuple[int, ...] = ()
    log_probs: bool = False
    first_sample: int = 0


@dataclass(frozen=True)
class Sample:
    """One sampled continuation.

    `truncated` is True when `max_new_tokens` ended it before a stop token. `log_probs`
    (natural log, at the sampling temperature) is empty unless asked for. `failure` says
    why there is no sample; it has no tokens then and still counts among the K.
    """

    token_ids: tuple[int, ...]
    truncated: bool
    log_probs: tuple[float, ...] = ()
    failure: str = ""


@runtime_checkable
class Sampler(Protocol):
    """Samples continuations of prompts."""

    def sample(
        self,
        prompts: Sequence[Sequence[int]],
        n: int,
        sampling: Sampling,
        seeds: Sequence[int],
    ) -> list[list[Sample]]:
        """`n` samples for each prompt.

        Args:
            prompts: token ids, one sequence per prompt.
            n: samples per prompt.
            sampling: temperature, length and stop rules.
            seeds: one seed per prompt. Sample j (counted from
                `sampling.first_sample`) of prompt i depends on (seeds[i], j) and
                the prompt alone, never on what else shares the batch.

        Returns:
            One list of `n` samples per prompt, in order.
        """
        ...
