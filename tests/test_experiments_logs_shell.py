"""The InterCode study on two hand-made episodes."""

import json
import math

import pytest

from pivotlab.experiments import record_tables
from pivotlab.experiments.logs import shell as shell_study
from pivotlab.experiments.logs.shell import Row
from pivotlab.verifiers import sandbox

TASKS = [
    {"query": "count lines", "gold": "cat /testbed/a.txt | wc -l"},
    {"query": "list files", "gold": "ls -a -l /testbed"},
]


def episode(task: int, actions: list[str], rewards: list[float]) -> dict:
    n = len(actions)
    return {
        "environment": "ic_bash",
        "dataset": "./data/nl2bash/nl2bash_fs_1.json",
        "task_id": task,
        "query": TASKS[task]["query"],
        "turn_history": {
            "actions": actions,
            "observations": [""] * n,
            "rewards": rewards,
            "valid_action": [True] * n,
        },
        "summary": {"max_reward": max(rewards), "turns_taken": n, "turns_max": 10},
    }


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "data" / shell_study.SOURCE / "data"
    (folder / "nl2bash").mkdir(parents=True)
    (folder / "results" / "bash").mkdir(parents=True)
    (folder / "nl2bash" / "nl2bash_fs_1.json").write_text(json.dumps(TASKS))
    first, last = "wc -c /testbed/a.txt", "cat /testbed/a.txt | wc -l"
    react = [f"execute[{first}]", f"execute[{last}]", "submit"]
    episodes = [
        episode(0, ["wc -l < /testbed/a.txt"], [1.0]),
        episode(0, [first, "exit"], [0.67, 0.0]),
        episode(0, react, [0.0, 0.0, 1.0]),
        episode(1, ["ls -la /testbed"], [1.0]),
        episode(1, ["ls -la /testbed"], [1.0]),
    ]
    rows = {str(i): e for i, e in enumerate(episodes)}
    (folder / "results" / "bash" / "model.json").write_text(json.dumps(rows))
    return tmp_path / "data"


def test_rows_are_distinct_measured_and_know_their_history(data):
    rows = shell_study.read(data)
    assert len(rows) == 4
    later = [row for row in rows if row.history]
    assert [row.history for row in later] == [("wc -c /testbed/a.txt",)]
    assert {row.reward for row in rows} == {0.67, 1.0}


def test_the_harness_lost_quotes_inside_a_command():
    assert shell_study.as_recorded('ls "a b"') == "/bin/bash -c 'ls a' b"
    assert shell_study.as_recorded("ls a") == "/bin/bash -c 'ls a'"
    assert shell_study.as_recorded("echo \"it's") == "exit 126"


def test_precision_and_recall_by_hand():
    rows = [
        Row("fs_1", f"g{i}", (), "a", r) for i, r in enumerate((1.0, 1.0, 0.67, 0.0))
    ]
    found = shell_study.record("m", "s", "first", rows, [True, False, True, False])
    assert (found["n"], found["rewarded"], found["accepted"]) == (4, 2, 2)
    assert found["precision"] == 0.5 and found["recall"] == 0.5
    none = shell_study.record("m", "s", "first", rows, [False] * 4)
    assert math.isnan(none["precision"]) and none["recall"] == 0.0


def test_miss_rate_by_hand():
    found = shell_study.miss("x", "v", [(True, "a"), (False, "b"), (False, "c")])
    assert found["n"] == 3 and found["miss_rate"] == pytest.approx(2 / 3)


def test_verdicts_without_execution_follow_the_rules(data):
    for row in shell_study.read(data):
        spelled = row.action in ("ls -la /testbed", row.gold)
        assert shell_study.by_rule(row) is spelled
        assert shell_study.by_text(row) is (row.action == row.gold)
        assert shell_study.verdicts(row, None, False) == (spelled, "unexecuted")


def test_the_whole_study_on_the_synthetic_start(data, tmp_path):
    if reason := sandbox.reason_unavailable():
        pytest.skip(reason)
    assert shell_study.main(["--data", str(data)]) == 0
    table = record_tables.read_records("shell_verifier").set_index(["mode", "turns"])
    assert table.loc[("exact", "first"), "recall"] == "0"
    assert table.loc[("normalised", "first"), "recall"] == "0.5"
    executed = table.loc[("executed", "first")]
    assert (executed["precision"], executed["recall"]) == ("1", "1")
    assert table.loc[("executed", "all"), "n"] == "4"
    misses = record_tables.read_records("miss_rate").set_index(["source", "verifier"])
    assert misses.loc[("intercode, first turns", "normalised"), "miss_rate"] == "1"
    kept = list((tmp_path / "home" / ".cache" / "intercode").glob("*.jsonl"))
    assert len(kept) == 2


def test_without_data_it_says_what_to_give(tmp_path, capsys):
    assert shell_study.main(["--data", str(tmp_path)]) == 1
    assert shell_study.SOURCE in capsys.readouterr().out
