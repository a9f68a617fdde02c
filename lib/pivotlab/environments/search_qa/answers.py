"""Exact match of answers with the normalisation of SQuAD, as Search-R1 scores them."""

from __future__ import annotations

import re
import string
from collections.abc import Iterable

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


def answer_form(answer: str) -> str:
    """Lower case, without ASCII punctuation, articles and surplus spaces."""
    plain = answer.lower().translate(_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", plain).split())


def exact_match(answer: str, right: Iterable[str]) -> bool:
    """Does the answer equal one of the right ones after normalising?"""
    return answer_form(answer) in {answer_form(text) for text in right}
