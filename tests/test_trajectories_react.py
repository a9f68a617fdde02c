"""ReAct-style flat text."""

import pytest
from trajectory_files import FOLDER, fixture, only, read, shape

from pivotlab.trajectories import react


def test_answered_thoughts_are_turns_and_unanswered_ones_belong_to_the_next_action():
    react_put, act_put = fixture("react_games.json").trajectories
    said = [m.content for m in react_put.messages if m.role == "assistant"]
    assert said == [
        "think: I need a pen.", "go to drawer 1", "go to drawer 2", "open drawer 1",
    ]  # fmt: skip
    assert react_put.skips == {1: "thought_only"}
    assert react_put.messages[3].reasoning == "think: A drawer may hold it."
    assert react_put.meta["notes"] == {"truncated": 1}
    assert react_put.uid == "react_games:react_put_0"
    assert shape(act_put) == ["user", *["assistant", "user"] * 3]
    assert act_put.messages[0].content.endswith("put a pen on desk.")


@pytest.mark.case(id="V54")
def test_an_answer_of_nothing_happens_is_marked_and_stays_a_candidate():
    act_put = fixture("react_games.json").trajectories[1]
    assert act_put.contexts == {3: {"refused": True}} and act_put.skips == {}


def test_knowagent_lines_are_reasoning_and_results_may_be_numbers():
    good, bad = fixture("knowagent.jsonl").trajectories
    assert [m.content for m in good.messages if m.role == "assistant"] == [
        "go to drawer 1", "take pen 1 from drawer 1", "",
    ]  # fmt: skip
    assert good.messages[1].reasoning == "Think: First the drawer.\nActionPath: Start"
    assert good.skips == {5: "thought_only"}
    assert (good.reward, bad.reward) == (1.0, 0.0)
    assert good.meta["task"] == "put/trial_1" and good.uid != bad.uid


def test_examples_of_a_prompt_are_no_turns_and_the_verdict_is_no_message():
    found = fixture("hotpot.jsonl").trajectories[0]
    assert shape(found) == ["user", "assistant", "user", "assistant"]
    assert found.messages[0].content.startswith("Solve.")
    assert found.messages[1].content == "Thought 1: I search.\nAction 1: Search[it]"
    assert found.reward == 1.0 and found.domain == "search"


def test_instruction_rows_and_keyed_rollouts():
    alpaca = fixture("alpaca.json").trajectories[0]
    assert shape(alpaca) == ["user", "assistant", "user", "assistant"]
    rollout = fixture("fireact_rollouts.json").trajectories[0]
    assert shape(rollout) == ["user", "assistant"]
    assert rollout.uid == "fireact_rollouts:77" and rollout.reward == 0.0


def test_a_response_after_an_instruction_header():
    text = "### Instruction:\nWho?\n\n### Response:\nThought: a\nAction: finish[Ann]\n"
    found = only({"traj": text})
    assert shape(found) == ["user", "assistant"]
    assert found.messages[0].content.endswith("### Response:") is False


@pytest.mark.case(id="V53")
def test_a_printed_shop_log_holds_episodes_with_refused_actions():
    first, second = fixture("webshop.txt").trajectories
    assert first.skips == {0: "canned", 4: "thought_only", 6: "invalid_action"}
    assert [first.messages[i].content for i in (2, 8)] == [
        "Action: search[blue mug]", "Action: click[B001]",
    ]  # fmt: skip
    assert first.reward == 0.5 and len(first.messages) == 9
    assert (first.uid, second.uid) == ("webshop:0", "webshop:1")
    assert {first.domain, second.domain} == {"shop"}


def test_a_notebook_s_output_is_read_like_the_log():
    text = (FOLDER / "webshop.txt").read_text()
    half = len(text) // 2
    outputs = [{"text": text[:half].splitlines(True)}, {"text": text[half:]}]
    report = read({"cells": [{"cell_type": "code", "outputs": outputs}, {"x": 1}]})
    assert report.format == "react_notebook"
    log = fixture("webshop.txt").trajectories
    assert [t.messages for t in report.trajectories] == [t.messages for t in log]


def test_alternating_lines_survive_a_thought_that_was_taken_out():
    found = fixture("agentbench.json").trajectories[0]
    assert shape(found) == ["user", "assistant", "user", "assistant"]
    assert found.messages[1].content == "go to drawer 1"
    assert found.meta["notes"] == {"orphan_observation": 1}


@pytest.mark.parametrize(
    "text, kept, ran_on",
    [
        ("Action: go\nObservation: x", "Action: go", True),
        ("Action 2: go\nObservation 2: x\nAction 3: y", "Action 2: go", True),
        ("Observation: x\nAction: go", "Observation: x\nAction: go", False),
        ("The Observation: is late", "The Observation: is late", False),
    ],
)
@pytest.mark.case(id="V55")
def test_cutting_at_the_first_observation_the_model_wrote(text, kept, ran_on):
    assert react.cut_run_on(text) == (kept, ran_on)
