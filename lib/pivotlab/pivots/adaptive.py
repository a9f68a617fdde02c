"""Profiling that stops where it has seen enough.

Most turns need few samples: a turn that failed eight times will not become a pivot. A
turn is sampled in rounds until its class at K = `k_max` samples is known with
probability at least 1 - `error`:

    hopeless  no sample of K succeeds            (sigma2 = 0)
    pivot     0 < mu < lambda_diff               (Eq. 5)
    easy      mu >= lambda_diff, all K included

After s successes in n samples the pass rate p has posterior w(p) p^s (1-p)^(n-s); the
remaining K - n samples are Binomial(K - n, p), which gives the probability of each
class. The prior w is the distribution of pass rates among the turns seen so far, its
maximum-likelihood estimate on a grid (empirical Bayes), so the stated error is an
average over turns like these. Stopping does not change the likelihood, hence neither
the posterior nor the prior's estimate.

The samples of a stopped turn are no plain average any more: mu over them is biased by
the rule. `reestimate` draws fresh samples for the kept turns, which are unbiased, and
every profile carries the rule it was sampled by. (Departure from the paper, which
profiles with one fixed K.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from math import ceil
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from scipy.special import xlog1py, xlogy
from scipy.stats import binom

from pivotlab.engines.noise import derive_seed
from pivotlab.engines.protocol import Sampler, Sampling
from pivotlab.pivots.profiling import (
    TurnSampler,
    by_trajectory,
    describe,
    progress,
    show,
    turn_sampler,
    verify_turn,
)
from pivotlab.pivots.selection import LAMBDA_DIFF
from pivotlab.pivots.store import ProfileStore
from pivotlab.records import Candidate, TurnProfile
from pivotlab.rendering import Renderer
from pivotlab.verifiers.protocol import Verifier

CLASSES = ("hopeless", "pivot", "easy")
#: Pass rates at which the prior has mass: both ends, and denser near them.
GRID = np.sin(np.linspace(0, np.pi / 2, 61)) ** 2


@dataclass(frozen=True)
class StoppingRule:
    """When a turn has been sampled enough.

    Attributes:
        k_max: samples after which a turn stops in any case; its class there is the
            one that is predicted before.
        first: samples every turn gets.
        step: samples added in each further round.
        error: allowed probability that the class at `k_max` is another one.
        lambda_diff: difficulty cut-off of Eq. 5.
    """

    k_max: int = 64
    first: int = 4
    step: int = 4
    error: float = 0.05
    lambda_diff: float = LAMBDA_DIFF

    def __post_init__(self) -> None:
        """Refuses what makes no rule.

        Raises:
            ValueError: names the fields and their values.
        """
        if not 1 <= self.first <= self.k_max or self.step < 1:
            raise ValueError(f"need 1 <= first <= k_max and step >= 1: {self}")
        if not 0 <= self.error < 0.5 or not 0 < self.lambda_diff <= 1:
            raise ValueError(f"need 0 <= error < 0.5 and 0 < lambda_diff <= 1: {self}")


def class_probabilities(
    successes: Int[np.ndarray, "turns"],
    n: int,
    prior: Float[np.ndarray, "grid"],
    rule: StoppingRule,
) -> Float[np.ndarray, "turns 3"]:
    """Probability of each of `CLASSES` at `rule.k_max`, after `n` samples.

    Example: with n = k_max every row is 1 at the class of successes / n.
    """
    weight = np.exp(_log_likelihood(successes, n)) * prior
    weight /= weight.sum(1, keepdims=True)
    rest = rule.k_max - n
    pivot_to = ceil(rule.lambda_diff * rule.k_max - 1e-9) - 1
    below = binom.cdf(pivot_to - successes[:, None], rest, GRID)
    none = np.where(successes[:, None] > 0, 0.0, binom.pmf(0, rest, GRID))
    hopeless, most = (weight * none).sum(1), (weight * below).sum(1)
    return np.stack([hopeless, most - hopeless, 1 - most], axis=1)


def fit_prior(
    successes: Int[np.ndarray, "turns"],
    n: Int[np.ndarray, "turns"],
    iterations: int = 200,
) -> Float[np.ndarray, "grid"]:
    """Distribution of pass rates on `GRID` that makes the counts most likely.

    Expectation-maximisation from a flat start; one flat pseudo-turn keeps every pass
    rate possible.
    """
    likelihood = np.exp(_log_likelihood(successes, n))
    prior = np.full(len(GRID), 1 / len(GRID))
    for _ in range(iterations):
        share = likelihood * prior
        share /= share.sum(1, keepdims=True)
        prior = (share.sum(0) + 1 / len(GRID)) / (len(successes) + 1)
    return prior


def adaptive_profile(
    candidates: Sequence[Candidate],
    sampler: Sampler,
    renderer: Renderer,
    verifier: Verifier,
    *,
    rule: StoppingRule,
    sampling: Sampling,
    strict: Verifier | None = None,
    seed: int = 0,
    store: ProfileStore | None = None,
    provenance: dict[str, Any] | None = None,
) -> list[TurnProfile]:
    """Profiles of different lengths, in order; arguments as for `profiling.profile`.

    Sample j of a turn is the same as in `profile`, so a store serves both. The
    provenance of a profile holds the rule, the class it was stopped with and that
    class's probability.

    Raises:
        ValueError: a reward is neither 0 nor 1.
    """
    turns = turn_sampler(sampler, renderer, sampling, seed, store)
    facts = describe(turns, verifier, strict) | {"rule": asdict(rule)}
    facts |= provenance or {}
    profiles: list[TurnProfile] = []
    with progress(len(candidates)) as bar:
        for batch in by_trajectory(candidates):
            with turns.holding():
                rounds = _Rounds(batch, turns, verifier, strict, rule, facts)
                profiles += rounds.run(profiles)
            show(bar, profiles, len(batch))
    return profiles


def reestimate(
    candidates: Sequence[Candidate],
    sampler: Sampler,
    renderer: Renderer,
    verifier: Verifier,
    *,
    k: int,
    rule: StoppingRule,
    sampling: Sampling,
    seed: int = 0,
    store: ProfileStore | None = None,
) -> list[TurnProfile]:
    """Unbiased profiles of kept turns from `k` samples that no rule has seen.

    Drawn under another seed, so independent of the samples that selected the turns.
    """
    fresh = derive_seed(seed, rule.k_max)
    turns = turn_sampler(sampler, renderer, sampling, fresh, store)
    facts = describe(turns, verifier, None) | {"k": k, "held_out_from": asdict(rule)}
    profiles: list[TurnProfile] = []
    for batch in by_trajectory(candidates):
        for candidate, samples in zip(batch, turns.draw(batch, k), strict=True):
            profiles.append(
                verify_turn(candidate, samples, renderer, verifier, None, facts)
            )
    return profiles


class _Rounds:
    """One batch of turns, sampled until each is decided."""

    def __init__(
        self,
        batch: Sequence[Candidate],
        turns: TurnSampler,
        verifier: Verifier,
        strict: Verifier | None,
        rule: StoppingRule,
        facts: dict[str, Any],
    ):
        self.batch, self.turns, self.rule = batch, turns, rule
        self.verifier, self.strict, self.facts = verifier, strict, facts
        self.profiles: dict[str, TurnProfile] = {}

    def run(self, before: Sequence[TurnProfile]) -> list[TurnProfile]:
        """All profiles of the batch; `before` are those of earlier batches."""
        rule, k, open_turns = self.rule, self.rule.first, list(self.batch)
        while open_turns:
            self._sample(open_turns, k)
            prior = fit_prior(*_counts([*before, *self.profiles.values()]))
            open_turns = self._undecided(open_turns, k, prior)
            k = min(rule.k_max, k + rule.step)
        return [self.profiles[c.uid] for c in self.batch]

    def _sample(self, candidates: Sequence[Candidate], k: int) -> None:
        for candidate, samples in zip(
            candidates, self.turns.draw(candidates, k), strict=True
        ):
            judged = verify_turn(
                candidate, samples, self.turns.renderer, self.verifier, self.strict
            )
            self.profiles[candidate.uid] = judged

    def _undecided(
        self, candidates: Sequence[Candidate], k: int, prior: np.ndarray
    ) -> list[Candidate]:
        """Turns that need another round; decided ones get their provenance."""
        successes, _ = _counts([self.profiles[c.uid] for c in candidates])
        chances = class_probabilities(successes, k, prior, self.rule)
        rest = []
        for candidate, chance in zip(candidates, chances, strict=True):
            if chance.max() < 1 - self.rule.error and k < self.rule.k_max:
                rest.append(candidate)
                continue
            decided = {
                "class": CLASSES[int(chance.argmax())],
                "probability": round(float(chance.max()), 4),
            }
            judged = self.profiles[candidate.uid]
            facts = self.facts | {"k": k} | decided
            self.profiles[candidate.uid] = replace(judged, provenance=facts)
        return rest


def _counts(profiles: Sequence[TurnProfile]) -> tuple[np.ndarray, np.ndarray]:
    """Successes and samples of every profile.

    Raises:
        ValueError: a reward is neither 0 nor 1.
    """
    for p in profiles:
        odd = set(p.rewards) - {0.0, 1.0}
        if odd:
            raise ValueError(
                f"{p.uid} has rewards {sorted(odd)}; adaptive profiling counts "
                "successes, so use a binary verifier or profile with a fixed K"
            )
    successes = np.array([sum(p.rewards) for p in profiles], dtype=np.int64)
    return successes, np.array([p.k for p in profiles], dtype=np.int64)


def _log_likelihood(
    successes: np.ndarray, n: int | np.ndarray
) -> Float[np.ndarray, "turns grid"]:
    failures = np.broadcast_to(n - successes, successes.shape)
    return xlogy(successes[:, None], GRID) + xlog1py(failures[:, None], -GRID)
