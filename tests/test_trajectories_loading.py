"""Files in, every assistant turn accounted for, errors that cost only their row."""

import csv
import gzip
import json
import subprocess
import sys
from collections import Counter

import pytest
from trajectory_files import FOLDER, fixture

from pivotlab import paths
from pivotlab.trajectories import registry
from pivotlab.trajectories.loading import COLUMNS, LoadReport, load, main, stream

#: fixture: (trajectories, assistant turns, candidates), counted by hand.
COUNTS = {
    "agentbench.json": (1, 2, 2),
    "alpaca.json": (1, 2, 2),
    "anthropic.json": (1, 2, 2),
    "atif.json": (2, 6, 4),
    "chat.jsonl": (3, 7, 6),
    "chat.jsonl.gz": (3, 7, 6),
    "coding_cli.jsonl": (2, 3, 3),
    "fireact.jsonl": (1, 2, 2),
    "fireact_rollouts.json": (1, 1, 1),
    "gym.jsonl": (3, 4, 3),
    "hotpot.jsonl": (1, 2, 2),
    "intercode.json": (2, 4, 3),
    "knowagent.jsonl": (2, 6, 4),
    "mini_list.traj.json": (1, 3, 2),
    "nebius.jsonl": (1, 2, 2),
    "openhands_row.jsonl": (1, 2, 2),
    "openhands_sdk.jsonl": (2, 2, 2),
    "openhands_v0.json": (1, 2, 2),
    "prompt_completion.jsonl": (2, 3, 2),
    "react_games.json": (2, 7, 6),
    "search_r1.jsonl": (1, 2, 2),
    "sharegpt.jsonl": (3, 7, 5),
    "swe_agent.traj": (1, 3, 2),
    "swe_agent_steps.traj": (1, 2, 2),
    "tau2.json": (2, 6, 4),
    "tau_bench.json": (2, 8, 8),
    "tau_few_shot.jsonl": (1, 3, 2),
    "terminal_trial": (1, 2, 2),
    "toolbench.json": (2, 5, 3),
    "tooleval.json": (1, 4, 2),
    "webshop.txt": (2, 7, 3),
}
CHAT = {
    "messages": [
        {"role": "user", "content": "u"},
        {"role": "assistant", "content": "a"},
    ]
}


def put(path, content):
    path.write_text(content) if isinstance(content, str) else path.write_bytes(content)
    return path


@pytest.mark.parametrize("name", COUNTS)
def test_counts_of_the_hand_written_files(name):
    report = fixture(name)
    assert (report.loaded, report.turns, report.candidates) == COUNTS[name]


@pytest.mark.parametrize("name", COUNTS)
def test_candidates_and_skips_are_the_assistant_turns(name):
    report = fixture(name)
    turns = [(t, i) for t in report.trajectories for i in t.assistant_turns()]
    skipped = [(t, i) for t, i in turns if i in t.skips]
    assert len(turns) == report.turns
    assert Counter(t.skips[i] for t, i in skipped) == report.skips
    assert report.candidates + sum(report.skips.values()) == report.turns
    for trajectory in report.trajectories:
        assert trajectory.skips.keys() <= set(trajectory.assistant_turns())
        assert trajectory.contexts.keys() <= set(trajectory.assistant_turns())


def test_counting_keeps_nothing_and_streaming_gives_the_same():
    kept, counted = fixture("sharegpt.jsonl"), fixture("sharegpt.jsonl", keep=False)
    assert counted.trajectories == [] and counted.row() == kept.row()
    report = LoadReport("x")
    assert list(stream(FOLDER / "sharegpt.jsonl", report)) == kept.trajectories


@pytest.mark.parametrize(
    "content",
    [
        json.dumps(CHAT),
        json.dumps(CHAT, indent=2),
        json.dumps([CHAT], indent=2),
        "[\n" + json.dumps(CHAT) + "\n]",
        json.dumps({"row": CHAT}),
        "\n\n" + json.dumps(CHAT) + "\n\n",
        "(a placeholder line)\n" + json.dumps(CHAT),
        json.dumps(CHAT).encode("utf-8-sig"),
        (json.dumps(CHAT) + "\r\n").encode(),
        gzip.compress(json.dumps(CHAT).encode()),
    ],
    ids=[
        "line", "pretty", "pretty list", "compact list", "object of rows",
        "blank lines", "placeholder", "byte order mark", "crlf", "gzip",
    ],
)  # fmt: skip
def test_the_same_row_in_every_wrapping(content, tmp_path):
    report = load(put(tmp_path / "x", content))
    assert [len(t.messages) for t in report.trajectories] == [2]


