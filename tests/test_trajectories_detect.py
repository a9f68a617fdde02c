"""Formats are told apart by content."""

import json

import pytest
from trajectory_files import FOLDER, fixture

from pivotlab.trajectories import detect

FORMATS = {
    "agentbench.json": "text_list",
    "alpaca.json": "react_text",
    "anthropic.json": "chat",
    "atif.json": "atif",
    "chat.jsonl": "chat",
    "chat.jsonl.gz": "chat",
    "coding_cli.jsonl": "coding_cli",
    "fireact.jsonl": "chat",
    "fireact_rollouts.json": "role_list_column",
    "gym.jsonl": "nemo_gym",
    "hotpot.jsonl": "react_text",
    "intercode.json": "intercode",
    "knowagent.jsonl": "react_text",
    "mini_list.traj.json": "mini_swe_agent",
    "mini_v1.traj.json": "mini_swe_agent",
    "mini_v11.traj.json": "mini_swe_agent",
    "nebius.jsonl": "role_list_column",
    "openhands_row.jsonl": "openhands",
    "openhands_sdk.jsonl": "openhands_sdk",
    "openhands_v0.json": "openhands",
    "prompt_completion.jsonl": "prompt_completion",
    "react_games.json": "react_text",
    "search_r1.jsonl": "chat",
    "sharegpt.jsonl": "sharegpt",
    "swe_agent.traj": "swe_agent",
    "swe_agent_steps.traj": "swe_agent",
    "tau2.json": "tau2",
    "tau2_voice.json": "tau2",
    "tau_bench.json": "tau_bench",
    "tau_few_shot.jsonl": "tau_few_shot",
    "terminal_trial": "terminal_bench",
    "toolbench.json": "toolbench_tree",
    "toolbench_lost.json": "toolbench_tree",
    "tooleval.json": "toolbench_answer",
    "webshop.txt": "react_text",
    "intercode_gold.json": "unknown",
    "unknown_reflexion.json": "unknown",
    "unknown_tree.json": "unknown",
}


def test_every_fixture_is_in_the_table():
    assert {p.name for p in FOLDER.iterdir()} == FORMATS.keys()


@pytest.mark.parametrize("name", FORMATS)
def test_a_file_is_recognised_by_its_content(name):
    assert fixture(name).format == FORMATS[name]


@pytest.mark.parametrize("name", FORMATS)
def test_the_file_name_plays_no_part(name, tmp_path):
    if (FOLDER / name).is_dir():
        return
    copy = tmp_path / "x"
    copy.write_bytes((FOLDER / name).read_bytes())
    from pivotlab.trajectories.loading import load

    assert load(copy).format == FORMATS[name]


@pytest.mark.parametrize(
    "record, keys",
    [
        ({"a": 1, "b": {"children": []}}, "keys ['a', 'b']"),
        ([[{"gold": 1, "query": 2}]], "keys ['gold', 'query']"),
        ([], "a list"),
        (None, "null"),
        ("just text", "a string"),
        ({"messages": 3}, "keys ['messages']"),
    ],
)
def test_an_unknown_record_is_named_by_its_keys(record, keys):
    assert detect.detect(record) is None
    error = detect.unknown(record)
    assert error.problem == f"unknown format ({keys})"
    assert "convert it to rows with `messages`" in error.fix


def test_containers_are_opened_and_records_are_not():
    row = {"turn_history": {"actions": []}}
    assert list(detect.rows({"0": row, "1": row})) == [("0", row), ("1", row)]
    assert list(detect.rows([row])) == [(0, row)]
    assert list(detect.rows(row)) == [(None, row)]
    assert list(detect.rows({"x": 1})) == [(None, {"x": 1})]


def test_an_entry_of_no_format_is_an_error_and_its_neighbours_are_read(tmp_path):
    from pivotlab.trajectories.loading import load

    record = json.loads((FOLDER / "intercode.json").read_text())
    record["2"] = {"oops": 1}
    (tmp_path / "x.json").write_text(json.dumps(record, indent=1))
    report = load(tmp_path / "x.json")
    assert report.loaded == 2
    assert [(e.place, e.problem) for e in report.errors] == [
        ("['2']", "unknown format (keys ['oops'])")
    ]
