"""Shares and F1 by hand on a scripted sampler."""

import pytest

from pivotlab.engines.noise import uniform
from pivotlab.engines.protocol import Sample, Sampling
from pivotlab.experiments.benchmarks.adaptive import adaptive_rows, f1_of, first_samples
from pivotlab.models import tiny
from pivotlab.models.tokenizer import build_tokenizer
from pivotlab.pivots.adaptive import StoppingRule
from pivotlab.pivots.store import ProfileStore
from pivotlab.records import Candidate, Message, TurnProfile
from pivotlab.rendering import Renderer
from pivotlab.verifiers.exact import ExactVerifier

RIGHT, WRONG = "go to fridge 1", "look"


class Rates:
    """Turn i of a batch is right at the rate its prompt's length names."""

    def __init__(self, renderer, rates):
        self.renderer, self.rates, self.drawn = renderer, rates, 0

    def sample(self, prompts, n, sampling, seeds):
        indices = range(sampling.first_sample, sampling.first_sample + n)
        self.drawn += n * len(prompts)
        return [
            [self.say(uniform(s, j, 0) < self.rates[tuple(p)]) for j in indices]
            for p, s in zip(prompts, seeds, strict=True)
        ]

    def say(self, right):
        ids = self.renderer.encode(RIGHT if right else WRONG)
        return Sample((*ids, self.renderer.end_of_turn), False)


def test_f1_by_hand():
    assert f1_of([True, True, False, False], [True, True, True, False]) == 0.8
    assert f1_of([False], [False]) == 1.0
    assert f1_of([True, False], [False, True]) == 0.0


def test_first_samples_cut_every_list():
    whole = TurnProfile("u", (1.0, 0.0, 1.0), ("a", "b", "c"), (False,) * 3, (0.0,) * 3)
    found = first_samples(whole, 2)
    assert (found.k, found.mu, found.categories) == (2, 0.5, ("a", "b"))
    assert len(found.truncated) == len(found.strict_rewards) == 2


def test_rows_by_hand_and_no_sample_is_drawn_twice(tmp_path):
    renderer = Renderer(build_tokenizer(tiny.vocabulary()))
    candidates, rates = [], {}
    for i in range(30):
        prefix = (Message("user", "look " * (i + 1)),)
        right = Message("assistant", RIGHT)
        candidates.append(Candidate(f"t{i}", f"t{i}", 0, prefix, right))
        rates[tuple(renderer.prompt_ids(prefix))] = (0.0, 1.0, 0.3)[i % 3]
    sampler = Rates(renderer, rates)
    rule = StoppingRule(k_max=64, first=4, step=4, error=0.05)
    store = ProfileStore(tmp_path, "scripted")
    rows = adaptive_rows(
        candidates,
        sampler,
        renderer,
        ExactVerifier(),
        Sampling(16),
        [rule],
        store=store,
    )
    assert [(r["k_max"], r["first"], r["step"]) for r in rows] == [
        (8, 8, 0),
        (16, 16, 0),
        (64, 4, 4),
    ]
    assert [r["rollouts_share"] for r in rows[:2]] == [0.5, 1.0]
    assert all(r["n"] == 30 for r in rows)
    assert rows[2]["rollouts_share"] < 1 and rows[2]["f1"] >= 0.9
    assert sampler.drawn == 30 * 64, "rules read the reference's samples"
    with pytest.raises(ValueError, match="k_max=64 exceeds reference=16"):
        adaptive_rows(
            candidates,
            sampler,
            renderer,
            ExactVerifier(),
            Sampling(16),
            [rule],
            store=store,
            reference=16,
        )
