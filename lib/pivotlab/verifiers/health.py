"""What the verdicts of a data set say about the set-up, before anyone trusts them.

A turn that every sample fails looks too hard. Three other reasons look the same in the
rewards and are told apart here, per domain: the samples could not be read (parser and
model disagree), they name tools that the row does not offer, or the expert only talks,
so that the verdict is weak either way.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pivotlab.records import Candidate, Verdict

#: Categories of an action in the wrong form: nothing was compared.
UNREADABLE = frozenset(
    ("not_json", "schema_violation", "unreadable_call", "bad_arguments", "no_call")
    + ("no_command", "no_step", "unreadable_step", "no_action", "too_many_calls")
    + ("multiple_lines", "empty")
)
#: Fewer verdicts do not show a pattern.
ENOUGH = 20
#: Share of text turns above which a data set is mostly judged weakly.
TEXT_SHARE = 0.5


@dataclass(frozen=True)
class DomainHealth:
    """Counts over the verdicts of one domain.

    `text` counts verdicts on turns in which the expert only talks, `text_passed` those
    of them with reward 1.
    """

    domain: str
    n: int
    passed: int
    mean: float
    unreadable: int
    unknown_tool: int
    text: int
    text_passed: int

    def warnings(self) -> list[str]:
        """What to look at before training on these rewards."""
        found = []
        if self.n >= ENOUGH and self.unreadable == self.n:
            found.append(
                f"{self.domain}: none of {self.n} actions could be read. This is a "
                "configuration problem, not difficulty: compare the chat template and "
                "the parser with what the model writes"
            )
        elif self.n >= ENOUGH and 2 * self.unreadable > self.n:
            found.append(
                f"{self.domain}: {self.unreadable} of {self.n} actions could not be "
                "read; look at some before calling the turns hard"
            )
        if self.unknown_tool:
            found.append(
                f"{self.domain}: {self.unknown_tool} of {self.n} actions call tools "
                "that the row does not offer; check the tool list, or give aliases"
            )
        if self.n >= ENOUGH and self.text > TEXT_SHARE * self.n:
            found.append(
                f"{self.domain}: in {self.text} of {self.n} verdicts "
                f"the expert only talks ({self.text_passed} passed); cap their share"
            )
        return found


def health(
    rows: Iterable[tuple[Candidate, Verdict]],
) -> dict[str, DomainHealth]:
    """Health per domain, over any number of verdicts per candidate."""
    by_domain: dict[str, list[tuple[Candidate, Verdict]]] = {}
    for candidate, verdict in rows:
        by_domain.setdefault(candidate.domain, []).append((candidate, verdict))
    return {domain: _count(domain, by_domain[domain]) for domain in sorted(by_domain)}


def reason(verdict: Verdict) -> str:
    """The category without the domain and the fallback in front of it."""
    return verdict.category.rpartition("/")[2].rpartition(":")[2]


def _count(domain: str, rows: list[tuple[Candidate, Verdict]]) -> DomainHealth:
    reasons = [reason(verdict) for _, verdict in rows]
    rewards = [verdict.reward for _, verdict in rows]
    # A verdict in this domain is on a text turn when the expert calls nothing in a
    # domain of calls; elsewhere every turn is text and the text is the action.
    talks = domain in ("tool", "chat")
    text = [talks and not candidate.expert.tool_calls for candidate, _ in rows]
    return DomainHealth(
        domain=domain,
        n=len(rows),
        passed=sum(r == 1.0 for r in rewards),
        mean=sum(rewards) / len(rewards),
        unreadable=sum(r in UNREADABLE for r in reasons),
        unknown_tool=sum(r == "unknown_tool" for r in reasons),
        text=sum(text),
        text_passed=sum(t and r == 1.0 for t, r in zip(text, rewards, strict=True)),
    )
