"""The strict verdict."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pivotlab.records import Candidate, Message, ToolCall
from pivotlab.verifiers.exact import ExactVerifier
from pivotlab.verifiers.protocol import Verifier

CALL = ToolCall("find", {"a": 1, "b": [2]})


def verdict(expert, action):
    candidate = Candidate("t#0", "t", 0, (), expert)
    return ExactVerifier().verify(candidate, action)


@pytest.mark.parametrize(
    "expert, action, reward, category",
    [
        (Message("assistant", "go"), Message("assistant", " go\n"), 1.0, "equal"),
        (
            Message("assistant", "go to a"),
            Message("assistant", "go  to a"),
            1.0,
            "equal",
        ),
        (Message("assistant", "go"), Message("assistant", "Go"), 0.0, "text_differs"),
        (Message("assistant", "go"), Message("assistant", ""), 0.0, "empty"),
        (
            Message("assistant", "", (CALL,)),
            Message("assistant", "", (ToolCall("find", '{"b": [2], "a": 1}'),)),
            1.0,
            "equal",
        ),
        (
            Message("assistant", "", (CALL,)),
            Message("assistant", "", (ToolCall("find", {"a": 1}),)),
            0.0,
            "calls_differ",
        ),
        (
            Message("assistant", "x", (CALL,)),
            Message("assistant", "x"),
            0.0,
            "calls_differ",
        ),
    ],
)
def test_table(expert, action, reward, category):
    found = verdict(expert, action)
    assert (found.reward, found.category) == (reward, category)


def test_thinking_is_not_part_of_the_action():
    expert = Message("assistant", "go", reasoning="because")
    assert verdict(expert, Message("assistant", "go")).reward == 1.0


@given(st.text(), st.text(), st.text())
def test_total_and_reflexive(text, other, arguments):
    assert isinstance(ExactVerifier(), Verifier)
    action = Message("assistant", text, (ToolCall("f", arguments),))
    assert verdict(action, action).reward == 1.0
    assert verdict(Message("assistant", other), action).reward == 0.0
