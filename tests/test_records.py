"""Records: hand-worked numbers, JSON round trip."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pivotlab.records import (
    Message,
    ToolCall,
    Trajectory,
    TurnProfile,
    message_from_json,
    to_json,
)


def profile(rewards):
    k = len(rewards)
    return TurnProfile("t#0", tuple(rewards), ("ok",) * k, (False,) * k)


def test_eq4_by_hand():
    p = profile([1.0, 0.0, 0.0, 0.0])
    assert (p.k, p.mu, p.sigma2) == (4, 0.25, 0.1875)


@given(st.lists(st.sampled_from([0.0, 1.0]), min_size=1, max_size=64))
def test_binary_variance_is_mu_times_one_minus_mu(rewards):
    p = profile(rewards)
    assert p.sigma2 == pytest.approx(p.mu * (1 - p.mu), abs=1e-12)
    assert (p.sigma2 > 1e-12) == (0 < p.mu < 1)


def test_message_survives_json():
    message = Message(
        "assistant", "a", (ToolCall("f", {"x": 1}, "c1"), ToolCall("g", "{bad")), "why"
    )
    assert message_from_json(json.loads(json.dumps(to_json(message)))) == message


def test_assistant_turns_are_message_indices():
    messages = (
        Message("user", "a"),
        Message("assistant", "b"),
        Message("tool", "c"),
        Message("assistant", "d"),
    )
    assert Trajectory("t", messages).assistant_turns() == [1, 3]
