"""From a teacher's words to an admissible action, rule by rule."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pivotlab.distillation.resolution import fills, resolve, same

ADMISSIBLE = (
    "go to desk 1",
    "go to desk 12",
    "go to shelf 1",
    "take mug 1 from desk 1",
    "inventory",
)


@pytest.mark.parametrize(
    "text, action",
    [
        ("Go  to DESK 1", "go to desk 1"),
        ("take the mug 1 from the desk 1", "take mug 1 from desk 1"),
        ("I would check the inventory", "inventory"),
        ("take mug 1", "take mug 1 from desk 1"),
        ("take mug 1 off desk 1", "take mug 1 from desk 1"),
        ("go to", None),
        ("go to desk 2", None),
        ("open the fridge", None),
        ("", None),
        ("   ", None),
    ],
)
def test_by_hand(text, action):
    assert resolve(text, ADMISSIBLE) == action


@pytest.mark.parametrize(
    "text, action",
    [
        (" search[Blue Mug] ", "search[Blue Mug]"),
        ("Search[blue mug]", "Search[blue mug]"),
        ("search[]", None),
        ("search[...]", None),
        ("click[back to search]", "click[back to search]"),
        ("click[blue mug]", None),
    ],
)
def test_a_form_admits_every_text_that_fills_it(text, action):
    assert resolve(text, ("search[...]", "click[back to search]")) == action


def test_a_form_of_tags_admits_one_that_is_filled():
    forms = ("<answer>...</answer>", "<search>...</search>")
    assert resolve("<search>Mira Holt</search>", forms) == "<search>Mira Holt</search>"
    assert resolve("<search></search>", forms) is None
    assert resolve("<search>a</answer>", forms) is None


def test_a_tie_resolves_to_nothing():
    assert resolve("go to lamp 1 now", ("go to lamp 2 now", "go to lamp 3 now")) is None


@given(st.text(), st.lists(st.text(min_size=1), max_size=5))
def test_total_and_only_ever_admissible(text, admissible):
    found = resolve(text, admissible)
    forms = [form for form in admissible if "..." in form]
    filled = any(fills(text, form) for form in forms)
    assert filled or found is None or found in admissible and found not in forms


@given(st.sampled_from(ADMISSIBLE))
def test_every_admissible_action_stands_for_itself(action):
    assert resolve(action, ADMISSIBLE) == action


def test_equality_ignores_case_and_spaces_only():
    assert same("Go to  desk 1", "go to desk 1")
    assert not same("go to desk 1", "go to the desk 1")
