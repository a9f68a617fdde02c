"""Exact match with SQuAD's normalisation."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pivotlab.environments.search_qa.answers import answer_form, exact_match


@pytest.mark.parametrize(
    ("answer", "form"),
    [
        ("The Eiffel Tower!", "eiffel tower"),
        ("  a   dog's  bone ", "dogs bone"),
        ("an apple a day", "apple day"),
        ("Another theory", "another theory"),
        ("U.S.", "us"),
        ("1,234", "1234"),
        ("Zürich – Süd", "zürich – süd"),
        ("the", ""),
        ("the-end", "theend"),
    ],
)
def test_forms(answer, form):
    assert answer_form(answer) == form


def test_any_right_answer_will_do():
    assert exact_match("the Amber Sea.", ["Black Gulf", "Amber sea"])
    assert not exact_match("Amber", ["Amber Sea"]) and not exact_match("x", [])


@given(st.text())
def test_a_form_stays_as_it_is_once_taken(text):
    once = answer_form(text)
    assert answer_form(f"The {text}!") in (once, answer_form(f"the {text}"))
    assert exact_match(text, [text])
