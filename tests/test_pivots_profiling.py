"""Eq. 4 on scripted samplers: numbers by hand, resuming, verifying again."""

import itertools

import numpy as np
import pytest

from pivotlab.engines.noise import uniform
from pivotlab.engines.protocol import Sample, Sampler, Sampling
from pivotlab.models import tiny
from pivotlab.models.tokenizer import build_tokenizer
from pivotlab.pivots import profiling
from pivotlab.pivots.profiling import by_trajectory, profile, reverify, seed_of
from pivotlab.pivots.store import ProfileStore
from pivotlab.records import Candidate, Message, Verdict
from pivotlab.rendering import Renderer
from pivotlab.verifiers.exact import ExactVerifier

RIGHT, OTHER, WRONG = "go to fridge 1", "open fridge 1", "look"
SAMPLING = Sampling(max_new_tokens=16, temperature=0.8)


@pytest.fixture(scope="module")
def renderer():
    return Renderer(build_tokenizer(tiny.vocabulary()))


class Contains:
    """Accepts every action that mentions the fridge."""

    name, version = "contains", "3"

    def verify(self, candidate, action):
        found = "fridge" in action.content
        return Verdict(float(found), "yes" if found else "no")


class Scripted:
    """Says what `script(prompt length, seed, j)` says; counts what it drew."""

    def __init__(self, renderer, script):
        self.renderer, self.script = renderer, script
        self.drawn, self.calls = 0, []

    def sample(self, prompts, n, sampling, seeds):
        self.calls.append((len(prompts), n, sampling))
        self.drawn += n * len(prompts)
        indices = range(sampling.first_sample, sampling.first_sample + n)
        return [
            [self.say(self.script(len(p), s, j)) for j in indices]
            for p, s in zip(prompts, seeds, strict=True)
        ]

    def say(self, text):
        if text is None:
            return Sample((), False, failure="timeout")
        ids = self.renderer.encode(text)
        if text.endswith("..."):
            return Sample(tuple(ids), True)
        return Sample((*ids, self.renderer.end_of_turn), False)


def candidates(trajectories, turns):
    prefix = (Message("user", "You are in a room."),)
    return [
        Candidate(
            f"t{t}#{i}",
            f"t{t}",
            i,
            prefix + (Message("assistant", WRONG), Message("user", "Hm.")) * i,
            Message("assistant", RIGHT),
        )
        for t in range(trajectories)
        for i in range(turns)
    ]


def test_numbers_by_hand(renderer):
    """Of 5: two equal, one only functionally right, one cut off, one failed."""
    said = [RIGHT, OTHER, "go to fridge ...", None, RIGHT]
    sampler = Scripted(renderer, lambda length, seed, j: said[j])
    (found,) = profile(
        candidates(1, 1),
        sampler,
        renderer,
        Contains(),
        k=5,
        sampling=SAMPLING,
        strict=ExactVerifier(),
        provenance={"model": "m"},
    )
    assert found.rewards == (1.0, 1.0, 0.0, 0.0, 1.0)
    assert found.strict_rewards == (1.0, 0.0, 0.0, 0.0, 1.0)
    assert found.categories == ("yes", "yes", "truncated", "no_sample", "yes")
    assert found.truncated == (False, False, True, False, False)
    assert found.mu == pytest.approx(0.6) and found.sigma2 == pytest.approx(0.24)
    assert found.provenance["verifier"] == "contains/3"
    assert found.provenance["strict"] == "exact/1"
    assert found.provenance["temperature"] == 0.8
    assert found.provenance["k"] == 5 and found.provenance["model"] == "m"


def test_the_end_of_turn_stops_a_sample(renderer):
    sampler = Scripted(renderer, lambda *_: RIGHT)
    assert isinstance(sampler, Sampler)
    given = Sampling(stop_ids=(3,))
    profile(candidates(1, 1), sampler, renderer, Contains(), k=2, sampling=given)
    assert set(sampler.calls[0][2].stop_ids) == {3, renderer.end_of_turn}


def noisy(length, seed, j):
    return (RIGHT, OTHER, WRONG)[int(3 * float(uniform(seed, j, 0)))]


def rewards(profiles):
    return [(p.uid, p.rewards, p.strict_rewards) for p in profiles]


