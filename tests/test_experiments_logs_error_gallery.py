"""The gallery: ours right on every case, each naive one wrong in a way of its own."""

import pytest

from pivotlab.experiments.logs import error_gallery
from pivotlab.records import Candidate, Message


@pytest.fixture(scope="module")
def table():
    return error_gallery.gallery(error_gallery.cases(), error_gallery.compared())


def test_every_case_is_judged_by_every_verifier_once(table):
    cases, verifiers = error_gallery.cases(), error_gallery.compared()
    assert len(cases) >= 25 and len({c.name for c in cases}) == len(cases)
    assert len(table) == len(cases) * len(verifiers)
    assert all(c.why for c in cases)


def test_functional_is_right_on_every_known_defect(table):
    wrong = table[(table["verifier"] == "functional") & (table["outcome"] != "correct")]
    assert wrong[["case", "category"]].to_dict("records") == []


def test_naive_verifiers_err_as_described(table):
    count = table.groupby("verifier")["outcome"].value_counts().unstack(fill_value=0)
    assert count.loc["exact match", "wrong accept"] == 0
    assert count.loc["exact match", "wrong reject"] >= 8
    assert count.loc["tool name only", "wrong reject"] == 0
    assert count.loc["tool name only", "wrong accept"] >= 8
    both = count.loc["80 % of characters"]
    assert both["wrong accept"] >= 8 and both["wrong reject"] >= 4


def test_labels_are_balanced_enough_that_a_constant_verifier_fails():
    right = [case.right for case in error_gallery.cases()]
    assert 0.3 < sum(right) / len(right) < 0.7


@pytest.mark.parametrize(
    "said, category", [("abcde", "alike"), ("abcdx", "alike"), ("vwxyz", "unlike")]
)
def test_character_ratio_by_hand(said, category):
    """Four of five characters in order: ratio 2 * 4 / 10 = 0.8."""
    gold = Candidate("u", "t", 0, (), Message("assistant", "abcde"))
    verdict = error_gallery.RatioVerifier(0.8).verify(gold, Message("assistant", said))
    assert verdict.category == category
