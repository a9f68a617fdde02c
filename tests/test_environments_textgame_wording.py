"""Texts and command forms, word for word."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pivotlab.environments.textgame import wording


def test_lists_read_as_the_engine_writes_them():
    assert wording.listing([]) == "nothing"
    assert wording.listing(["apple 1"]) == "a apple 1"
    assert wording.listing(["pen 1", "pen 2"]) == "a pen 1, and a pen 2"
    assert wording.listing(["a 1", "b 1", "c 2"]) == "a a 1, a b 1, and a c 2"


def test_opening_and_look():
    assert wording.opening(["bed 1", "desk 1"], "put a mug in desk") == (
        "You are in the middle of a room. Looking quickly around you, you see a bed 1, "
        "and a desk 1.\n\nYour task is to: put a mug in desk."
    )
    assert (
        wording.facing("bed 1")
        == "You are facing the bed 1. Next to it, you see nothing."
    )


def test_contents_and_inventory():
    assert (
        wording.contents("desk 1", False, False, [])
        == "On the desk 1, you see nothing."
    )
    assert wording.contents("safe 1", True, False, ["cd 1"]) == "The safe 1 is closed."
    assert wording.contents("safe 1", True, True, ["cd 1"]) == (
        "The safe 1 is open. In it, you see a cd 1."
    )
    assert wording.inventory(None) == "You are not carrying anything."
    assert wording.inventory("cd 1") == "You are carrying: a cd 1."


@pytest.mark.parametrize(
    ("flags", "text"),
    [
        ((0, 0, 0, 0, 0), "There's nothing special about egg 1."),
        ((0, 1, 0, 0, 0), "This is a clean egg 1."),
        ((0, 0, 1, 0, 0), "This is a hot egg 1."),
        ((0, 0, 0, 1, 0), "This is a cold egg 1."),
        ((0, 0, 0, 0, 1), "This is a sliced egg 1."),
        ((0, 1, 1, 0, 0), "This is a hot and clean egg 1."),
        ((0, 1, 0, 1, 0), "This is a cool and clean egg 1."),
        ((0, 1, 0, 0, 1), "This is a clean sliced egg 1."),
        ((0, 0, 1, 0, 1), "This is a hot sliced egg 1."),
        ((0, 0, 0, 1, 1), "This is a cool sliced egg 1."),
        ((0, 1, 1, 0, 1), "This is a hot and clean sliced egg 1."),
        ((0, 1, 0, 1, 1), "This is a cool and clean sliced egg 1."),
        ((1, 1, 1, 0, 0), "This is a normal egg 1. In it, you see nothing."),
    ],
)
def test_examine_shows_the_marks(flags, text):
    assert wording.examine_object("egg 1", *map(bool, flags)) == text


@pytest.mark.parametrize(
    ("command", "meaning"),
    [
        ("go to desk 1", ("go", "desk 1")),
        ("take cd 1 from desk 2", ("take", "cd 1", "desk 2")),
        ("move cd 1 to desk 2", ("move", "cd 1", "desk 2")),
        ("heat egg 1 with microwave 1", ("heat", "egg 1", "microwave 1")),
        ("slice egg 1 with knife 1", ("slice", "egg 1", "knife 1")),
        ("use desklamp 1", ("use", "desklamp 1")),
        ("inventory", ("inventory",)),
        ("put cd 1 in/on desk 2", ()),
        ("go to desk", ()),
        ("go to desk 1 please", ()),
        ("", ()),
    ],
)
def test_commands_are_parsed_into_verb_and_names(command, meaning):
    assert wording.parse(command) == meaning


@pytest.mark.parametrize(
    "link, strict", [("in/on", True), ("in", False), ("on", False)]
)
def test_put_is_an_alias_of_move_in_verdicts(link, strict):
    command = f"  put cd 1  {link} desk 2 "
    assert (wording.normalise(command) == "move cd 1 to desk 2") is strict
    assert wording.normalise(command, loose_put=True) == "move cd 1 to desk 2"


@settings(max_examples=50)
@given(st.text())
def test_normalising_twice_changes_nothing(text):
    once = wording.normalise(text)
    assert wording.normalise(once) == once
