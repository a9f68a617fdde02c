"""Shop actions: tolerant searches, exact clicks."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from verdict_rows import candidate, say

from pivotlab.verifiers.protocol import Verifier
from pivotlab.verifiers.shop import ShopVerifier


def judged(gold, said):
    verdict = ShopVerifier().verify(candidate(say(gold), domain="shop"), say(said))
    return verdict.reward, verdict.category


@pytest.mark.parametrize(
    ("gold", "said", "reward", "category"),
    [
        ("click[Buy Now]", "click[buy now]", 1.0, "same_click"),
        ("click[Buy Now]", "Thought: done\nAction: click[Buy Now]", 1.0, "same_click"),
        ("click[red]", "click[dark red]", 0.0, "other_click"),
        ("click[B09ABC]", "click[B09ABD]", 0.0, "other_click"),
        ("click[red]", "search[red]", 0.0, "other_kind"),
        ("click[red]", "I click red", 0.0, "no_action"),
        (
            "click[3.3 ounce (pack of 1)]",
            "click[3.3 ounce (pack of 1)]",
            1.0,
            "same_click",
        ),
        ("buy it", "buy it", 0.0, "bad_demonstration"),
        ("search[blue shirt]", "search[red shoes]", 0.0, "other_search"),
    ],
)
def test_categories(gold, said, reward, category):
    assert judged(gold, said) == (reward, category)


@pytest.mark.case(id="V56")
def test_searches_are_tolerant_and_clicks_are_not():
    assert judged("search[machine wash shirt]", "search[machine washable shirt]") == (
        1.0,
        "same_search",
    )
    assert judged("click[machine wash]", "click[machine washable]") == (
        0.0,
        "other_click",
    )


@pytest.mark.case(id="V55")
def test_a_second_action_after_an_own_observation_is_cut():
    said = "Action: search[shirt]\nObservation: results\nAction: click[Buy Now]"
    assert judged("search[shirt]", said) == (1.0, "same_search")
    assert judged("click[Buy Now]", said) == (0.0, "other_kind")


@settings(max_examples=60)
@given(st.text(alphabet="clicksearh[]\n :"), st.text())
def test_total(gold, said):
    assert judged(gold, said)[0] in (0.0, 1.0)
    assert isinstance(ShopVerifier(), Verifier)
