"""BM25 over a fixed list of texts, the search engine of the shop and of search QA.

The index and the scores are `bm25s` (Lucene's variant, k1 = 1.5, b = 0.75, English stop
words, words of two characters or more). Texts that share no word with the query are no
results, and equal scores are ordered by position, so a query has one answer on every
machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import bm25s
import numpy as np

K1, B = 1.5, 0.75
#: Queries whose results are kept.
REMEMBERED = 10_000


class Bm25:
    """An index; `search` is a pure function of the query."""

    def __init__(self, texts: Sequence[str]):
        """
        Raises:
            ValueError: no text contains a word.
        """
        words = _words(texts)
        if not any(words):
            raise ValueError(f"none of the {len(texts)} texts to index has a word")
        self._index = bm25s.BM25(k1=K1, b=B, method="lucene")
        self._index.index(words, show_progress=False)
        self.search = lru_cache(REMEMBERED)(self._search)

    def _search(self, query: str, most: int) -> tuple[int, ...]:
        """Positions of at most `most` texts, best first."""
        known = [w for w in _words([query])[0] if w in self._index.vocab_dict]
        if not known:
            return ()
        scores = self._index.get_scores(known)
        hits = np.flatnonzero(scores > 0)
        order = np.argsort(-scores[hits], kind="stable")[:most]
        return tuple(int(i) for i in hits[order])


def _words(texts: Sequence[str]) -> list[list[str]]:
    return bm25s.tokenize(
        list(texts), stopwords="en", return_ids=False, show_progress=False
    )
