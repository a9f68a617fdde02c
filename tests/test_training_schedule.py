"""The order of the data is fair, fixed by its seed, and the same at any length."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pivotlab.training.schedule import turn_schedule


@given(st.integers(1, 30), st.integers(1, 12), st.integers(1, 9), st.integers(0, 2**31))
def test_every_turn_comes_equally_often_and_no_step_repeats_one(
    turns, steps, per_step, seed
):
    order = turn_schedule(turns, steps, per_step, seed)
    assert len(order) == steps * per_step
    counts = [Counter(order)[turn] for turn in range(turns)]
    assert max(counts) - min(counts) <= 1
    for step in range(steps):
        seen = order[step * per_step : (step + 1) * per_step]
        if per_step <= turns:
            assert len(set(seen)) == per_step


def test_longer_run_begins_like_a_shorter_one():
    assert turn_schedule(7, 9, 4, seed=2)[:20] == turn_schedule(7, 5, 4, seed=2)


def test_seed_decides():
    assert turn_schedule(20, 4, 4, seed=0) == turn_schedule(20, 4, 4, seed=0)
    assert turn_schedule(20, 4, 4, seed=0) != turn_schedule(20, 4, 4, seed=1)


def test_nothing_to_train_on_is_said():
    with pytest.raises(ValueError, match="no turn to train on"):
        turn_schedule(0, 1, 1, seed=0)
