"""OpenHands event logs of both versions."""

import pytest
from trajectory_files import fixture, only, read, shape


def test_events_of_one_response_are_one_turn_and_noise_is_none():
    found = fixture("openhands_v0.json").trajectories[0]
    assert shape(found) == [
        "system", "user", "assistant:execute_bash,execute_bash", "tool", "tool",
        "assistant:finish",
    ]  # fmt: skip
    assert found.messages[2].content == "I look around."
    assert [m.content for m in found.messages[3:5]] == ["a.txt", "/home"]
    assert [t["function"]["name"] for t in found.tools] == ["execute_bash", "finish"]
    ids = [c.id for m in found.messages for c in m.tool_calls]
    assert len(set(ids)) == 3


def test_old_events_without_source_and_metadata():
    found = fixture("openhands_row.jsonl").trajectories[0]
    assert shape(found) == ["user", "assistant:run", "tool", "assistant"]
    assert found.messages[1].content == "I make the file."
    assert found.messages[1].tool_calls[0].arguments == {"command": "touch LICENSE"}
    assert found.uid == "openhands_row:tidy-1"


@pytest.mark.case(id="V1")
def test_an_empty_message_next_to_a_call_is_one_candidate():
    events = [
        {"id": 0, "source": "user", "action": "message", "args": {"content": "Go."}},
        {"id": 1, "source": "agent", "action": "run", "message": "",
         "args": {"command": "ls", "thought": ""}},
        {"id": 2, "source": "agent", "observation": "run", "cause": 1, "content": "a"},
    ]  # fmt: skip
    found = only(events)
    assert shape(found) == ["user", "assistant:run", "tool"]
    assert found.messages[1].content == "" and found.skips == {}


def test_sdk_events_with_parallel_calls_errors_and_reasoning():
    first = fixture("openhands_sdk.jsonl").trajectories[0]
    assert shape(first) == [
        "system", "user", "assistant:terminal,terminal", "tool", "tool",
    ]  # fmt: skip
    turn = first.messages[2]
    assert (turn.content, turn.reasoning) == ("Two looks.", "Be quick.")
    assert turn.tool_calls[0].arguments["security_risk"] == "LOW"
    assert [m.content for m in first.messages[3:]] == ["a b", "no such command"]


@pytest.mark.case(id="V7")
def test_after_a_condensation_prefixes_hold_the_summary():
    _, second = fixture("openhands_sdk.jsonl").trajectories
    assert shape(second) == ["system", "user", "user", "assistant:finish"]
    assert second.messages[2].content == "Two files were seen."
    assert all("a b" not in m.content for m in second.messages)


@pytest.mark.case(id="V7")
def test_survivors_of_a_condensation_are_copied_in_old_logs_too():
    def run(ident, command):
        arguments = {"command": command, "thought": ""}
        return {"id": ident, "source": "agent", "action": "run", "args": arguments}

    def saw(ident, text):
        return {"id": ident, "source": "agent", "observation": "run", "content": text}

    user = {"id": 0, "source": "user", "action": "message", "args": {"content": "Go."}}
    condense = {
        "id": 5, "source": "agent", "action": "condensation",
        "args": {"forgotten_events_start_id": 1, "forgotten_events_end_id": 2,
                 "summary": "One was seen.", "summary_offset": 1},
    }  # fmt: skip
    events = [user, run(1, "a"), saw(2, "one"), run(3, "b"), saw(4, "two"), condense]
    record = {"history": [*events, run(6, "c")], "instance_id": "i"}
    report = read(record)
    first, second = report.trajectories
    assert len(first.assistant_turns()) == 2 and first.skips == {}
    assert shape(second) == ["user", "user", "assistant:run", "tool", "assistant:run"]
    assert second.messages[1].content == "One was seen."
    assert second.skips == {2: "copied"}
    assert (report.turns, report.candidates) == (4, 3)


def test_an_error_without_a_call_is_what_the_agent_was_told():
    events = [
        {"id": 0, "source": "user", "action": "message", "args": {"content": "Go."}},
        {"id": 1, "source": "agent", "observation": "error", "content": "Bad call."},
    ]
    found = only(events)
    assert shape(found) == ["user", "user"]
    assert found.meta["notes"] == {"orphan_tool_result": 1}
