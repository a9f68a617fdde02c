"""ShareGPT rows, AgentInstruct and ETO among them."""

import json

import pytest
from trajectory_files import fixture, only, shape


@pytest.mark.case(id="V10")
def test_function_calls_and_answers_are_both_model_output():
    found = fixture("sharegpt.jsonl").trajectories[0]
    assert shape(found) == ["system", "user", "assistant:weather", "tool", "assistant"]
    assert found.skips == {}
    assert found.tools[0]["function"]["name"] == "weather"
    assert found.messages[3].name == "weather"


def test_agent_instruct_marks_its_acknowledgement():
    found = fixture("sharegpt.jsonl").trajectories[1]
    assert found.skips == {1: "canned"}
    assert found.domain == "textgame"
    assert found.messages[3].content.endswith("ACTION: go to drawer 1")


def test_eto_starts_with_ok_and_runs_on():
    found = fixture("sharegpt.jsonl").trajectories[2]
    assert found.skips == {1: "canned"}
    assert found.messages[3].content == "Thought: look.\nAction: open drawer 1"
    assert found.contexts[3] == {"refused": True}
    assert found.meta["notes"] == {"ran_on": 1} and found.domain == "textgame"


@pytest.mark.parametrize("value", ["no json", '{"arguments": {}}', ""])
def test_an_unreadable_function_call_is_a_nameless_call(value):
    turns = [
        {"from": "human", "value": "u"},
        {"from": "function_call", "value": value},
        {"from": "observation", "value": "r"},
    ]
    found = only({"conversations": turns})
    assert shape(found) == ["user", "assistant:", "tool"]
    assert found.messages[1].tool_calls[0].arguments == value


def test_an_only_answer_of_ok_is_a_decision():
    turns = [{"from": "human", "value": "Ready?"}, {"from": "gpt", "value": "OK"}]
    assert only({"conversations": turns}).skips == {}


def test_role_and_content_under_conversations_and_text_columns():
    turns = [{"role": "user", "content": "u"}, {"role": "assistant", "content": "a"}]
    assert shape(only({"conversations": turns})) == ["user", "assistant"]
    assert shape(only({"conversations": json.dumps(turns)})) == ["user", "assistant"]
