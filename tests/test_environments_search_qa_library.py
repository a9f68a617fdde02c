"""A corpus is searched by title and text."""

from pivotlab.environments.search_qa.library import Corpus, Passage


def test_titles_and_texts_are_searched():
    corpus = Corpus(
        [Passage("Arnau", "A town by a river."), Passage("Isar", "It flows.")]
    )
    assert corpus.search("isar", 3) == (1,) and corpus.search("TOWN river", 3) == (0,)
    assert corpus.search("desert", 3) == ()
