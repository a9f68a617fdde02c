"""Terminal agents: trial folders, ATIF files, terminal text."""

import pytest
from trajectory_files import FOLDER, fixture, only, read, shape

from pivotlab.trajectories import terminal
from pivotlab.trajectories.loading import load


def test_observations_come_in_the_step_of_their_action():
    found = fixture("atif.json").trajectories[0]
    assert shape(found)[:6] == [
        "user", "assistant:keystrokes,keystrokes", "tool", "assistant", "user",
        "assistant",
    ]  # fmt: skip
    turn = found.messages[1]
    assert (turn.content, turn.reasoning) == ("I try.", "Hm.")
    assert turn.tool_calls[1].arguments == {"keys": "ls 2\n"}
    assert found.messages[4].content == "still a\nb"


@pytest.mark.case(id="V8")
def test_copied_steps_are_no_candidates():
    def agent(i, **more):
        return {"step_id": i, "source": "agent", "message": f"act {i % 3}", **more}

    steps = [agent(i) for i in range(3)]
    steps += [agent(i, is_copied_context=True) for i in range(3, 6)]
    found = only({"schema_version": "ATIF-v1.7", "session_id": "s", "steps": steps})
    assert len(found.assistant_turns()) == 6
    assert found.skips == {3: "copied", 4: "copied", 5: "copied"}


def test_sub_agents_are_trajectories_of_their_own():
    report = fixture("atif.json")
    assert [t.uid for t in report.trajectories] == ["atif:sess", "atif:sub"]


def test_a_trial_folder_is_read_episode_by_episode():
    found = fixture("terminal_trial").trajectories[0]
    assert shape(found) == ["user", "assistant", "user", "assistant"]
    assert found.messages[1].reasoning == "t"
    assert found.messages[1].content == '{"commands": []}'
    assert found.reward == 1.0 and found.meta["failure_mode"] == "agent_timeout"


def test_a_trial_without_agent_logs_says_what_is_missing(tmp_path):
    (tmp_path / "commands.txt").write_text("['ls', 'Enter']\n")
    (error,) = load(tmp_path).errors
    assert error.field == "agent-logs" and "keep the agent's logs" in error.fix


def test_an_unknown_source_is_an_error():
    report = read({"schema_version": "ATIF-v1", "steps": [{"source": "ghost"}]})
    assert report.trajectories == []
    assert report.errors[0].field == "steps[0].source"


@pytest.mark.parametrize(
    "raw, shown",
    [
        ("\x1b[?2004hls\r\n\x1b[0;32ma.py\x1b[0m\r\n", "ls\na.py\n"),
        (" 10%\r 50%\r100%\ndone", "100%\ndone"),
        ("\x1b]0;title\x07$ ", "$ "),
        ("lss\b \b\n", "ls\n"),
        ("plain\ntext", "plain\ntext"),
    ],
)
@pytest.mark.case(id="V57")
def test_control_codes_and_redraws_can_be_cleaned(raw, shown):
    assert terminal.clean(raw) == shown
    assert terminal.clean(shown) == shown


def test_the_fixture_folder_is_a_trial_and_its_parent_is_none():
    assert terminal.is_trial(FOLDER / "terminal_trial")
    assert not terminal.is_trial(FOLDER)
