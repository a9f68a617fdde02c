"""Where the shell command is in an action: in a call's argument, a fence, or the text.

Total and linear in the text. A command is only taken from prose where it is marked: the
last code fence, or SWE-agent's `<command>` tags. A bare text is a command only for
those who know that the agent writes nothing else (`whole`).
"""

from __future__ import annotations

import re

from pivotlab.records import Message

#: Argument names under which shell tools take the command.
ARGUMENTS = ("command", "cmd")
#: Tools whose command argument is a shell command.
TOOLS = frozenset(
    ("bash", "execute_bash", "bash_command", "shell", "sh", "terminal", "run")
    + (
        "run_command",
        "exec_command",
        "execute_command",
        "run_shell",
        "run_terminal_cmd",
    )
)
_OPENING = re.compile(
    r"```[ \t]*(?:bash|sh|shell|console|terminal|mswea_bash_command)?[ \t]*"
)
_TAG, _END = "<command>", "</command>"
_ASSIGNMENT = re.compile(r"\w+=\S*\s+")


def command_of(message: Message, *, whole: bool = False) -> str | None:
    """The shell command of a turn, None where it has none.

    Args:
        whole: the agent writes bare commands, so an unmarked text is one.
    """
    if message.tool_calls:
        return _from_call(message)
    marked = fenced_command(message.content)
    if marked is not None or not whole:
        return marked
    return message.content.strip() or None


def fenced_command(content: str) -> str | None:
    """The last command marked by a fence or a tag, None where nothing is marked."""
    found = _fenced(content) if "```" in content else None
    if found is None and _END in content:
        before = content[: content.rindex(_END)]
        found = before.rpartition(_TAG)[2] if _TAG in before else None
    return (found or "").strip() or None


def program(command: str) -> str:
    """First word of a command, without assignments before it and folders around it."""
    rest = command.strip()[:2000]
    while found := _ASSIGNMENT.match(rest):
        rest = rest[found.end() :]
    first = rest.split()[0] if rest else ""
    return first.rpartition("/")[2] or first


def _fenced(content: str) -> str | None:
    """Inside of the last closed fence of a shell dialect or of none."""
    inside: list[str] | None = None
    last: str | None = None
    shell = False
    for line in content.splitlines():
        if inside is None:
            if line.startswith("```"):
                inside, shell = [], _OPENING.fullmatch(line.rstrip()) is not None
        elif line.rstrip() == "```":
            last = "\n".join(inside) if shell else last
            inside = None
        else:
            inside.append(line)
    return last


def _from_call(message: Message) -> str | None:
    """The command of the one shell call of a turn; parallel calls have no such."""
    if len(message.tool_calls) != 1:
        return None
    call = message.tool_calls[0]
    if call.name.rpartition(".")[2] not in TOOLS or not isinstance(
        call.arguments, dict
    ):
        return None
    found = [call.arguments.get(key) for key in ARGUMENTS]
    return next((c.strip() for c in found if isinstance(c, str) and c.strip()), None)
