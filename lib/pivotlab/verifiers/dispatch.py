"""One verifier for a data set of mixed domains: chosen per row by its domain.

    verifier = DispatchVerifier(standard())
    verifier.verify(candidate, action)          # category "tool/match"

The domain stands in front of the category, so every count by category is a count per
domain; `health` turns such counts into a report.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pivotlab.records import Candidate, Message, Verdict
from pivotlab.verifiers import arguments, shell_syntax, terminus
from pivotlab.verifiers.gym_tool_call import GymToolCallVerifier
from pivotlab.verifiers.message import MessageVerifier
from pivotlab.verifiers.protocol import Verifier
from pivotlab.verifiers.search import SearchVerifier
from pivotlab.verifiers.shell import ShellVerifier
from pivotlab.verifiers.shop import ShopVerifier
from pivotlab.verifiers.terminus import TerminusVerifier
from pivotlab.verifiers.text_game import TextGameVerifier
from pivotlab.verifiers.tool_call import ToolCallVerifier
from pivotlab.verifiers.tool_name import ToolNameVerifier

Mode = Literal["functional", "paper", "gym"]


class DispatchVerifier:
    """Categories: `<domain>/<category of its verifier>`, and `<domain>/no_verifier`."""

    name = "dispatch"

    def __init__(self, by_domain: Mapping[str, Verifier]):
        """
        Args:
            by_domain: domain of a candidate -> its verifier; the key "" judges every
                domain that has none of its own.
        """
        self.by_domain = dict(by_domain)
        self.version = ",".join(
            f"{domain}={v.name}-{v.version}"
            for domain, v in sorted(self.by_domain.items())
        )

    def verify(self, candidate: Candidate, action: Message) -> Verdict:
        """The verdict of the domain's verifier."""
        domain = candidate.domain
        chosen = self.by_domain.get(domain, self.by_domain.get(""))
        if chosen is None:
            known = ", ".join(sorted(self.by_domain))
            return Verdict(0.0, f"{domain}/no_verifier", f"there are: {known}")
        found = chosen.verify(candidate, action)
        return Verdict(found.reward, f"{domain}/{found.category}", found.detail)


class TerminalVerifier:
    """Terminal rows of both kinds: Terminus replies and bare shell commands.

    Categories: those of `terminus` where the expert's turn is such a reply, else those
    of the shell verifier.
    """

    name = "terminal"

    def __init__(self, shell: Verifier, replies: Verifier):
        self.shell, self.replies = shell, replies
        self.version = f"{shell.name}-{shell.version},{replies.name}-{replies.version}"

    def verify(self, candidate: Candidate, action: Message) -> Verdict:
        """The verdict of the verifier that fits the expert's turn."""
        reply = terminus.read(candidate.expert.content)
        is_reply = terminus.harness_of(reply) or candidate.context.get("harness")
        chosen = self.replies if is_reply else self.shell
        return chosen.verify(candidate, action)


def standard(mode: Mode = "functional") -> dict[str, Verifier]:
    """A verifier for every domain that the readers know, without running anything.

    "paper" follows PivotRL section 7.1 (software engineering by tool name), "gym" NeMo
    Gym with its public thresholds; search, shop and game rows have one rule only.
    """
    common = {"search": SearchVerifier(), "shop": ShopVerifier()}
    common |= {"textgame": TextGameVerifier()}
    if mode == "gym":
        terminal = TerminalVerifier(ShellVerifier("paper"), TerminusVerifier("gym"))
        conversation = GymToolCallVerifier(0.1)
        by_domain = {"tool": conversation, "chat": conversation, "terminal": terminal}
        return {**common, **by_domain, "swe": GymToolCallVerifier(0.0)}
    terminal = TerminalVerifier(ShellVerifier(mode), TerminusVerifier(mode))
    tool, chat = ToolCallVerifier(mode), MessageVerifier(mode)
    swe = ToolNameVerifier() if mode == "paper" else ToolCallVerifier(mode, CODE_RULES)
    return {**common, "tool": tool, "chat": chat, "terminal": terminal, "swe": swe}


#: Coding agents: bookkeeping is ignored and commands are compared as commands.
CODE_RULES = arguments.Rules(
    ignore=frozenset({"security_risk", "summary", "timeout"}),
    strings={"command": shell_syntax.equivalent, "cmd": shell_syntax.equivalent},
)
