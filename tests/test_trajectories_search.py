"""Search episodes in one text."""

import pytest
from trajectory_files import fixture, only, shape

from pivotlab.trajectories import search


def test_an_episode_in_one_text_is_cut_into_turns():
    found = fixture("search_r1.jsonl").trajectories[0]
    assert shape(found) == ["user", "assistant", "user", "assistant"]
    assert found.messages[1].content == "<search>who wrote it</search>"
    assert found.messages[1].reasoning == "search"
    assert found.contexts == {1: {"query": "who wrote it"}}
    assert found.messages[2].content == "<information>Doc 1: Ann</information>"
    assert found.messages[3].content.endswith("<answer>Ann</answer>")
    assert found.domain == "search"


@pytest.mark.case(id="V39")
def test_tags_of_the_instruction_are_not_the_model_s():
    prompt = "Answer between <answer> and </answer>; see <information>x</information>."
    messages = [
        {"role": "user", "content": prompt},
        {"role": "assistant", "content": "<answer>Ann</answer>"},
    ]
    found = only({"messages": messages})
    assert shape(found) == ["user", "assistant"]
    assert found.messages[0].content == prompt


def test_an_unclosed_information_block_ends_the_episode():
    assert search.holds_episode("<search>q</search><information>cut")
    assert not search.holds_episode("<information>only</information>")
