"""The tau-bench study on three hand-made trials."""

import json

import pytest

from pivotlab.experiments import record_tables
from pivotlab.experiments.logs import tool_calls as tool_call_study

READ = ("get_user", '{"id": "u1"}')
READ_SPACED = ("get_user", '{"id":"u1"}')
WRITE = ("cancel", '{"booking": "b1"}')
OTHER = ("cancel", '{"booking": "b2"}')


def trial(task: int, number: int, *turns) -> dict:
    traj = [{"role": "user", "content": "hi"}]
    for turn in turns:
        message = {"role": "assistant", "content": turn}
        if isinstance(turn, tuple):
            call = {"id": "c", "function": {"name": turn[0], "arguments": turn[1]}}
            message = {"role": "assistant", "content": None, "tool_calls": [call]}
        traj.append(message)
    return {"task_id": task, "trial": number, "traj": traj, "info": {}, "reward": 0}


@pytest.fixture
def data(tmp_path):
    path = tmp_path / tool_call_study.FILE
    path.parent.mkdir(parents=True)
    ask = "May I have your user ID to find the booking?"
    rows = [
        trial(0, 0, ask, READ, WRITE, "It is cancelled now, have a nice day."),
        trial(0, 1, "Please tell me your user ID.", READ_SPACED, OTHER, READ),
        trial(1, 0, "What would you like to do today?", OTHER),
    ]
    path.write_text(json.dumps(rows))
    return tmp_path


def test_pairs_stand_after_equal_calls(data):
    pairs = tool_call_study.call_pairs(
        tool_call_study.trials(data / tool_call_study.FILE)
    )
    assert [(p.gold.raw, p.said.raw) for p in pairs] == [
        (READ, READ_SPACED),
        (WRITE, OTHER),
    ]
    assert [len(p.history) for p in pairs] == [0, 1]
    row = pairs[1].candidate(())
    assert row.prefix[0].tool_calls[0].arguments == {"id": "u1"}


def test_texts_are_paired_by_place(data):
    by_task = tool_call_study.trials(data / tool_call_study.FILE)
    same = tool_call_study.text_pairs(by_task, other=False)
    assert [p.said.message.content for p in same] == ["Please tell me your user ID."]
    other = tool_call_study.text_pairs(by_task, other=True)
    assert {p.task for p in other} == {"0", "1"} and len(other) == 4


class FixedState:
    """A database that calls everything an equal effect, and knows no tools."""

    name, version = "tau2", "0"

    def tools(self):
        return ()

    def verify(self, row, action):
        from pivotlab.records import Verdict

        return Verdict(1.0, "same_effect")


def test_figures_by_hand(data):
    table, misses = tool_call_study.study(data / tool_call_study.FILE, FixedState())
    found = {row["measure"]: row for row in table}
    assert found["exact string accepts"]["share"] == 0.0
    assert found["tool_call accepts"]["share"] == 0.5
    assert found["exact string and tool_call disagree"]["share"] == 0.5
    assert found["tool_call and database agree"]["share"] == 0.5
    assert found["database accepts"]["share"] == 1.0
    rates = {row["verifier"]: (row["n"], row["miss_rate"]) for row in misses}
    assert rates == {"tool_call": (1, 1.0), "database state": (2, 1.0)}


def test_records_are_written(data, monkeypatch):
    monkeypatch.setattr(tool_call_study, "_airline", lambda: None)
    assert tool_call_study.main(["--data", str(data)]) == 0
    assert len(record_tables.read_records("tool_call_agreement")) == 5
    assert len(record_tables.read_records("miss_rate")) == 1


def test_without_data_it_says_what_to_give(tmp_path, capsys):
    assert tool_call_study.main(["--data", str(tmp_path)]) == 1
    assert "airline" in capsys.readouterr().out
