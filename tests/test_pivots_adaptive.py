"""Sequential profiling: probabilities against simulation and exact enumeration."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pivotlab.engines.noise import uniform
from pivotlab.engines.protocol import Sample, Sampling
from pivotlab.models import tiny
from pivotlab.models.tokenizer import build_tokenizer
from pivotlab.pivots.adaptive import (
    CLASSES,
    GRID,
    StoppingRule,
    adaptive_profile,
    class_probabilities,
    fit_prior,
    reestimate,
)
from pivotlab.pivots.profiling import profile
from pivotlab.pivots.selection import turn_class
from pivotlab.pivots.store import ProfileStore
from pivotlab.records import Candidate, Message, Verdict
from pivotlab.rendering import Renderer
from pivotlab.verifiers.exact import ExactVerifier

FLAT = np.full(len(GRID), 1 / len(GRID))
SAMPLING = Sampling(max_new_tokens=8)


@pytest.fixture(scope="module")
def renderer():
    return Renderer(build_tokenizer(tiny.vocabulary()))


class Coin:
    """Passes with a rate that the turn's uid names; draws depend on (seed, j)."""

    def __init__(self, renderer, rates):
        self.renderer, self.rates = renderer, rates
        self.drawn, self.holds = 0, 0

    def sample(self, prompts, n, sampling, seeds):
        self.drawn += n * len(prompts)
        first = sampling.first_sample
        return [
            [self.say(len(p), float(uniform(s, j, 0))) for j in range(first, first + n)]
            for p, s in zip(prompts, seeds, strict=True)
        ]

    def say(self, length, u):
        text = "look" if u < self.rates[length] else "inventory"
        ids = self.renderer.encode(text)
        return Sample((*ids, self.renderer.end_of_turn), False)


def game(renderer, rates):
    """One turn per pass rate, in one trajectory, and the sampler that knows them."""
    turns = [
        Candidate(f"t#{i}", "t", i, (Message("user", "a " * (i + 1)),), EXPERT)
        for i in range(len(rates))
    ]
    lengths = [len(renderer.prompt_ids(c.prefix)) for c in turns]
    assert len(set(lengths)) == len(rates)
    return turns, Coin(renderer, dict(zip(lengths, rates, strict=True)))


EXPERT = Message("assistant", "look")


@pytest.mark.parametrize("n, successes", [(4, 0), (4, 1), (8, 8), (8, 5), (16, 16)])
def test_class_probabilities_equal_simulation(n, successes):
    rule = StoppingRule(k_max=16)
    exact = class_probabilities(np.array([successes]), n, FLAT, rule)[0]
    rng = np.random.default_rng(0)
    p = rng.choice(GRID, 400_000)
    kept = p[rng.binomial(n, p) == successes]
    total = successes + rng.binomial(16 - n, kept)
    shares = [(total == 0).mean(), 0, (total >= 10).mean()]
    shares[1] = 1 - shares[0] - shares[2]
    assert np.abs(exact - shares).max() < 0.01


@given(st.integers(0, 16), st.sampled_from([0.3, 0.5, 0.6, 1.0]))
def test_at_k_max_the_class_is_that_of_eq_5(successes, lambda_diff):
    rule = StoppingRule(k_max=16, lambda_diff=lambda_diff)
    chance = class_probabilities(np.array([successes]), 16, FLAT, rule)[0]
    expected = "hopeless" if successes == 0 else "easy"
    if 0 < successes < lambda_diff * 16 - 1e-9:
        expected = "pivot"
    assert CLASSES[int(chance.argmax())] == expected
    assert chance.max() == pytest.approx(1) and chance.sum() == pytest.approx(1)


def test_prior_finds_the_two_kinds_of_turns():
    rng = np.random.default_rng(0)
    p = np.where(rng.random(2000) < 0.7, 0.0, 0.5)
    n = rng.choice([4, 8, 16], 2000)
    prior = fit_prior(rng.binomial(n, p), n)
    assert prior.sum() == pytest.approx(1)
    assert prior[GRID < 0.02].sum() == pytest.approx(0.7, abs=0.04)
    assert prior[np.abs(GRID - 0.5) < 0.15].sum() == pytest.approx(0.3, abs=0.04)


