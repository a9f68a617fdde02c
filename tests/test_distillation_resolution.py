"""From a teacher's words to an admissible action, rule by rule."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pivotlab.distillation.resolution import resolve, same

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


def test_a_tie_resolves_to_nothing():
    assert resolve("go to lamp 1 now", ("go to lamp 2 now", "go to lamp 3 now")) is None


@given(st.text(), st.lists(st.text(min_size=1), max_size=5))
def test_total_and_only_ever_admissible(text, admissible):
    found = resolve(text, admissible)
    assert found is None or found in admissible


@given(st.sampled_from(ADMISSIBLE))
def test_every_admissible_action_stands_for_itself(action):
    assert resolve(action, ADMISSIBLE) == action


def test_equality_ignores_case_and_spaces_only():
    assert same("Go to  desk 1", "go to desk 1")
    assert not same("go to desk 1", "go to the desk 1")
