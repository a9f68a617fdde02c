"""Chat Completions rows and the conventions inside their texts."""

import pytest
from trajectory_files import fixture, only, shape

from pivotlab.records import ToolCall


def test_structured_calls_parallel_results_reasoning_and_an_empty_turn():
    first = fixture("chat.jsonl").trajectories[0]
    assert shape(first) == [
        "system", "user", "assistant:weather,weather", "tool", "tool", "assistant",
        "assistant",
    ]  # fmt: skip
    calls = first.messages[2].tool_calls
    assert [c.arguments for c in calls] == [{"city": "Paris"}, {"city": "Rome"}]
    assert [m.content for m in first.messages[3:5]] == ["rain", "sun"]
    assert [m.tool_call_id for m in first.messages[3:5]] == ["b", "a"]
    assert first.messages[-1].reasoning == "Both are known now."
    assert first.skips == {5: "empty_turn"}
    assert first.tools[0]["function"]["name"] == "weather"


@pytest.mark.case(id="V3")
def test_messages_as_text_are_decoded_with_one_warning_about_schemas():
    report = fixture("chat.jsonl")
    hermes = report.trajectories[1]
    assert shape(hermes) == ["user", "assistant:weather", "tool", "assistant"]
    assert hermes.messages[1].reasoning == "Oslo it is."
    assert hermes.messages[2].content == "snow"
    assert report.notes["messages_as_text"] == 1
    (warning,) = report.warnings
    assert "2 of 3 trajectories call tools without schemas" in warning


def test_calls_and_observations_written_as_text():
    found = fixture("chat.jsonl").trajectories[2]
    assert shape(found) == ["user", "assistant:bash", "tool", "assistant"]
    assert found.messages[1].content == "Let me look."
    assert found.messages[1].tool_calls[0].arguments == {"command": "ls -a"}
    assert found.domain == "swe"


def test_an_observation_word_without_an_open_call_is_what_the_user_said():
    messages = [
        {"role": "user", "content": "OBSERVATION: the sky is blue"},
        {"role": "assistant", "content": "Yes."},
    ]
    assert shape(only({"messages": messages})) == ["user", "assistant"]


def test_old_function_calls_and_roles():
    messages = [
        {"role": "developer", "content": "rule"},
        {"role": "human", "content": [{"type": "text", "text": "hi"}]},
        {"role": "assistant", "function_call": {"name": "f", "arguments": '{"a": 1}'}},
        {"role": "function", "name": "f", "content": "r"},
        {"role": "model", "content": "done", "tool_calls": None, "refusal": None},
    ]
    found = only({"messages": messages})
    assert shape(found) == ["system", "user", "assistant:f", "tool", "assistant"]
    assert found.messages[2].tool_calls[0].arguments == {"a": 1}
    assert found.messages[3].tool_call_id == found.messages[2].tool_calls[0].id


@pytest.mark.case(id="V21")
def test_malformed_arguments_stay_raw_and_cost_nothing():
    broken = {"function": {"name": "open", "arguments": '{"path": "x'}}
    nameless = {"function": {"arguments": "{}"}}
    messages = [
        {"role": "user", "content": "u"},
        {"role": "assistant", "tool_calls": [broken, nameless, None]},
        {"role": "assistant", "content": "later"},
    ]
    found = only({"messages": messages})
    first, second = found.messages[1].tool_calls
    assert (first.name, first.arguments) == ("open", '{"path": "x')
    assert second.name == "" and "arguments" in second.arguments
    assert found.skips == {}


@pytest.mark.case(id="V55")
def test_text_that_ran_on_is_cut_and_flagged():
    text = "Thought: go.\nAction: go to desk 1\nObservation: On the desk 1, a pen 1."
    messages = [
        {"role": "user", "content": "u"},
        {"role": "assistant", "content": text},
    ]
    found = only({"messages": messages})
    assert found.messages[1].content == "Thought: go.\nAction: go to desk 1"
    assert found.meta["notes"] == {"ran_on": 1}


def test_react_as_chat_loses_its_outcome_and_keeps_its_reward():
    found = fixture("fireact.jsonl").trajectories[0]
    assert shape(found) == ["user", "assistant", "user", "assistant"]
    assert (found.reward, found.domain) == (0.5, "search")


@pytest.mark.parametrize("key", ["loss", "weight"])
def test_turns_that_the_log_excludes_from_training_are_canned(key):
    canned = {"role": "assistant", "content": "OK", key: False if key == "loss" else 0}
    found = only({"messages": [{"role": "user", "content": "u"}, canned]})
    assert found.skips == {1: "canned"}


def test_unknown_roles_are_an_error_with_place_and_choices():
    (error,) = [e for e in fixture("chat.jsonl").errors if e.field != "line"]
    assert (error.line, error.field) == (4, "messages[0].role")
    assert error.problem == "is 'wizard'" and "assistant" in error.fix


def test_a_call_keeps_its_id_where_it_is_the_first_of_its_name():
    messages = [{"role": "assistant", "tool_calls": [{"id": "x", "name": "f"}]}]
    assert only({"messages": messages}).messages[0].tool_calls == (
        ToolCall("f", "", "x"),
    )
