"""Search QA in Search-R1's protocol: search passages, then answer. Exact match."""

from pivotlab.environments.search_qa.encyclopedia import task_ids
from pivotlab.environments.search_qa.environment import (
    MAX_TURNS,
    PER_SEARCH,
    SearchQA,
)
from pivotlab.environments.search_qa.library import Corpus, Library, Passage, Question

__all__ = [
    "MAX_TURNS",
    "PER_SEARCH",
    "Corpus",
    "Library",
    "Passage",
    "Question",
    "SearchQA",
    "task_ids",
]
