"""Likeness of texts: identical is 1, unrelated is 0, and values are not prose."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pivotlab.verifiers import text


@pytest.mark.case(id="D1")
def test_identical_texts_score_one_and_unrelated_ones_never_match():
    gold = "please refund the order of last week to my card"
    assert text.similarity(gold, gold) == 1.0
    cancel, refund = "cancel order now", "refund order later"
    bags = text.content_words(cancel), text.content_words(refund)
    assert text.overlap(*bags) == pytest.approx(1 / 3)
    assert not text.same_value(cancel, refund)
    assert not text.same_prose(cancel, refund, 0.6)


@pytest.mark.case(id="D3")
def test_one_rule_for_one_word_and_for_two():
    assert text.same_value("Paris", "paris")
    assert text.same_value("New York", "new  york")
    assert not text.same_value("Paris", "London")
    assert not text.same_value("New York", "New Delhi")


@pytest.mark.parametrize(
    ("gold", "said", "same"),
    [
        ("HAT136", "HAT136", True),
        ("HAT136", "hat136", False),
        ("/data/A", "/data/a", False),
        ("2024-05-20", "2024-05-21", False),
        ("mia_li_3668", "Mia_li_3668", False),
        ("O'Brien", "o'brien", True),
        (" x ", "x", True),
        ("", "", True),
        ("", "x", False),
        ("caf\u00e9", "cafe\u0301", True),
    ],
)
def test_values_are_exact_and_names_forgive_case_and_spaces(gold, said, same):
    assert text.same_value(gold, said) is same


def test_overlap_by_hand():
    assert text.overlap(Counter("ab"), Counter("abc")) == pytest.approx(4 / 5)
    assert text.overlap(Counter("aab"), Counter("ab")) == pytest.approx(4 / 5)
    assert text.overlap(Counter(), Counter("a")) == 0.0
    assert text.overlap(Counter(), Counter()) == 0.0


def test_inflected_and_mistyped_words_count_once():
    assert text.overlap(Counter(["washable"]), Counter(["wash"])) == 1.0
    assert text.overlap(Counter(["reservation"]), Counter(["resarvation"])) == 1.0
    assert text.overlap(Counter(["valid"]), Counter(["invalid"])) == 0.0
    assert text.overlap(Counter(["2024"]), Counter(["20240"])) == 0.0


@pytest.mark.parametrize(
    ("sentence", "prose"),
    [
        ("The user wants to cancel the reservation.", True),
        ("cancel it", False),
        ("x = a + b if a else c", False),
        ("see /etc/passwd for the list of users", False),
        ("def f(x): return the value of x", False),
        ("rm -rf the old build folder now", False),
        ("return the sum of a and b", False),
        ("Return the item to the warehouse today.", True),
        ("the sum a + b of the two", False),
        ("one\n  two three four", False),
        ("first_name and last_name of the user", False),
    ],
)
def test_prose_is_told_from_code(sentence, prose):
    assert text.is_prose(sentence) is prose


def test_prose_that_differs_in_a_number_or_a_negation_is_not_the_same():
    gold = "The user wants a refund of 250 dollars for the flight"
    assert text.same_prose(gold, "User wants a 250 dollars refund for that flight", 0.6)
    assert not text.same_prose(gold, gold.replace("250", "520"), 0.6)
    assert not text.same_prose(gold, gold.replace("wants", "does not want"), 0.6)


@settings(max_examples=100)
@given(st.text(), st.text())
def test_similarity_is_a_symmetric_share(first, second):
    score = text.similarity(first, second)
    assert 0.0 <= score <= 1.0
    assert score == pytest.approx(text.similarity(second, first))
    assert text.similarity(first, first) == 1.0
    assert text.same_value(first, first)


@settings(max_examples=50)
@given(
    st.lists(st.sampled_from(["cat", "dog", "tree"]), min_size=1),
    st.lists(st.sampled_from(["moon", "river", "song"]), min_size=1),
)
def test_texts_without_a_common_word_score_zero(first, second):
    assert text.similarity(" ".join(first), " ".join(second)) == 0.0
