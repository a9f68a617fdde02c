"""A coin toss in place of a verdict: what a pipeline does without any information."""

from __future__ import annotations

import random

from pivotlab.records import Candidate, Message, Verdict


class PlaceboVerifier:
    """Reward 1 with probability one half, whatever the action; the n-th verdict of an
    instance is fixed by its seed. Categories: heads, tails.
    """

    name = "placebo"
    version = "1"

    def __init__(self, seed: int = 0):
        self._rng = random.Random(seed)

    def verify(self, candidate: Candidate, action: Message) -> Verdict:
        """Heads or tails."""
        if self._rng.random() < 0.5:
            return Verdict(1.0, "heads")
        return Verdict(0.0, "tails")
