"""The functional verdict of the household game: each category, and totality."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pivotlab.records import Candidate, Message
from pivotlab.verifiers.protocol import Verifier
from pivotlab.verifiers.text_game import TextGameVerifier

CONTEXT = {
    "acceptable": ["move cd 1 to desk 2"],
    "admissible": ["go to bed 1", "look", "move cd 1 to desk 2"],
}


def candidate(context: dict) -> Candidate:
    expert = Message("assistant", "move cd 1 to desk 2")
    return Candidate("t:0", "t", 0, (Message("user", "?"),), expert, context=context)


@pytest.mark.parametrize(
    ("text", "reward", "category"),
    [
        ("move cd 1 to desk 2", 1.0, "acceptable"),
        ("  move cd 1 to desk 2\n", 1.0, "acceptable"),
        ("put cd 1 in/on desk 2", 1.0, "acceptable"),
        ("go to bed 1", 0.0, "legal_but_wrong"),
        ("look", 0.0, "legal_but_wrong"),
        ("move cd 1 to desk 1", 0.0, "inadmissible"),
        ("Move cd 1 to desk 2", 0.0, "inadmissible"),
        ("move cd 1 to desk 2.", 0.0, "inadmissible"),
        ("", 0.0, "empty"),
        (" \n ", 0.0, "empty"),
        ("move cd 1 to desk 2\nlook", 0.0, "multiple_lines"),
    ],
)
def test_categories(text, reward, category):
    verdict = TextGameVerifier().verify(candidate(CONTEXT), Message("assistant", text))
    assert (verdict.reward, verdict.category) == (reward, category)


@pytest.mark.case(id="V52")
def test_put_with_half_its_preposition_passes_only_where_asked():
    context = {"acceptable": ["move mug 1 to desk 2"]}
    said = Message("assistant", "put mug 1 on desk 2")
    strict, loose = TextGameVerifier(), TextGameVerifier(loose_put=True)
    assert strict.verify(candidate(context), said).category == "inadmissible"
    assert loose.verify(candidate(context), said).category == "acceptable"
    right = Message("assistant", "put mug 1 in/on desk 2")
    assert strict.verify(candidate(context), right).category == "acceptable"
    assert strict.version != loose.version


def test_a_candidate_without_an_acceptable_set_is_named():
    verdict = TextGameVerifier().verify(candidate({}), Message("assistant", "look"))
    assert verdict.category == "no_context" and "t:0" in verdict.detail


def test_it_is_a_verifier():
    assert isinstance(TextGameVerifier(), Verifier)


@settings(max_examples=50)
@given(st.text())
def test_any_text_gets_a_verdict(text):
    verdict = TextGameVerifier().verify(candidate(CONTEXT), Message("assistant", text))
    assert verdict.reward in (0.0, 1.0)
    assert (verdict.reward == 1.0) == (verdict.category == "acceptable")
