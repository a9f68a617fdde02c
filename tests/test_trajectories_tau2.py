"""tau2-bench simulations."""

import pytest
from trajectory_files import fixture, only, shape

from pivotlab.trajectories import tau2


def test_greeting_policy_parallel_calls_and_the_user_s_own_tools():
    found = fixture("tau2.json").trajectories[0]
    assert shape(found) == [
        "system", "assistant", "user", "assistant:weather,weather", "tool", "tool",
        "assistant", "user", "assistant:weather",
    ]  # fmt: skip
    assert found.messages[0].content == "Be a good agent."
    assert found.skips == {1: "canned"}
    assert [m.content for m in found.messages[4:6]] == ["rain", "sun"]
    assert found.messages[4].tool_call_id == found.messages[3].tool_calls[1].id
    notes = found.meta["notes"]
    assert (notes["user_tool_call"], notes["user_tool_result"]) == (1, 1)
    assert all(m.content != "restarted" for m in found.messages)


@pytest.mark.case(id="V13")
def test_the_step_limit_leaves_a_valid_last_call():
    found = fixture("tau2.json").trajectories[0]
    assert found.meta["termination_reason"] == "max_steps"
    assert 8 in found.assistant_turns() and 8 not in found.skips


def test_prepared_history_is_copied():
    found = fixture("tau2.json").trajectories[1]
    assert shape(found) == ["system", "user", "assistant", "user", "assistant"]
    assert found.skips == {2: "copied"}


@pytest.mark.case(id="V35")
def test_a_reward_of_one_can_stand_beside_a_missing_call():
    first, second = fixture("tau2.json").trajectories
    assert first.reward == 1.0 and tau2.passed_action_checks(first) is False
    assert tau2.passed_action_checks(second) is None


def test_voice_runs_say_no_messages_and_cost_only_themselves():
    report = fixture("tau2.json")
    assert report.loaded == 2 and report.failed == 1
    assert report.errors[0].problem.startswith("no messages")
    voice = fixture("tau2_voice.json")
    assert voice.format == "tau2" and voice.errors[0].problem.startswith("no messages")


def test_simulations_that_are_no_list_or_hold_no_objects_are_errors():
    assert only({"simulations": [{"messages": [{"role": "user", "content": "x"}]}]})
    report = fixture("tau2.json")
    assert report.turns == report.candidates + sum(report.skips.values()) == 6
