"""Rows of column stores."""

import pytest
from trajectory_files import fixture, shape


def test_what_stands_in_the_prompt_is_context():
    first, second = fixture("prompt_completion.jsonl").trajectories
    assert shape(first) == ["user", "assistant:weather", "tool", "assistant"]
    assert first.skips == {1: "context"}
    assert shape(second) == ["user", "assistant"] and second.skips == {}


@pytest.mark.case(id="V17")
def test_null_keys_that_the_store_added_are_gone():
    first = fixture("prompt_completion.jsonl").trajectories[0]
    given = first.messages[1].tool_calls[0].arguments
    assert given == {"city": "Bonn", "days": None}


def test_trajectory_rows_with_null_and_text_arguments():
    found = fixture("nebius.jsonl").trajectories[0]
    assert shape(found) == [
        "system", "user", "assistant:weather", "tool", "assistant:weather",
    ]  # fmt: skip
    first, last = (found.messages[i].tool_calls[0] for i in (2, 4))
    assert first.arguments == ""
    assert last.arguments == {"city": "Bonn", "days": None}
    assert (found.reward, found.domain, found.uid) == (1.0, "swe", "nebius:n1")
    assert found.meta["task"] == "lib-2"
