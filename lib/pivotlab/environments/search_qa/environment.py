"""Search QA behind the environment protocol: Search-R1's tags, BM25, exact match.

    question        Question: Who is the mayor of the birth town of Mira Holt?
    a query         <search>Mira Holt</search>
    its answer      <information>Doc 1(Title: Mira Holt) Mira Holt was born in ...
                    Doc 2(Title: ...) ...</information>
    an end          <answer>Olga Ferro</answer>
    anything else   My previous action is invalid. If I want to search, ...

The first closed tag of a turn counts. What the model writes after an `<information>` of
its own is cut off, since it may not answer from results it has made up.

The oracle counts evidence: L(s) is the fewest searches that show every hop's passage,
and the answer; a search asks for the title of a passage (its text where the title does
not bring it). A right guess would be shorter, but no expert guesses. A hop that no
passage of the corpus tells makes L infinite.
"""

from __future__ import annotations

import itertools
import math
import re
from typing import NamedTuple

from pivotlab.environments.protocol import ANY_TEXT, Step
from pivotlab.environments.search_qa import encyclopedia
from pivotlab.environments.search_qa.answers import exact_match
from pivotlab.environments.search_qa.library import Library
from pivotlab.environments.snapshots import StateSnapshots

#: Turns after which an episode is given up: three hops, one slip, and the answer.
MAX_TURNS = 5
#: Passages a search brings, as in Search-R1.
PER_SEARCH = 3
#: Passages of a question's evidence that the oracle looks at.
MOST_EVIDENCE = 16
INVALID = (
    "My previous action is invalid. If I want to search, I should put the query "
    "between <search> and </search>. If I want to give the final answer, I should put "
    "the answer between <answer> and </answer>. Let me try again."
)
END = "The question is closed."
_TAG = re.compile(r"<(search|answer)>(.*?)</\1>", re.DOTALL)


class State(NamedTuple):
    """Positions of the passages shown so far, and how the answer was, once given."""

    shown: frozenset[int] = frozenset()
    right: bool | None = None


class Action(NamedTuple):
    """`kind` is "search" or "answer"; `value` is what stands in the tag, stripped."""

    kind: str
    value: str


def read_action(text: str) -> Action | None:
    """The first search or answer of a turn, None where it has none."""
    found = _TAG.search(text.partition("<information>")[0])
    return Action(found[1], found[2].strip()) if found else None


def search(query: str) -> str:
    """The turn that searches for `query`."""
    return f"<search>{query}</search>"


def answer(text: str) -> str:
    """The turn that answers `text`."""
    return f"<answer>{text}</answer>"


class SearchQA(StateSnapshots):
    """One question at a time; those of the generated encyclopedia by default."""

    kind = "search QA"
    state_type = State

    def __init__(self, library: Library = encyclopedia.library):
        self.library = library

    def reset(self, task: str) -> str:
        """Ask the question `task`.

        Raises:
            ValueError: the id names no question.
        """
        self.corpus, self.question = self.library(task)
        self.state = State()
        return f"Question: {self.question.text}"

    def step(self, action: str) -> Step:
        """Take one turn; one without a search or an answer gets the correction."""
        said, state = read_action(action), self.state
        if state.right is not None:
            return Step(END, 0.0, True)
        if said is None:
            return Step(INVALID, 0.0, False)
        if said.kind == "answer":
            right = exact_match(said.value, self.question.answers)
            self.state = state._replace(right=right)
            return Step(END, float(right), True)
        found = self.corpus.search(said.value, PER_SEARCH)
        self.state = state._replace(shown=state.shown | set(found))
        return Step(self._information(found), 0.0, False)

    def _information(self, found: tuple[int, ...]) -> str:
        passages = (self.corpus.passages[place] for place in found)
        lines = [
            f"Doc {rank}(Title: {p.title}) {p.text}"
            for rank, p in enumerate(passages, start=1)
        ]
        return f"<information>{chr(10).join(lines)}</information>"

    def admissible(self) -> list[str]:
        """The two forms of a turn."""
        if self.state.right is not None:
            return []
        return [answer(ANY_TEXT), search(ANY_TEXT)]

    def missing(self) -> tuple[frozenset[int], ...]:
        """Evidence of the hops that has not been shown, in order."""
        shown = self.state.shown
        return tuple(hop for hop in self.question.evidence if not hop & shown)

    def remaining_turns(self) -> float:
        """L(s): searches for the missing evidence, and the answer."""
        if self.state.right is not None:
            return 0.0 if self.state.right else math.inf
        return 1.0 + self._searches(self.missing())

    def optimal_actions(self) -> list[str]:
        """Sorted turns after which L is one less: the answer once all evidence was
        shown, before that the searches that bring the next hop."""
        missing, now = self.missing(), self.remaining_turns()
        if now in (0.0, math.inf):
            return []
        if not missing:
            return sorted({answer(text) for text in self.question.answers})
        best = set()
        for query, hops in self._queries(missing).items():
            left = [hop for place, hop in enumerate(missing) if place not in hops]
            if 0 in hops and 1.0 + self._searches(tuple(left)) == now - 1:
                best.add(search(query))
        return sorted(best)

    def _searches(self, missing: tuple[frozenset[int], ...]) -> float:
        """Fewest queries that show every missing hop."""
        brought = list(self._queries(missing).values())
        for count in range(len(missing) + 1):
            for chosen in itertools.combinations(brought, count):
                if len(frozenset().union(*chosen)) == len(missing):
                    return float(count)
        return math.inf

    def _queries(self, missing: tuple[frozenset[int], ...]) -> dict[str, frozenset]:
        """Query for a missing passage -> which of the missing hops it brings."""
        queries = {}
        for place in sorted(frozenset().union(*missing))[:MOST_EVIDENCE]:
            passage = self.corpus.passages[place]
            for query in (passage.title, passage.text):
                found = set(self.corpus.search(query, PER_SEARCH))
                if place in found:
                    hops = (i for i, hop in enumerate(missing) if hop & found)
                    queries[query] = frozenset(hops)
                    break
        return queries
