"""The paper's rule for software-engineering turns: the tool's name, nothing else.

Deliberately coarse (PivotRL, appendix A.2 as summarised): it asks whether the next kind
of operation is right and leaves arguments and patch quality to the final harness.

Departures and choices:
1. Several calls in one turn are compared as a bag of names.
2. A turn that writes its command as text (no tool calls) has the program of its first
   command as its name.
3. A turn of the expert without any call or command goes to the text rule.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from pivotlab.records import Candidate, Message, Verdict
from pivotlab.verifiers import shell_action
from pivotlab.verifiers.message import MessageVerifier
from pivotlab.verifiers.protocol import Verifier

_SEPARATOR = re.compile(r"__|[.:/]")


class ToolNameVerifier:
    """Categories: same_tool (reward 1), wrong_tool, unknown_tool, no_call,
    unreadable_call, surplus_calls, and those of the text rule for text turns.
    """

    name = "tool_name"
    version = "1"

    def __init__(
        self,
        aliases: Mapping[str, str] | None = None,
        *,
        namespaces: bool = False,
        message: Verifier | None = None,
    ):
        """
        Args:
            aliases: name a model may use -> name in the tool list.
            namespaces: accept `mcp__x__f` for `f` where exactly one tool ends so.
            message: judges turns in which the expert only talks.
        """
        self.aliases = dict(aliases or {})
        self.namespaces = namespaces
        self.message = message or MessageVerifier()

    def verify(self, candidate: Candidate, action: Message) -> Verdict:
        """1.0 iff the bags of tool names are equal."""
        gold = names(candidate.expert)
        if not gold:
            return self.message.verify(candidate, action)
        said = [
            resolve(name, candidate.tools, self.aliases, self.namespaces)
            for name in names(action)
        ]
        if not said:
            return Verdict(0.0, "no_call", f"expected a call of {', '.join(gold)}")
        if "" in said:
            return Verdict(0.0, "unreadable_call", "a call without a readable name")
        if Counter(said) == Counter(gold):
            return Verdict(1.0, "same_tool", ", ".join(said))
        detail = f"expected {', '.join(gold)}; got {', '.join(said)}"[:500]
        if not Counter(gold) - Counter(said):
            return Verdict(0.0, "surplus_calls", detail)
        return Verdict(0.0, unknown_or_wrong(said, gold, candidate.tools), detail)


def names(message: Message) -> list[str]:
    """Tool names of a turn in order; the program's name where the call is text."""
    if message.tool_calls:
        return [call.name for call in message.tool_calls]
    command = shell_action.fenced_command(message.content)
    return [] if command is None else [shell_action.program(command)]


def resolve(
    name: str,
    tools: Sequence[Mapping[str, Any]],
    aliases: Mapping[str, str],
    namespaces: bool,
) -> str:
    """The tool a model means: by exact name, by alias, else (if allowed) by its last
    part, and only when exactly one tool of the list ends in that part.
    """
    known = tool_names(tools)
    if name in known or not name:
        return name
    if name in aliases:
        return aliases[name]
    if namespaces:
        last = _last_part(name)
        owners = [tool for tool in known if _last_part(tool) == last]
        if len(owners) == 1:
            return owners[0]
    return name


def tool_names(tools: Sequence[Mapping[str, Any]]) -> list[str]:
    """Names in a tool list of canonical shape; entries of another shape have none."""
    functions = [tool.get("function") for tool in tools if isinstance(tool, Mapping)]
    found = [f.get("name") for f in functions if isinstance(f, Mapping)]
    return [name for name in found if isinstance(name, str)]


def parameters(tools: Sequence[Mapping[str, Any]], name: str) -> Mapping[str, Any]:
    """Argument schema of the named tool; empty where there is none to be read."""
    for tool in tools:
        function = tool.get("function") if isinstance(tool, Mapping) else None
        if isinstance(function, Mapping) and function.get("name") == name:
            found = function.get("parameters")
            return found if isinstance(found, Mapping) else {}
    return {}


def unknown_or_wrong(
    said: Sequence[str], gold: Sequence[str], tools: Sequence[Mapping[str, Any]]
) -> str:
    """`unknown_tool` when a surplus name is not in the tool list, else `wrong_tool`."""
    known = tool_names(tools)
    stray = Counter(said) - Counter(gold)
    if known and any(name not in known for name in stray):
        return "unknown_tool"
    return "wrong_tool"


def _last_part(name: str) -> str:
    return _SEPARATOR.split(name)[-1].casefold()
