"""Responses items and NeMo Gym rows."""

import pytest
from trajectory_files import fixture, only, shape

from pivotlab.trajectories import responses
from pivotlab.trajectories.fields import FormatError


def call(name, ident):
    return {"type": "function_call", "name": name, "call_id": ident, "arguments": "{}"}


def result(ident):
    return {"type": "function_call_output", "call_id": ident, "output": ident}


def said(text):
    content = [{"type": "output_text", "text": text}]
    return {"type": "message", "role": "assistant", "content": content}


@pytest.mark.case(id="V9")
def test_a_turn_is_a_run_of_items():
    items = [
        said("text"), call("a", "1"), call("b", "2"), result("1"), result("2"),
        call("c", "3"), result("3"),
    ]  # fmt: skip
    found = only({"input": "u", "output": items})
    assert shape(found) == [
        "user", "assistant:a,b", "tool", "tool", "assistant:c", "tool",
    ]  # fmt: skip
    assert found.messages[1].content == "text"


@pytest.mark.parametrize(
    "items, turns",
    [
        ([said("a"), said("b")], 2),
        ([call("a", "1"), said("b")], 2),
        ([call("a", "1"), call("b", "2")], 1),
        ([said(""), call("a", "1")], 1),
        ([{"type": "reasoning", "summary": []}, call("a", "1")], 1),
        ([said("a"), {"type": "reasoning", "summary": []}, said("b")], 2),
    ],
)
def test_where_one_turn_ends_and_the_next_begins(items, turns):
    assert len(only({"input": "u", "output": items}).assistant_turns()) == turns


def test_a_rollout_row():
    found = fixture("gym.jsonl").trajectories[0]
    assert shape(found) == [
        "user", "assistant:weather,weather", "tool", "tool", "assistant:weather",
        "tool",
    ]  # fmt: skip
    assert found.messages[1].reasoning == "Two cities."
    assert found.messages[4].content == ""
    assert (found.uid, found.reward) == ("gym:4-1", 1.0)
    assert found.meta["agent"] == "weather_agent" and found.meta["task"] == "4"


def test_a_pivot_row_has_one_decision_and_its_history_is_context():
    found = fixture("gym.jsonl").trajectories[1]
    assert shape(found) == ["system", "user", "assistant", "user", "assistant:weather"]
    assert found.skips == {2: "context"}
    assert found.meta["pass_rate"] == 0.25


def test_a_prompt_without_an_answer_has_no_turns():
    found = fixture("gym.jsonl").trajectories[2]
    assert shape(found) == ["user"] and found.assistant_turns() == []


def test_a_call_that_nothing_answered_is_a_candidate():
    found = only(
        {"input": "u", "output": [call("a", "1"), call("b", "2"), result("1")]}
    )
    assert found.skips == {} and shape(found)[-1] == "tool"


def test_instructions_inline_thinking_and_unknown_items():
    row = {
        "responses_create_params": {"input": "u", "instructions": "Be kind."},
        "response": {
            "output": [said("<think>t</think>yes"), {"type": "web_search_call"}]
        },
    }
    found = only(row)
    assert shape(found) == ["system", "user", "assistant"]
    assert (found.messages[2].reasoning, found.messages[2].content) == ("t", "yes")
    assert found.meta["notes"] == {"unknown_item:web_search_call": 1}


@pytest.mark.parametrize(
    "action, calls, text",
    [
        ({"type": "message", "content": "hi"}, [], "hi"),
        ({"type": "function_call", "name": "f", "arguments": '{"a": 1}'},
         [{"a": 1}], ""),
        ({"type": "function_call", "name": "f", "arguments": {"a": 1}}, [{"a": 1}], ""),
        ({"type": "function_call_batch", "calls": [call("a", "1"), call("b", "2")]},
         [{}, {}], ""),
    ],
)  # fmt: skip
def test_the_three_kinds_of_expected_action(action, calls, text):
    found = responses.expected_action({"expected_action": action})
    assert [c.arguments for c in found.tool_calls] == calls and found.content == text


def test_a_terminal_row_expects_an_answer_text():
    row = {"expected_answer": "{}", "metadata": {"harness": "terminus_1"}}
    assert responses.expected_action(row).content == "{}"
    assert responses.expected_action({"expected_answer": "42"}) is None
    with pytest.raises(FormatError, match="expected_action.type: is 'dance'"):
        responses.expected_action({"expected_action": {"type": "dance"}})


def test_a_bare_item_list():
    found = only([{"type": "message", "role": "user", "content": "u"}, call("a", "1")])
    assert shape(found) == ["user", "assistant:a"]
