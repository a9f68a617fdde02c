"""The search engine agrees with BM25 written out, and breaks ties by position."""

import math
import random
import re
from collections import Counter

import pytest

from pivotlab.environments.retrieval import K1, B, Bm25


def written_out(texts, query):
    """Lucene's BM25 of every text; words of two letters or more."""
    bags = [Counter(re.findall(r"\w\w+", text.lower())) for text in texts]
    mean = sum(bag.total() for bag in bags) / len(bags)
    scores = []
    for bag in bags:
        total = 0.0
        for word in re.findall(r"\w\w+", query.lower()):
            df = sum(word in other for other in bags)
            idf = math.log(1 + (len(bags) - df + 0.5) / (df + 0.5))
            tf = bag[word]
            total += idf * tf / (tf + K1 * (1 - B + B * bag.total() / mean))
        scores.append(total)
    return scores


def test_scores_agree_with_bm25_written_out():
    rng = random.Random(0)
    words = [f"w{i}" for i in range(30)]
    texts = [" ".join(rng.choices(words, k=rng.randint(3, 20))) for _ in range(40)]
    engine = Bm25(texts)
    for _ in range(50):
        query = " ".join(rng.choices([*words, "unknown"], k=3))
        scores = written_out(texts, query)
        hits = engine.search(query, 10)
        assert len(hits) == min(10, sum(s > 0 for s in scores))
        found = [scores[i] for i in hits]
        best = sorted(scores, reverse=True)[: len(hits)]
        assert found == pytest.approx(best, rel=1e-5)


def test_equal_texts_come_in_their_order():
    engine = Bm25(["red mat", "blue mat", "red mat", "red mat"])
    assert engine.search("RED", 10) == (0, 2, 3)
    assert engine.search("red", 2) == (0, 2)


@pytest.mark.parametrize("query", ["", "the", "zebra", "!?"])
def test_a_query_without_known_words_finds_nothing(query):
    assert Bm25(["red mat", "blue mat"]).search(query, 5) == ()


def test_texts_without_words_are_refused():
    with pytest.raises(ValueError, match="none of the 2 texts"):
        Bm25(["the", "!"])
