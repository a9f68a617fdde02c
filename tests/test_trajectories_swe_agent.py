"""SWE-agent trajectory files."""

import pytest
from test_trajectories_tools import NESTED
from trajectory_files import fixture, shape


def test_history_with_a_demonstration_function_calls_and_commands():
    found = fixture("swe_agent.traj").trajectories[0]
    assert shape(found) == [
        "system", "user", "assistant", "user", "assistant:find_file", "tool",
        "assistant:submit",
    ]  # fmt: skip
    assert found.skips == {2: "demonstration"}
    assert found.contexts[4] == {"command": "find_file core.py"}
    assert found.messages[5].tool_call_id == "k1"
    assert found.messages[5].content == "OBSERVATION:\nsrc/core.py\r\n"
    assert (found.meta["task"], found.meta["exit_status"]) == (
        "widgets__lib-7",
        "submitted",
    )


@pytest.mark.case(id="V5")
def test_the_step_s_own_observation_never_comes_before_its_action():
    found = fixture("swe_agent.traj").trajectories[0]
    for index in found.assistant_turns():
        prefix = found.messages[:index]
        assert found.messages[index] not in prefix
        observation = found.messages[index + 1 : index + 2]
        assert not any(m in prefix for m in observation)
    # The file's own step messages hold what the first step was to find out.
    assert not any("src/core.py" in m.content for m in found.messages[:4])


@pytest.mark.case(id="V4")
def test_without_schemas_there_is_a_warning_and_with_them_none():
    (warning,) = fixture("swe_agent.traj").warnings
    assert "schema checks are off; pass the schemas as `tools`" in warning
    tools = [
        {"type": "function", "function": {**NESTED["function"], "name": name}}
        for name in ("find_file", "submit")
    ]
    report = fixture("swe_agent.traj", tools=tools)
    assert report.warnings == []
    assert len(report.trajectories[0].tools) == 2


def test_files_that_only_kept_steps():
    found = fixture("swe_agent_steps.traj").trajectories[0]
    assert shape(found) == ["assistant", "user", "assistant", "user"]
    assert found.contexts[0] == {"command": "ls"}
    assert found.meta["task"] == "swe_agent_steps"