def test_stated_error_holds_on_turns_like_the_prior():
    """Stop as the rule says with the true prior: few classes differ at k_max."""
    rng = np.random.default_rng(0)
    prior = np.where(GRID < 0.01, 20.0, 1.0) + np.where(GRID > 0.99, 20.0, 0.0)
    prior /= prior.sum()
    rule = StoppingRule(k_max=32, error=0.1)
    p = rng.choice(GRID, 20_000, p=prior)
    passed = (rng.random((len(p), 32)) < p[:, None]).cumsum(1)
    final = class_probabilities(passed[:, -1], 32, prior, rule).argmax(1)
    wrong, used = np.zeros(len(p), bool), np.full(len(p), 32)
    for n in range(28, 0, -4):
        chance = class_probabilities(passed[:, n - 1], n, prior, rule)
        stops = chance.max(1) >= 0.9
        wrong[stops] = (chance.argmax(1) != final)[stops]
        used[stops] = n
    assert wrong.mean() < 0.1
    assert used.mean() < 16


def test_clear_turns_stop_early_and_samples_are_those_of_profile(renderer, tmp_path):
    rates = [0.0] * 15 + [1.0] * 15 + [0.3] * 5
    turns, coin = game(renderer, rates)
    rule = StoppingRule(k_max=32)
    found = adaptive_profile(
        turns,
        coin,
        renderer,
        ExactVerifier(),
        rule=rule,
        sampling=SAMPLING,
        store=ProfileStore(tmp_path, "m"),
    )
    assert [p.uid for p in found] == [c.uid for c in turns]
    assert sum(p.k for p in found) == coin.drawn < 0.6 * 32 * len(turns)
    stopped = [p.provenance["class"] for p in found]
    assert stopped[:15] == ["hopeless"] * 15 and stopped[15:30] == ["easy"] * 15
    for p in found:
        assert p.provenance["rule"]["k_max"] == 32 and p.provenance["k"] == p.k
        assert p.provenance["probability"] >= 0.95 or p.k == 32
    fixed = profile(turns, coin, renderer, ExactVerifier(), k=32, sampling=SAMPLING)
    for short, whole in zip(found, fixed, strict=True):
        assert short.rewards == whole.rewards[: short.k]
    agree = [
        (turn_class(a, 0.6) == "pivot") == (turn_class(b, 0.6) == "pivot")
        for a, b in zip(found, fixed, strict=True)
    ]
    assert np.mean(agree) >= 0.9


def test_resuming_a_killed_run_gives_the_same_profiles(renderer, tmp_path):
    turns, coin = game(renderer, [0.0, 0.2, 0.5, 1.0] * 5)

    def run(store):
        return adaptive_profile(
            turns,
            coin,
            renderer,
            ExactVerifier(),
            rule=StoppingRule(k_max=16),
            sampling=SAMPLING,
            store=store,
        )

    store = ProfileStore(tmp_path, "m")
    first = run(store)
    drawn = coin.drawn
    assert run(store) == first and coin.drawn == drawn
    assert run(None) == first


def test_selection_flatters_and_the_held_out_estimate_does_not(renderer):
    """Turns kept because few samples passed have a higher rate than they showed."""
    rates = [0.75] * 120
    turns, coin = game(renderer, rates)
    rule = StoppingRule(k_max=8, first=8)
    seen = adaptive_profile(
        turns, coin, renderer, ExactVerifier(), rule=rule, sampling=SAMPLING
    )
    kept = [c for c, p in zip(turns, seen, strict=True) if 0 < p.mu < 0.6]
    flattered = [p.mu for p in seen if 0 < p.mu < 0.6]
    fresh = reestimate(
        kept, coin, renderer, ExactVerifier(), k=32, rule=rule, sampling=SAMPLING
    )
    assert len(kept) >= 5 and np.mean(flattered) < 0.6
    assert np.mean([p.mu for p in fresh]) == pytest.approx(0.75, abs=0.08)
    assert fresh[0].provenance["held_out_from"]["k_max"] == 8


def test_prompts_are_held_while_a_batch_is_topped_up(renderer):
    from contextlib import contextmanager

    turns, coin = game(renderer, [0.5] * 4)

    @contextmanager
    def holding():
        coin.holds += 1
        yield

    coin.holding = holding
    adaptive_profile(
        turns,
        coin,
        renderer,
        ExactVerifier(),
        rule=StoppingRule(k_max=12),
        sampling=SAMPLING,
    )
    assert coin.holds == 1


def test_partial_rewards_and_bad_rules_are_refused(renderer):
    class Half:
        name, version = "half", "1"

        def verify(self, candidate, action):
            return Verdict(0.5, "half")

    turns, coin = game(renderer, [0.5])
    with pytest.raises(ValueError, match=r"t#0 has rewards \[0.5\]"):
        adaptive_profile(
            turns, coin, renderer, Half(), rule=StoppingRule(), sampling=SAMPLING
        )
    with pytest.raises(ValueError, match="first=9"):
        StoppingRule(k_max=8, first=9)
    with pytest.raises(ValueError, match="error=0.7"):
        StoppingRule(error=0.7)