def run(renderer, turns, k, **kwargs):
    sampler = Scripted(renderer, noisy)
    found = profile(
        turns,
        sampler,
        renderer,
        Contains(),
        k=k,
        sampling=SAMPLING,
        strict=ExactVerifier(),
        **kwargs,
    )
    return found, sampler


def test_samples_depend_on_uid_seed_and_index_only(renderer):
    turns = candidates(4, 3)
    whole, _ = run(renderer, turns, 6)
    assert [p.uid for p in whole] == [c.uid for c in turns]
    few, _ = run(renderer, turns[5:7], 4)
    assert [p.rewards for p in few] == [p.rewards[:4] for p in whole[5:7]]
    other, _ = run(renderer, turns, 6, seed=1)
    assert rewards(other) != rewards(whole)


def test_seeds_are_spread():
    seeds = [seed_of(f"t#{i}", s) for i, s in itertools.product(range(300), range(3))]
    assert len(set(seeds)) == 900 and min(seeds) >= 0 and max(seeds) < 2**63
    assert np.corrcoef(seeds[:-1], seeds[1:])[0, 1] ** 2 < 0.02


def test_a_store_generates_only_what_is_missing(renderer, tmp_path):
    turns = candidates(3, 3)
    plain, _ = run(renderer, turns, 6)
    store = ProfileStore(tmp_path, "weights")
    _, first = run(renderer, turns[:4], 4, store=store)
    assert first.drawn == 16
    resumed, second = run(renderer, turns, 6, store=store)
    assert rewards(resumed) == rewards(plain)
    assert second.drawn == 4 * 2 + 5 * 6
    again, third = run(renderer, turns, 5, store=store)
    assert third.drawn == 0 and [p.k for p in again] == [5] * 9
    _, other_model = run(renderer, turns, 6, store=ProfileStore(tmp_path, "others"))
    assert other_model.drawn == 9 * 6


def test_verifying_again_never_generates(renderer, tmp_path):
    turns, store = candidates(2, 2), ProfileStore(tmp_path, "weights")
    profiled, _ = run(renderer, turns, 6, store=store)
    again = reverify(
        turns, renderer, ExactVerifier(), k=6, sampling=SAMPLING, store=store
    )
    assert [p.rewards for p in again] == [p.strict_rewards for p in profiled]
    with pytest.raises(KeyError, match="has 6 samples, not 7"):
        reverify(turns, renderer, Contains(), k=7, sampling=SAMPLING, store=store)


def test_an_interrupted_run_loses_the_batch_in_flight(renderer, tmp_path, monkeypatch):
    monkeypatch.setattr(profiling, "BATCH", 4)
    turns, store = candidates(6, 2), ProfileStore(tmp_path, "weights")
    plain, _ = run(renderer, turns, 4)

    class Dying(Scripted):
        def sample(self, prompts, n, sampling, seeds):
            if self.drawn:
                raise KeyboardInterrupt
            return super().sample(prompts, n, sampling, seeds)

    with pytest.raises(KeyboardInterrupt):
        profile(
            turns,
            Dying(renderer, noisy),
            renderer,
            Contains(),
            k=4,
            sampling=SAMPLING,
            store=store,
        )
    resumed, sampler = run(renderer, turns, 4, store=store)
    # The first trajectory was stored, of the second nothing.
    assert sampler.drawn == 10 * 4 and rewards(resumed) == rewards(plain)


def test_batches_tear_no_trajectory_and_grow_to_the_most(monkeypatch):
    monkeypatch.setattr(profiling, "BATCH", 5)
    sizes = [len(batch) for batch in by_trajectory(candidates(8, 3))]
    assert sizes == [3, 3, 6, 6, 6]
    assert [len(b) for b in by_trajectory(candidates(1, 40))] == [40]


def test_slow_batches_stay_small_so_that_little_is_lost(monkeypatch):
    """By hand: 0, 0, then 30 s a batch: at least 1, 2, 4, 2, 1, 1 turns."""
    clock, took = [0.0], iter([0.0, 0.0, 30.0, 30.0, 30.0, 30.0, 30.0])
    monkeypatch.setattr(profiling, "perf_counter", lambda: clock[0])
    sizes = []
    for batch in by_trajectory(candidates(11, 1)):
        sizes.append(len(batch))
        clock[0] += next(took)
    assert sizes == [1, 2, 4, 2, 1, 1]
