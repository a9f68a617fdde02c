"""The next step of a search agent: search, open a page, look up, or answer.

A step is read from the action alone, never from the prompt, which mentions the same
tags: from tool calls, from Search-R1's `<search>` and `<answer>` tags (what the model
writes after its own `<information>` is cut off), or from `Search[...]` lines.

A step is right when it is of the expert's kind and
- search: queries ask for the same thing, by content words; with batches of queries, the
  pairs found must make up half of both lists (F1 >= 0.5). Two queries that name
  different years or numbers never match.
- visit: the same pages, in the same F1 sense, after normalising the addresses.
- lookup: the same text. Answer: equal after normalising, as in Search-R1 (lower case,
  no articles and punctuation); `candidate.context["answers"]` may list more right ones.

A candidate that knows its state (its context has an acceptable set, as episodes of this
library have) is judged by what its query brings, see `evidence`.

The paper gives no details of its search verifier; this is our reading of "serves the
evidence need".
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from pivotlab.environments.search_qa.answers import exact_match
from pivotlab.records import Candidate, Message, ToolCall, Verdict
from pivotlab.trajectories import react
from pivotlab.verifiers import arguments, matching, text
from pivotlab.verifiers.evidence import EvidenceVerifier
from pivotlab.verifiers.message import MessageVerifier
from pivotlab.verifiers.protocol import Verifier

#: Tool names by the kind of step they are.
KINDS = {
    "search": ("search", "web_search", "google_search", "wikipedia_search"),
    "visit": ("visit", "browse", "open_page", "fetch", "open_url"),
}
_KEYS = {"search": ("query", "queries", "q"), "visit": ("url", "urls", "link")}
_OPENING = re.compile(r"<(search|answer)>")
_LINE = re.compile(
    r"^(?:Action(?: \d+)?: *)?(Search|Lookup|Finish)\[(.*)\]", re.MULTILINE | re.I
)
_LINE_KINDS = {"search": "search", "lookup": "lookup", "finish": "answer"}
#: More queries or pages in one step, or more calls, are broken output.
_MOST, _MOST_CALLS = 50, 16


@dataclass(frozen=True)
class Step:
    """What a turn does: its kind and the queries, addresses or texts it names."""

    kind: str
    values: tuple[str, ...]


class SearchVerifier:
    """Categories: same_need, same_page, same_text, same_answer (reward 1); no_step,
    other_kind, unreadable_step, too_many, other_need, other_page, other_text,
    other_answer, those of the text rule for turns without a step, and those of
    `evidence` for candidates that know their state.
    """

    name = "search"
    version = "1"

    def __init__(
        self,
        floor: float = 0.5,
        message: Verifier | None = None,
        state: Verifier | None = None,
    ):
        """
        Args:
            floor: least share of common content words of two queries, in [0, 1].
            message: judges turns in which the expert only talks.
            state: judges candidates that know their state; the generated
                encyclopedia's by default.
        """
        self.floor = floor
        self.message = message or MessageVerifier()
        self.state = state or EvidenceVerifier()

    def verify(self, candidate: Candidate, action: Message) -> Verdict:
        """1.0 iff the step serves what the expert's step serves."""
        if candidate.context.get("acceptable"):
            return self.state.verify(candidate, action)
        gold, said = step_of(candidate.expert), step_of(action)
        if gold is None:
            return self.message.verify(candidate, action)
        if said is None:
            return Verdict(0.0, "no_step", action.content[:200])
        detail = f"{said.kind}: {'; '.join(said.values)}"[:300]
        if not said.values:
            return Verdict(0.0, "unreadable_step", detail)
        if len(action.tool_calls) > _MOST_CALLS:
            return Verdict(0.0, "too_many", f"{len(action.tool_calls)} calls")
        if gold.kind != said.kind:
            return Verdict(0.0, "other_kind", detail)
        if max(len(gold.values), len(said.values)) > _MOST:
            return Verdict(0.0, "too_many", f"{len(said.values)} values")
        word = {"search": "need", "visit": "page", "lookup": "text"}
        name = word.get(gold.kind, "answer")
        right = self._right(candidate, gold, said)
        return Verdict(float(right), f"{'same' if right else 'other'}_{name}", detail)

    def _right(self, candidate: Candidate, gold: Step, said: Step) -> bool:
        if gold.kind == "answer":
            more = candidate.context.get("answers")
            allowed = [*gold.values, *(more if isinstance(more, list | tuple) else ())]
            short = [a[: text.LONGEST] for a in allowed if isinstance(a, str)]
            return exact_match(said.values[0][: text.LONGEST], short)
        if gold.kind == "lookup":
            return text.same_value(gold.values[0].casefold(), said.values[0].casefold())
        same = self.same_query if gold.kind == "search" else same_page
        table = [[same(g, s) for s in said.values] for g in gold.values]
        paired = len(matching.pairs(table))
        return 4 * paired >= len(gold.values) + len(said.values)

    def same_query(self, gold: str, said: str) -> bool:
        """Do two queries ask for the same thing?"""
        first, second = (
            {w for w in text.words(query) if w.isdigit()} for query in (gold, said)
        )
        if first and second and not first & second:
            return False
        return text.similarity(gold, said) >= self.floor


def step_of(message: Message) -> Step | None:
    """The step of a turn, None where it only talks.

    A call of a search tool without readable values is a step without values; a call of
    any other tool is a step of that name.
    """
    if message.tool_calls:
        return _of_calls(message.tool_calls)
    written = message.content.partition("<information>")[0]
    tag = _OPENING.search(written)
    if tag is not None:
        inside, closed, _ = written[tag.end() :].partition(f"</{tag[1]}>")
        return Step(tag[1], _filled([inside] if closed else []))
    line = _LINE.search(react.cut_run_on(written)[0])
    if line is None:
        return None
    return Step(_LINE_KINDS[line[1].lower()], _filled([line[2]]))


def same_page(gold: str, said: str) -> bool:
    """Do two addresses name one page (scheme, `www.`, fragment, last slash aside)?"""
    return _address(gold) == _address(said)


def _of_calls(calls: Sequence[ToolCall]) -> Step:
    kinds = [_kind(call.name) for call in calls]
    values: list[str] = []
    for call in calls[:_MOST_CALLS]:
        given = arguments.decoded(call.arguments, {}) or {}
        for key in _KEYS.get(_kind(call.name), ()):
            value = given.get(key)
            values += value if isinstance(value, list) else [value]
    kind = kinds[0] if len(set(kinds)) == 1 else "+".join(sorted(set(kinds)))
    return Step(kind, _filled(values))


def _kind(name: str) -> str:
    last = name.rpartition(".")[2]
    return next((kind for kind, names in KINDS.items() if last in names), last)


def _filled(values: Sequence[object]) -> tuple[str, ...]:
    return tuple(v.strip() for v in values if isinstance(v, str) and v.strip())


def _address(address: str) -> tuple[str, str, str]:
    full = address if "://" in address else f"http://{address}"
    try:
        parts = urlsplit(full.strip())
        host = (parts.hostname or "").removeprefix("www.")
    except ValueError:
        return ("", address.strip(), "")
    return (host, parts.path.rstrip("/"), parts.query)
