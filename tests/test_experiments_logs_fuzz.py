"""No broken output makes a verifier raise or take long."""

import random

import pytest

from pivotlab import tool_call_text
from pivotlab.experiments import record_tables
from pivotlab.experiments.logs import fuzz as verifier_fuzz
from pivotlab.records import Candidate, Message, ToolCall, Verdict

#: Run-time type checks, which only tests have, cost this factor.
CHECKED = 8


def check(tallies):
    for name, tally in tallies.items():
        assert not tally.exceptions, (name, tally.exceptions.most_common(3))
        assert tally.max_ms < CHECKED * verifier_fuzz.LIMIT_MS, name


def test_a_thousand_inputs():
    check(verifier_fuzz.fuzz(1020, seed=1))


@pytest.mark.slow
def test_a_hundred_thousand_inputs():
    tallies = verifier_fuzz.fuzz(102_000, seed=2)
    assert sum(t.inputs for t in tallies.values()) >= 100_000
    check(tallies)


HARD = (
    "[" * 100_000,
    '{"a":' * 50_000,
    "<tool_call>" * 20_000,
    "```bash\n" * 20_000,
    "<search>" * 20_000,
    "<command>" * 20_000 + "</command>",
    "a b " * 50_000,
    "\ud800" * 1000,
    "$(" * 2000,
    "((" * 3000,
    "'" * 5000,
    "cat <<A\n" * 700,
    "Action: click[" * 5000 + "]",
    "{1, 2}",
)


@pytest.mark.parametrize("text", HARD, ids=range(len(HARD)))
def test_long_and_nested_texts(text):
    turns = [Message("assistant", text), tool_call_text.parse(text)]
    turns.append(Message("assistant", "", (ToolCall("bash", text),)))
    call = '{"name": "bash", "arguments": ' + text + "}"
    turns.append(tool_call_text.parse(f"<tool_call>{call}</tool_call>"))
    good = Message("assistant", "ls -la", (ToolCall("bash", {"command": "ls"}),))
    for judge in verifier_fuzz.targets().values():
        for turn in turns:
            for gold, said in ((good, turn), (turn, good), (turn, turn)):
                row = Candidate("f", "f", 0, (), gold, domain="terminal")
                tally = verifier_fuzz.Tally()
                verifier_fuzz._count(tally, judge, row, said)
                assert not tally.exceptions, (judge.name, tally.exceptions)
                assert tally.max_ms < CHECKED * verifier_fuzz.LIMIT_MS, judge.name


def test_the_fuzz_finds_what_is_wrong(monkeypatch):
    class Fragile:
        name, version = "fragile", "1"

        def verify(self, row, action):
            if "\\" in action.content:
                raise IndexError("backslash")
            return Verdict(2.0 if action.content else 0.0, "fine")

    monkeypatch.setattr(verifier_fuzz, "targets", lambda: {"fragile": Fragile()})
    tally = verifier_fuzz.fuzz(150)["fragile"]
    assert tally.inputs == 150
    kinds = {what.partition(":")[0] for what in tally.exceptions}
    assert kinds == {"IndexError", "ValueError"}


def test_the_same_seed_makes_the_same_inputs():
    made = [verifier_fuzz.make(random.Random(7)) for _ in range(2)]
    assert repr(made[0]) == repr(made[1])


def test_the_record_and_the_exit_code(monkeypatch):
    assert verifier_fuzz.main(["--inputs", "17"]) == 0
    table = record_tables.read_records("fuzz")
    assert set(table["room"]) == {"verifiers"} and len(table) == 17
    assert set(table["exceptions"]) == {"0"}
