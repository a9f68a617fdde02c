"""Text turns: any useful reply may pass, a useless one never."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from verdict_rows import call, candidate, say

from pivotlab.verifiers.message import MessageVerifier
from pivotlab.verifiers.protocol import Verifier

GOLD = say("Could you please provide your user ID so that I can look up the booking?")


@pytest.mark.parametrize(
    ("action", "reward", "category"),
    [
        (GOLD, 1.0, "similar_text"),
        (say("May I have your user ID to find the booking?"), 1.0, "similar_text"),
        (say(""), 0.0, "empty"),
        (say(" \n"), 0.0, "empty"),
        (say("ok"), 0.0, "too_short"),
        (say("The weather in Lisbon is lovely this time of year."), 0.0, "unlike"),
        (call("get_user", id="x"), 0.0, "called_instead"),
    ],
)
@pytest.mark.case(id="V36")
def test_a_text_turn_is_never_satisfied_by_any_text(action, reward, category):
    verdict = MessageVerifier().verify(candidate(GOLD), action)
    assert (verdict.reward, verdict.category) == (reward, category)


def test_in_paper_mode_free_text_is_free_but_not_empty():
    paper = MessageVerifier("paper")
    assert paper.verify(candidate(GOLD), say("ok")).reward == 1.0
    assert paper.verify(candidate(GOLD), say("")).category == "empty"
    assert paper.verify(candidate(GOLD), call("f")).category == "called_instead"


def test_a_short_reply_of_the_expert_can_be_given():
    verdict = MessageVerifier().verify(candidate(say("Yes")), say("yes"))
    assert verdict.category == "similar_text"
    assert MessageVerifier().verify(candidate(say("Yes")), say("no")).reward == 0.0


def test_a_turn_with_a_call_is_not_for_this_rule():
    verdict = MessageVerifier().verify(candidate(call("f")), say("hello"))
    assert verdict.category == "call_expected"


def test_it_is_a_verifier():
    assert isinstance(MessageVerifier(), Verifier)


@settings(max_examples=50)
@given(st.text(), st.text())
def test_total_and_the_expert_always_passes(gold, said):
    verdict = MessageVerifier().verify(candidate(say(gold)), say(said))
    assert verdict.reward in (0.0, 1.0) and verdict.category
    own = MessageVerifier().verify(candidate(say(gold)), say(gold))
    assert own.reward == (1.0 if gold.strip() else 0.0)
