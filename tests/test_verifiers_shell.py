"""Shell verdicts: the same command passes, another never, however alike it looks."""

from difflib import SequenceMatcher

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from verdict_rows import call, candidate, say

from pivotlab.verifiers import shell
from pivotlab.verifiers.protocol import Verifier
from pivotlab.verifiers.shell import ShellVerifier


def judged(gold, action, mode="functional"):
    row = candidate(gold, domain="terminal")
    verdict = ShellVerifier(mode).verify(row, action)
    return verdict.reward, verdict.category


@pytest.mark.parametrize(
    ("gold", "said", "reward", "category"),
    [
        ("ls -la", "ls -a -l", 1.0, "same"),
        ("ls -la", "```bash\nls -al\n```", 1.0, "same"),
        ("ls -la", "ls", 0.0, "different"),
        ("ls -la", "", 0.0, "no_command"),
        (
            'git commit -m "Fix the parser for empty lines"',
            'git commit -m "Fix parser: empty lines"',
            1.0,
            "same_but_prose",
        ),
        (
            'git commit -m "Fix the parser for empty lines"',
            'git commit -m "Fix the parser for 3 empty lines"',
            0.0,
            "different",
        ),
    ],
)
def test_categories(gold, said, reward, category):
    assert judged(say(gold), say(said)) == (reward, category)


def test_commands_in_calls():
    gold = call("bash", command="ls -la")
    assert judged(gold, call("bash", command="ls -l -a")) == (1.0, "same")
    assert judged(gold, call("bash", command="ls")) == (0.0, "different")
    assert judged(gold, call("edit", path="a")) == (0.0, "called_other_tool")
    assert judged(gold, say("ls -la")) == (0.0, "no_command")


def test_a_turn_without_a_command_goes_to_the_text_rule():
    gold = call("ask", question="Which file?")
    assert judged(gold, say("ls"))[1] == "call_expected"


@pytest.mark.parametrize(
    ("gold", "said"),
    [
        ("rm -rf /data/a", "rm -rf /data/b"),
        ("git push origin main", "git push origin main --force"),
        ("python train.py --lr 0.1", "python train.py --lr 0.2"),
    ],
)
@pytest.mark.case(id="D4")
def test_alike_to_the_eye_is_not_the_same_command(gold, said):
    assert SequenceMatcher(None, gold, said).ratio() > 0.8
    assert judged(say(gold), say(said)) == (0.0, "different")
    assert judged(say(gold), say(said), "paper")[0] == 0.0


@pytest.mark.case(id="D4")
def test_other_spelling_is_the_same_command():
    assert SequenceMatcher(None, "ls -la", "ls -l -a").ratio() < 0.9
    assert judged(say("ls -la"), say("ls -l -a")) == (1.0, "same")


@pytest.mark.case(id="D4")
def test_repetitive_text_keeps_its_similarity():
    gold = "echo " + "ab " * 400
    said = gold.replace("ab", "ac", 1)
    assert SequenceMatcher(None, gold, said).ratio() < 0.1
    assert shell.similarity(gold, said) > 0.99
    assert judged(say(gold), say(said)) == (0.0, "different")
    assert judged(say(gold), say(said), "paper") == (1.0, "similar")


def test_versions_tell_modes_apart():
    assert ShellVerifier().version != ShellVerifier("paper").version
    assert isinstance(ShellVerifier(), Verifier)


@settings(max_examples=60)
@given(st.text(max_size=40), st.text(max_size=40))
def test_total_and_reflexive(gold, said):
    assert judged(say(gold), say(said))[0] in (0.0, 1.0)
    assert 0.0 <= shell.similarity(gold, said) <= 1.0
    assert shell.similarity(gold, gold) == 1.0
    assert not gold.strip() or judged(say(gold), say(gold))[0] == 1.0