@pytest.mark.parametrize(
    "content, problem",
    [
        ("", "is empty"),
        ('{"messages": [\n', "line 1 column 15"),
        ("no trajectory at all", "is not JSON"),
        ('{"messages": [', "is not JSON"),
        (b"\xff\xfe\x00", "is not JSON"),
        ("[]", "unknown format (a list)"),
        (
            '{"messages": [{"role": "user", "content": '
            + "[" * 900
            + "]" * 900
            + "}]}",
            "",
        ),
    ],
)
def test_files_without_trajectories_are_one_clear_error(content, problem, tmp_path):
    report = load(put(tmp_path / "x.json", content))
    assert report.turns == 0
    assert problem == "" or problem in report.errors[0].problem


def test_an_error_names_file_line_field_and_fix(tmp_path):
    bad = {"messages": [{"role": "user", "content": "u"}, {"role": "wizard"}]}
    rows = [json.dumps(CHAT), json.dumps(bad), "{broken", json.dumps(CHAT)]
    path = put(tmp_path / "x.jsonl", "\n".join(rows))
    report = load(path)
    assert (report.loaded, report.failed) == (2, 2)
    first, second = map(str, report.errors)
    assert first.startswith(
        f"{path}:2 messages[1].role: is 'wizard'; use one of agent,"
    )
    assert second.startswith(f"{path}:3 line: is not JSON")
    assert "failed=2" in report.row()["reasons"]


def test_many_errors_are_counted_and_the_first_described(tmp_path):
    path = put(tmp_path / "x.jsonl", "\n".join([json.dumps(CHAT)] + ["{"] * 500))
    report = load(path)
    assert (report.failed, len(report.errors), report.loaded) == (500, 100, 1)


def test_uids_are_unique_within_a_file(tmp_path):
    rows = [{**CHAT, "id": "same"}] * 3 + [CHAT, CHAT]
    report = load(put(tmp_path / "x.jsonl", "\n".join(map(json.dumps, rows))))
    uids = [t.uid for t in report.trajectories]
    assert uids[:3] == ["x:same", "x:same#2", "x:same#3"] and len(set(uids)) == 5


@pytest.mark.case(id="V16")
def test_values_of_mixed_types_stay_exactly_as_logged(tmp_path):
    times = ["2025-08-01", 1690876800]
    rows = []
    for value in times:
        arguments = json.dumps({"time": value})
        call = {"function": {"name": "f", "arguments": arguments}}
        rows.append({"messages": [{"role": "assistant", "tool_calls": [call]}]})
    report = load(put(tmp_path / "x.jsonl", "\n".join(map(json.dumps, rows))))
    found = [t.messages[0].tool_calls[0].arguments["time"] for t in report.trajectories]
    assert found == times and [type(v) for v in found] == [str, int]


def test_a_missing_file_and_a_plain_folder(tmp_path):
    with pytest.raises(FileNotFoundError, match="no such file; give a trajectory file"):
        load(tmp_path / "nothing.jsonl")
    assert load(tmp_path).errors[0].fix == "give the files inside one by one"


def test_the_command_prints_and_records_the_counts(tmp_path, capsys):
    out = tmp_path / "deep" / "loaders.csv"
    given = [str(FOLDER / "terminal_trial"), str(FOLDER / "sharegpt.jsonl")]
    assert main([*given, "--root", str(FOLDER), "--out", str(out)]) == 0
    with out.open() as handle:
        rows = list(csv.DictReader(handle))
    assert tuple(rows[0]) == COLUMNS
    assert rows[1] == {
        "file": "sharegpt.jsonl",
        "format": "sharegpt",
        "trajectories": "3",
        "assistant_turns": "7",
        "candidates": "5",
        "skips": "2",
        "reasons": "canned=2",
    }
    assert "sharegpt.jsonl\tsharegpt\t3\t7\t5\t2\tcanned=2" in capsys.readouterr().out
    assert main([str(tmp_path / "nothing")]) == 1


