"""WebShop's two actions, `search[query]` and `click[value]`, in a model's text.

The first line that is an action counts, with or without `Action:` in front of it, so a
thought may stand before it. Values are compared in lower case with single spaces.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from pivotlab.environments.protocol import ANY_TEXT

_ACTION = re.compile(
    r"^(?:Action(?: \d+)?: *)?(search|click)\[(.*)\][ \t]*$", re.MULTILINE | re.I
)
#: How a search stands in a list of admissible actions.
SEARCH_FORM = f"search[{ANY_TEXT}]"


class Action(NamedTuple):
    """`kind` is "search" or "click"; `value` is what stands between the brackets."""

    kind: str
    value: str


def read(text: str) -> Action | None:
    """The first action of a text, None where it has none."""
    found = _ACTION.search(text)
    return Action(found[1].lower(), found[2].strip()) if found else None


def plain(value: str) -> str:
    """A value as the shop compares it."""
    return " ".join(value.lower().split())


def search(query: str) -> str:
    """The action that searches for `query`."""
    return f"search[{query}]"


def click(value: str) -> str:
    """The action that clicks `value`."""
    return f"click[{value}]"
