"""Search episodes written into one assistant text, cut into turns.

Search-R1 writes `<search>` (model), `<information>` (environment), `<answer>` (model)
into a single string: each stretch up to a closing `</search>` is one turn, and what
stands between the information tags is the observation after it.
"""

from __future__ import annotations

import re

from pivotlab.trajectories.assembly import Draft

#: Names under which search agents call their tools.
TOOL_NAMES = frozenset(
    {"search", "visit", "web_search", "browse", "open_page", "fetch"}
)
_INFORMATION = re.compile(r"<information>.*?(?:</information>|\Z)", re.DOTALL)
_QUERY = re.compile(r"<search>(.*?)</search>", re.DOTALL)


def is_step(text: str) -> bool:
    """Does the text contain a search or an answer tag?"""
    return "<search>" in text or "<answer>" in text


def holds_episode(text: str) -> bool:
    """Does one text hold the environment's information as well as the model's steps?"""
    return "<information>" in text and is_step(text)


def add_episode(
    draft: Draft, text: str, reasoning: str | None = None, *, skip: str | None = None
) -> None:
    """Alternate turns and observations of an episode kept in one text."""
    at = 0
    for found in _INFORMATION.finditer(text):
        _add_step(draft, text[at : found.start()], reasoning, skip)
        draft.user(found[0].strip())
        at, reasoning = found.end(), None
    if text[at:].strip():
        _add_step(draft, text[at:], reasoning, skip)


def _add_step(draft: Draft, text: str, reasoning: str | None, skip: str | None) -> None:
    query = _QUERY.search(text)
    context = {"query": query[1].strip()} if query else None
    draft.assistant(text.strip(), (), reasoning, skip=skip, context=context)
