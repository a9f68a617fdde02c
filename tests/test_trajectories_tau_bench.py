"""tau-bench results and few-shot dialogues."""

import pytest
from trajectory_files import fixture, shape


def test_results_rows_have_rewards_tasks_and_trials():
    report = fixture("tau_bench.json")
    assert [t.uid for t in report.trajectories] == ["tau_bench:3-0", "tau_bench:3-1"]
    assert [t.reward for t in report.trajectories] == [0.0, 1.0]
    assert {t.meta["task"] for t in report.trajectories} == {"3"}
    found = report.trajectories[0]
    assert found.messages[-1].content == "Thanks!"
    assert found.meta["gold_actions"][0]["name"] == "cancel"


@pytest.mark.case(id="V12")
def test_a_repeated_call_id_loses_nothing():
    found = fixture("tau_bench.json").trajectories[0]
    assert shape(found)[4:9] == [
        "assistant:get_order", "tool", "assistant:cancel", "tool", "assistant",
    ]  # fmt: skip
    assert [m.content for m in found.messages if m.role == "tool"] == ["open", "done"]
    first, second = (found.messages[i].tool_calls[0].id for i in (4, 6))
    assert first != second
    assert [found.messages[i].tool_call_id for i in (5, 7)] == [first, second]


def test_few_shot_turns_whose_call_was_not_recorded_are_skipped():
    found = fixture("tau_few_shot.jsonl").trajectories[0]
    assert shape(found) == [
        "user",
        "assistant",
        "user",
        "assistant",
        "tool",
        "assistant",
    ]
    assert found.skips == {3: "call_not_recorded"}
