"""The shared pool: three sources, one label each turn, profiled once."""

from collections import Counter
from dataclasses import replace

import pytest

from pivotlab.experiments import pool as module
from pivotlab.experiments.pool import build_pool
from pivotlab.experiments.presets import from_params
from pivotlab.models.registry import load_model
from pivotlab.records import TurnProfile

PRESET = from_params("smoke", trajectories=6, k=4, max_turns=6)


@pytest.fixture(scope="module")
def model():
    return load_model("tiny")


def test_a_third_each_and_every_turn_is_labelled(model):
    pool = build_pool(PRESET, *model)
    sources = Counter(t.source for t in pool.trajectories)
    assert sources == {"honest": 2, "noisy": 2, "own": 2}
    assert set(pool.profiles) == {c.uid for c in pool.candidates}
    turns = sum(len(t.assistant_turns()) for t in pool.trajectories)
    assert len(pool.candidates) == turns
    for candidate in pool.candidates:
        assert candidate.expert.content in candidate.context["acceptable"]


def test_a_second_build_samples_nothing_and_agrees(model, monkeypatch):
    first = build_pool(PRESET, *model)

    class NoSampler:
        def __init__(self, *_):
            self.asked = 0

        def sample(self, *_):
            raise AssertionError("stored samples were generated again")

    monkeypatch.setattr(module, "LocalSampler", NoSampler)
    again = build_pool(PRESET, *model)
    assert {u: p.rewards for u, p in again.profiles.items()} == {
        u: p.rewards for u, p in first.profiles.items()
    }


def test_profiles_under_the_exact_reward():
    profile = TurnProfile("u", (1.0, 1.0), ("x", "x"), (False, False), (1.0, 0.0))
    pool = module.Pool([], [], {"u": profile})
    assert pool.profiles_under("functional")["u"] is profile
    assert pool.profiles_under("exact")["u"] == replace(profile, rewards=(1.0, 0.0))
