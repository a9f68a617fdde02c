"""mini-swe-agent runs of all versions."""

import pytest
from trajectory_files import fixture, only, shape

NAMES = ("mini_list.traj.json", "mini_v1.traj.json", "mini_v11.traj.json")


@pytest.mark.case(id="V6")
def test_every_version_gives_the_same_candidates():
    runs = [fixture(name).trajectories[0] for name in NAMES]
    assert all(run.messages == runs[0].messages for run in runs)
    assert all(run.skips == {4: "bad_format"} for run in runs)
    assert all(run.contexts == runs[0].contexts for run in runs)
    assert runs[0].contexts == {2: {"command": "ls"}, 6: {"command": "echo DONE"}}


def test_the_closing_message_only_carries_the_exit_status():
    runs = [fixture(name).trajectories[0] for name in NAMES]
    assert [run.meta["exit_status"] for run in runs] == [None, "Submitted", "Submitted"]
    assert shape(runs[2])[-1] == "assistant"


def test_tool_calls_are_actions_too_and_several_commands_in_a_reply_are_none():
    fence = "```bash\nls\n```\n```bash\npwd\n```"
    call = {"id": "c", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}
    messages = [
        {"role": "user", "content": "u"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "<returncode>0</returncode>"},
        {"role": "assistant", "content": fence},
    ]
    found = only({"trajectory_format": "mini-swe-agent-1.1", "messages": messages})
    assert shape(found) == ["user", "assistant:bash", "tool", "assistant"]
    assert found.skips == {3: "bad_format"}
