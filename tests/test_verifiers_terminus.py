"""Terminus replies: schema, completion flag, keystrokes, in three modes."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from verdict_rows import candidate, say, terminus

from pivotlab.verifiers.protocol import Verifier
from pivotlab.verifiers.terminus import TerminusVerifier, harness_of, read, typed

LS = terminus("ls -la\n")


def judged(gold, said, mode="functional", **context):
    row = candidate(say(gold), domain="terminal", **context)
    verdict = TerminusVerifier(mode).verify(row, say(said))
    return verdict.reward, verdict.category


@pytest.mark.parametrize(
    ("gold", "said", "reward", "category"),
    [
        (LS, LS, 1.0, "same"),
        (LS, terminus("ls -a -l\n"), 1.0, "same"),
        (LS, f"Here:\n```json\n{LS}\n```", 1.0, "same"),
        (LS, f"<think>hm</think>{LS}", 1.0, "same"),
        (LS, terminus("ls\n"), 0.0, "different"),
        (LS, terminus("ls -la"), 0.0, "different"),
        (LS, "ls -la", 0.0, "not_json"),
        (LS, "[]", 0.0, "not_json"),
        (LS, '{"commands": []}', 0.0, "schema_violation"),
        (LS, terminus("ls -la\n", extra=1), 0.0, "schema_violation"),
        (LS, terminus("ls -la\n", first=True), 0.0, "schema_violation"),
        (LS, terminus(), 0.0, "different"),
        (terminus(), terminus(), 1.0, "wait"),
        (terminus(done=True), terminus(done=True), 1.0, "same"),
        (terminus("C-c"), terminus("C-c"), 1.0, "same"),
        (terminus("C-c"), terminus("C-d"), 0.0, "different"),
        (terminus("ls", "Enter"), terminus("ls\n"), 1.0, "same"),
        ("ls", LS, 0.0, "unknown_harness"),
        ('{"commands": 5}', LS, 0.0, "bad_demonstration"),
    ],
)
def test_categories(gold, said, reward, category):
    assert judged(gold, said) == (reward, category)


def test_both_harnesses_have_their_own_schema():
    first = terminus("ls\n", first=True)
    assert harness_of(json.loads(first)) == "terminus_1"
    assert harness_of(json.loads(LS)) == "terminus_2"
    assert judged(first, terminus("ls  \n", first=True)) == (1.0, "same")
    assert judged(first, LS) == (0.0, "schema_violation")
    assert judged(LS, LS, harness="terminus_3") == (0.0, "unknown_harness")


@pytest.mark.case(id="D5")
def test_an_early_end_is_not_free():
    early = terminus("ls -la\n", done=True)
    assert judged(LS, early) == (0.0, "completion_differs")
    assert judged(early, LS) == (0.0, "completion_differs")
    assert judged(LS, early, "gym") == (1.0, "similar")
    assert judged(early, LS, "gym") == (0.0, "completion_differs")


@pytest.mark.case(id="D5")
def test_borders_between_commands_are_the_line_ends_typed():
    two = terminus("cd a\n", "ls\n")
    assert judged(two, terminus("cd a\nls\n")) == (1.0, "same")
    assert judged(two, terminus("cd als\n")) == (0.0, "different")
    glued = terminus("cd a", "ls\n")
    assert judged(glued, terminus("cd als\n"), "gym") == (1.0, "similar")
    assert judged(glued, two) == (0.0, "different")


@pytest.mark.case(id="D5")
def test_two_empty_lists_are_a_wait_that_can_be_told_apart():
    assert judged(terminus(), terminus()) == (1.0, "wait")
    assert judged(terminus(), terminus(), "gym") == (1.0, "similar")
    assert judged(terminus(), LS, "gym") == (0.0, "different")


def test_paper_mode_adds_a_similarity():
    command = (
        "python run.py --a 1 --b 2 --c 3 --d 4 --e 5 --f 6 --g 7 --h 8 --i 9 --j {}\n"
    )
    gold, said = terminus(command.format(1)), terminus(command.format(2))
    assert judged(gold, said) == (0.0, "different")
    assert judged(gold, said, "paper") == (1.0, "similar")
    assert judged(gold, said, "paper", threshold=0.99) == (0.0, "different")


def test_gym_mode_reads_pure_json_only():
    assert judged(LS, f"Here: {LS}", "gym") == (0.0, "not_json")
    assert judged(LS, f"<think>x</think>{LS}", "gym") == (1.0, "similar")


def test_keys_stay_apart_from_text():
    assert typed(["C-c", "a", "b\n"])[0] == ("key", "C-c")
    assert [kind for kind, _ in typed(["a\n", "C-c", "b"])] == ["ran", "key", "typed"]


def test_versions_tell_modes_apart():
    modes = ("functional", "paper", "gym")
    assert len({TerminusVerifier(mode).version for mode in modes}) == 3
    assert isinstance(TerminusVerifier(), Verifier)


@settings(max_examples=60)
@given(st.text(), st.sampled_from(["functional", "paper", "gym"]))
def test_total(said, mode):
    assert judged(LS, said, mode)[0] in (0.0, 1.0)
    assert judged(said, LS, mode)[0] in (0.0, 1.0)
    read(said, strict=True)
