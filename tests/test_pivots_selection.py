"""Eq. 5 by hand, and what a profile says of its turns."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pivotlab.pivots.selection import (
    class_shares,
    miss_rate,
    select,
    turn_class,
    zero_signal,
)
from pivotlab.records import Candidate, Message, TurnProfile


def profile(successes, k=16, uid="t#0", strict=0):
    rewards = (1.0,) * successes + (0.0,) * (k - successes)
    strict_rewards = (1.0,) * strict + (0.0,) * (k - strict)
    return TurnProfile(uid, rewards, ("x",) * k, (False,) * k, strict_rewards)


def candidate(uid):
    return Candidate(uid, "t", 0, (), Message("assistant", "a"))


@pytest.mark.parametrize(
    "successes, kind",
    [
        (0, "all_fail"),
        (1, "pivot"),
        (9, "pivot"),  # 9/16 = 0.5625 < 0.6
        (10, "easy_mixed"),  # 10/16 = 0.625
        (15, "easy_mixed"),
        (16, "all_pass"),
    ],
)
def test_classes_at_k_16_and_lambda_06(successes, kind):
    assert turn_class(profile(successes), 0.6) == kind


def test_both_inequalities_are_strict():
    assert turn_class(profile(8), 0.5) == "easy_mixed"
    assert turn_class(profile(16), 1.1) == "all_pass"


@pytest.mark.case(id="V41")
@pytest.mark.case(id="V42")
@pytest.mark.parametrize("reward", [0.0, 0.5, 1.0])
def test_equal_rewards_are_dropped_whatever_their_mean(reward):
    constant = TurnProfile("t#0", (reward,) * 8, ("x",) * 8, (False,) * 8)
    assert (constant.mu, constant.sigma2) == (reward, 0.0)
    for rule in ("pivots", "mixed"):
        assert select([candidate("t#0")], {"t#0": constant}, rule, 1.1) == []


@pytest.mark.case(id="V43")
def test_a_turn_stays_or_goes_with_all_its_samples():
    one_of_four = profile(1, k=4)
    assert turn_class(one_of_four, 0.6) == "pivot"
    (kept,) = select([candidate("t#0")], {"t#0": one_of_four}, "pivots")
    assert kept.uid == "t#0" and one_of_four.rewards == (1.0, 0.0, 0.0, 0.0)
    assert (one_of_four.mu, one_of_four.sigma2) == (0.25, 0.1875)


POOL = [candidate(f"t#{i}") for i in range(17)]
PROFILES = {f"t#{i}": profile(i, uid=f"t#{i}") for i in range(17)}


def test_rules():
    pivots = select(POOL, PROFILES, "pivots")
    mixed = select(POOL, PROFILES, "mixed")
    assert [c.uid for c in pivots] == [f"t#{i}" for i in range(1, 10)]
    assert [c.uid for c in mixed] == [f"t#{i}" for i in range(1, 16)]
    assert select(POOL, {}, "random") == POOL


@given(st.integers(0, 9), st.integers(0, 1000))
def test_a_draw_is_a_reproducible_subset_in_order(n, seed):
    once = select(POOL, PROFILES, "pivots", n=n, seed=seed)
    assert once == select(POOL, PROFILES, "pivots", n=n, seed=seed)
    assert len(once) == n and once == [c for c in POOL if c in once]


def test_too_few_and_unknown():
    with pytest.raises(ValueError, match="keeps 9 of 17"):
        select(POOL, PROFILES, "pivots", n=10)
    with pytest.raises(ValueError, match="pivots, mixed, random"):
        select(POOL, PROFILES, "pivot")


def test_shares_by_hand():
    profiles = [profile(0), profile(0), profile(16), profile(5), profile(12)]
    assert zero_signal(profiles)[0] == pytest.approx(0.6)
    shares = class_shares(profiles)
    assert shares == {"all_fail": 0.4, "pivot": 0.2, "easy_mixed": 0.2, "all_pass": 0.2}


def test_miss_rate_by_hand():
    """8 accepted, 6 of them also exactly the expert's; 8 rejected don't count."""
    assert miss_rate([profile(8, strict=6)])[0] == pytest.approx(0.25)
    with pytest.raises(ValueError, match="undefined"):
        miss_rate([profile(0)])
