"""InterCode episodes."""

import pytest
from trajectory_files import FOLDER, fixture, shape

from pivotlab.trajectories import intercode
from pivotlab.trajectories.fields import FormatError


def test_rewards_stay_in_the_context_and_out_of_the_messages():
    found = fixture("intercode.json").trajectories[0]
    assert shape(found) == ["user", "assistant", "user", "assistant", "user"]
    assert found.contexts[1] == {"command": "ls | wc -l", "reward": 1.0, "valid": True}
    assert found.messages[1].content == "execute[ls | wc -l]"
    assert found.messages[1].reasoning == "List them."
    assert found.messages[4].content == "a\nb"
    assert found.skips == {3: "empty_turn"}
    assert (found.uid, found.reward) == ("intercode:tasks_1-0", 1.0)


def test_a_last_action_without_an_observation_is_kept():
    found = fixture("intercode.json").trajectories[1]
    assert shape(found) == ["user", "assistant", "user", "assistant"]
    assert found.contexts[3]["reward"] == 0


def test_gold_commands_join_by_the_query(tmp_path):
    gold = intercode.gold_commands(FOLDER / "intercode_gold.json")
    assert gold == {"Count the files.": "ls -1 | wc -l"}
    (tmp_path / "x.json").write_text('[{"query": "q"}]')
    with pytest.raises(FormatError, match="needs query and gold"):
        intercode.gold_commands(tmp_path / "x.json")


@pytest.mark.parametrize(
    "action, command",
    [("execute[ls [a-z]*]", "ls [a-z]*"), ("submit", "submit"), (" ls ", "ls")],
)
def test_react_actions_are_unwrapped(action, command):
    assert intercode.command_of(action) == command
