"""What a method may look at in one step: outcomes, turns, and a teacher's opinion.

Row = rollout of the step, time = its completion's tokens. Every published method that
only changes advantages is a function of this view (`methods_advantages`); the trainer
fills it, tests and notebooks write it by hand.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor


@dataclass(frozen=True)
class StepView:
    """One step's rollouts, whole groups one after another.

    Attributes:
        group: A, the group-normalised outcome advantage of every rollout.
        turn: turn a token belongs to, from 0; -1 on tokens the policy did not write.
        gap: Delta = log-prob of the token under the teacher minus under the rollout
            policy (nats); 0 where the teacher was not asked.
        episode_gap: the same with an episode-level text in the prompt; None: not asked.
        rewards: outcome of every rollout.
        group_size: rollouts per task.
        anchors: per rollout the observation before each turn.
        verdicts: per rollout and turn 1 or 0 for a right or wrong action, None where
            it was not judged.
        step: optimizer steps taken so far.
        steps: of the whole run.
        states: per rollout the environment's state before each turn.
    """

    group: Float[Tensor, "rows"]
    turn: Int[Tensor, "rows time"]
    gap: Float[Tensor, "rows time"]
    episode_gap: Float[Tensor, "rows time"] | None = None
    rewards: Float[Tensor, "rows"] | None = None
    group_size: int = 1
    anchors: tuple[tuple[Hashable, ...], ...] = ()
    verdicts: tuple[tuple[float | None, ...], ...] = ()
    step: int = 0
    steps: int = 1
    states: tuple[tuple[Hashable, ...], ...] = ()

    @property
    def mask(self) -> Bool[Tensor, "rows time"]:
        """True on the policy's own tokens."""
        return self.turn >= 0

    @property
    def progress(self) -> float:
        """Share of the run that is over, 0 at its first step."""
        return self.step / self.steps

    @property
    def outcome(self) -> Float[Tensor, "rows time"]:
        """A on every token of the policy."""
        return self.group[:, None] * self.mask

    def turn_sum(
        self, values: Float[Tensor, "rows time"]
    ) -> Float[Tensor, "rows turns"]:
        """Sum over the tokens of every turn; 0 for turns a rollout does not have."""
        turns = int(self.turn.max().item()) + 1
        sums = values.new_zeros(len(values), max(turns, 1))
        return sums.scatter_add(1, self.turn.clamp(min=0), values * self.mask)

    def turn_lengths(self) -> Float[Tensor, "rows turns"]:
        """Tokens of every turn."""
        return self.turn_sum(torch.ones_like(self.gap))

    def turn_mean(
        self, values: Float[Tensor, "rows time"]
    ) -> Float[Tensor, "rows turns"]:
        """Mean over the tokens of every turn; 0 for turns a rollout does not have."""
        return self.turn_sum(values) / self.turn_lengths().clamp(min=1)

    def on_tokens(
        self, values: Float[Tensor, "rows turns"]
    ) -> Float[Tensor, "rows time"]:
        """One value per turn, put on all tokens of that turn."""
        return values.gather(1, self.turn.clamp(min=0)) * self.mask

    def meeting(
        self, before: tuple[tuple[Hashable, ...], ...]
    ) -> list[list[tuple[int, int]]]:
        """(rollout, turn) pairs of one task that have the same before them.

        Args:
            before: `anchors` or `states`.
        """
        found: dict[Hashable, list[tuple[int, int]]] = defaultdict(list)
        for row, keys in enumerate(before):
            for turn, key in enumerate(keys):
                found[row // self.group_size, key].append((row, turn))
        return list(found.values())
