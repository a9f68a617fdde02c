"""Where the command is in an action."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from verdict_rows import call, calls, say

from pivotlab.verifiers import shell_action


@pytest.mark.parametrize(
    ("action", "command"),
    [
        (call("bash", command="ls -a"), "ls -a"),
        (call("functions.exec_command", cmd=" ls "), "ls"),
        (call("bash", command=5), None),
        (call("bash", "ls"), None),
        (call("edit", command="view"), None),
        (calls(call("bash", command="a"), call("bash", command="b")), None),
        (say("I look.\n```bash\nls\npwd\n```\nDone"), "ls\npwd"),
        (say("```\nls\n```\nno, better\n```sh\npwd\n```"), "pwd"),
        (say("```python\nprint()\n```"), None),
        (say("```bash\nls"), None),
        (say("```bash\r\nls\r\n```"), "ls"),
        (say("text <command>\nopen a.py\n</command> text"), "open a.py"),
        (say("ls -a"), None),
    ],
)
def test_marked_commands_are_found(action, command):
    assert shell_action.command_of(action) == command


def test_bare_text_is_a_command_only_for_those_who_ask():
    assert shell_action.command_of(say(" ls -a\n"), whole=True) == "ls -a"
    assert shell_action.command_of(say("```\npwd\n```"), whole=True) == "pwd"
    assert shell_action.command_of(say("  "), whole=True) is None


@pytest.mark.parametrize(
    ("command", "program"),
    [
        ("grep -r a", "grep"),
        ("A=1 B=2 make all", "make"),
        ("/usr/bin/env x", "env"),
        ("", ""),
        ("A=1", "A=1"),
    ],
)
def test_first_program(command, program):
    assert shell_action.program(command) == program


@settings(max_examples=100)
@given(st.text(alphabet="`\n bash<command>/x="))
def test_total(content):
    shell_action.command_of(say(content))
    shell_action.program(content)
