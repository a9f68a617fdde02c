"""ToolBench trees and evaluation runs."""

from trajectory_files import fixture, shape


def test_each_decision_is_counted_once_with_the_prefix_it_saw():
    report = fixture("toolbench.json")
    first, second = report.trajectories
    assert shape(first) == ["system", "user", "assistant:quote", "tool", "user"] + [
        "assistant:quote"
    ]
    assert first.skips == {}
    assert shape(second)[-1] == "assistant:Finish"
    assert second.skips == {2: "copied", 4: "copied"}
    assert (report.turns, report.candidates) == (5, 3)
    assert first.reward == 1.0 and len(first.tools) == 2


def test_a_search_without_a_path_says_so():
    (error,) = fixture("toolbench_lost.json").errors
    assert error.field == "answer_generation.train_messages"
    assert "kept no path" in error.problem


def test_printed_calls_that_were_cut_are_skipped_with_the_reason():
    found = fixture("tooleval.json").trajectories[0]
    assert shape(found) == [
        "user", "assistant:quote", "tool", "assistant:quote", "assistant:", "assistant",
    ]  # fmt: skip
    assert found.messages[1].content == "I ask."
    assert found.messages[2].content == "Be."
    assert found.messages[3].tool_calls[0].arguments == {"n": 2}
    assert found.skips == {4: "observation_not_recorded", 5: "observation_not_recorded"}


def test_a_tree_is_no_line():
    (error,) = fixture("tooleval.json").errors
    assert error.place == "['8']" and "branches into 2" in error.problem
