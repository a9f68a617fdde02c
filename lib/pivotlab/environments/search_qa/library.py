"""What search QA is about: passages, their search engine, and questions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pivotlab.environments.retrieval import Bm25


@dataclass(frozen=True)
class Passage:
    """A titled text; titles may repeat where an article has several passages."""

    title: str
    text: str


@dataclass(frozen=True)
class Question:
    """A question with its right answers and the evidence for them.

    `evidence` holds, hop by hop, positions in the corpus of the passages any one of
    which brings the hop; empty where nothing is known of it.
    """

    text: str
    answers: tuple[str, ...]
    evidence: tuple[frozenset[int], ...] = ()


class Corpus:
    """Passages by position, with search over titles and texts."""

    def __init__(self, passages: Sequence[Passage]):
        self.passages = tuple(passages)
        self._engine = Bm25([f"{p.title} {p.text}" for p in self.passages])

    def search(self, query: str, most: int) -> tuple[int, ...]:
        """Positions of the best passages, best first."""
        return self._engine.search(query, most)


#: Task id -> where it is asked and what; raises ValueError for an unknown id.
Library = Callable[[str], tuple[Corpus, Question]]
