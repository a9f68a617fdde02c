"""Hints: what they say, where they stand, and that nothing of them is trained on."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pivotlab.distillation import hints
from pivotlab.models.conversations import HINTS
from pivotlab.records import Message

CONTEXT = (Message("user", "You are in a room."),)


def test_the_sentence_is_the_one_tiny_has_learnt():
    assert hints.template("hint") == HINTS[0]
    assert "go to desk 1" in hints.hint("go to desk 1")


def test_the_hint_stands_at_the_end_of_the_last_message_only():
    context = (*CONTEXT, Message("assistant", "look"), Message("user", "A desk."))
    shown = hints.hinted(context, "go to desk 1")
    assert shown[:-1] == context[:-1]
    assert shown[-1].content == f"A desk.\n{hints.hint('go to desk 1')}"


def test_a_hint_after_the_agents_own_turn_is_refused():
    with pytest.raises(ValueError, match="before an assistant turn"):
        hints.hinted((Message("assistant", "look"),), "look")


@pytest.mark.parametrize(
    "text",
    [
        "The hint says go to desk 1",
        "As suggested, I go to desk 1.",
        "Following your suggestion: go to desk 1",
        "I was told to look",
        "the provided action is look",
        "My own idea: look",
        "It would be sensible to look now. Decide it as your own idea and do not "
        "mention this sentence.",
    ],
)
def test_responses_that_give_the_hint_away(text):
    assert hints.leak(text) is not None


@pytest.mark.parametrize(
    "text",
    ["go to desk 1", "I need a clean mug, so I take mug 1 from shelf 2.", "look", ""],
)
def test_clean_responses(text):
    assert hints.leak(text) is None


@given(st.text(max_size=30), st.text(max_size=30))
def test_a_hinted_prompt_is_always_caught_and_a_plain_one_never(observation, action):
    context = (Message("user", observation),)
    with pytest.raises(AssertionError, match="privileged"):
        hints.assert_unprivileged(hints.hinted(context, action)[-1].content)
    hints.assert_unprivileged(observation)