def test_the_command_searches_folders_for_trajectory_files(tmp_path, capsys):
    put(tmp_path / "LICENSE", "words")
    put(tmp_path / "a.jsonl", json.dumps(CHAT))
    assert main([str(tmp_path)]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1


STREAM = """
import resource, sys
from pivotlab.trajectories.loading import load
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
report = load(sys.argv[1], keep=False)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(report.loaded, report.turns, before // 1024, peak // 1024)
"""


@pytest.mark.slow
@pytest.mark.parametrize("packed", [False, True])
def test_a_gigabyte_is_streamed_in_300_megabytes(packed, tmp_path):
    """Peak memory of the whole process, in MB, with the interpreter and all imports."""
    turn = {
        "role": "assistant",
        "content": "go to shelf 1 and look again, please. " * 50,
    }
    row = json.dumps({"messages": [CHAT["messages"][0], turn] * 25}).encode() + b"\n"
    count = 2**30 // len(row) + 1
    path = tmp_path / ("big.jsonl.gz" if packed else "big.jsonl")
    with gzip.open(path, "wb", 1) if packed else path.open("wb") as handle:
        for _ in range(count):
            handle.write(row)
    result = run(STREAM, str(path))
    loaded, turns, before, peak = map(int, result.split())
    print(f"1 GB streamed: {before} MB before, {peak} MB peak")
    assert (loaded, turns) == (count, 25 * count)
    assert peak <= 300


def run(code, *arguments):
    """Output of code in a fresh interpreter, where no type checks slow it down."""
    result = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        check=True,
    )
    return result.stdout


def test_real_files_give_the_recorded_counts(mirror, tmp_path):
    module = (
        "from pivotlab.trajectories.loading import main; import sys; main(sys.argv[1:])"
    )
    out = tmp_path / "loaders.csv"
    run(module, str(mirror), "--root", str(mirror), "--out", str(out))
    recorded = (paths.RESULTS / "loaders.csv").read_text()
    assert out.read_text() == recorded
    rows = list(csv.DictReader(recorded.splitlines()))
    assert {row["file"] for row in rows} == registry.entries().keys()
    for row in rows:
        turns, candidates, skips = (
            int(row[k]) for k in ("assistant_turns", "candidates", "skips")
        )
        assert turns == candidates + skips


AIRLINE = """
import sys
from pivotlab.trajectories.loading import load
found = load(sys.argv[1]).trajectories
calls = [[c.id for m in t.messages for c in m.tool_calls] for t in found]
print(len(found), sum(len(t.assistant_turns()) for t in found), sum(map(len, calls)))
print(int(sum(t.reward for t in found)), sum(len(set(c)) < len(c) for c in calls))
print(sum(any(i.count("_") > 1 for i in c) for c in calls))
"""


def test_the_airline_counts_that_the_source_states_are_met(mirror):
    name = "sierra-research__tau-bench/historical_trajectories/gpt-4o-airline.json"
    first, second, renamed = run(AIRLINE, str(mirror / name)).splitlines()
    assert first == "200 2454 1164"
    assert second == "84 0" and renamed == "49"


@pytest.mark.parametrize(
    "folder, ending, trajectories, turns",
    [
        ("yoheinakajima__activegraph-tau2-bench", ".json", 29, 193),
        ("Alibaba-NLP__DeepResearch", "sample_traj.jsonl", 200, 422),
        ("SWE-agent__SWE-agent", ".traj", 22, 230),
        ("SWE-agent__mini-swe-agent", ".json", 2, 12),
        ("SWE-bench__SWE-smith", ".traj", 3, 76),
        ("SWE-bench__SWE-smith", ".jsonl", 3, 103),
        ("ysymyth__ReAct", ".json", 36, 479),
        ("zjunlp__KnowAgent", "D0.jsonl", 510, 9238),
        ("zjunlp__KnowAgent", "ALFWorld_processed_knowagent.jsonl", 218, 2352),
        ("princeton-nlp__intercode", ".json", 755, 4829),
    ],
)
def test_recorded_counts_agree_with_a_count_by_other_means(
    folder, ending, trajectories, turns
):
    """The right-hand numbers come from the sources or from counting roles by hand."""
    with (paths.RESULTS / "loaders.csv").open() as handle:
        rows = [
            row
            for row in csv.DictReader(handle)
            if row["file"].startswith(folder) and row["file"].endswith(ending)
        ]
    assert sum(int(row["trajectories"]) for row in rows) == trajectories
    assert sum(int(row["assistant_turns"]) for row in rows) == turns
