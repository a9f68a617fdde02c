"""Lists of things in one order: the engine writes them in the order of its facts, the
twin sorted by type and number. Nothing else of a text is touched.
"""

from __future__ import annotations

import re

from pivotlab.environments.protocol import Environment, Step
from pivotlab.environments.textgame.wording import listing

_LIST = re.compile(r"(?<=you see )a [a-z]+ \d+(?:, a [a-z]+ \d+)*, and a [a-z]+ \d+")


class ListsInOrder:
    """A household environment whose lists of things are sorted, as the twin's are."""

    def __init__(self, inner: Environment):
        self.inner = inner
        self.admissible = inner.admissible
        self.snapshot = inner.snapshot
        self.restore = inner.restore

    def reset(self, task: str) -> str:
        """See `Environment`."""
        return in_order(self.inner.reset(task))

    def step(self, action: str) -> Step:
        """See `Environment`."""
        answer = self.inner.step(action)
        return answer._replace(observation=in_order(answer.observation))


def in_order(observation: str) -> str:
    """The text with every list of things sorted by type, then number."""

    def sort(match: re.Match[str]) -> str:
        things = re.findall(r"([a-z]+) (\d+)", match[0])
        things.sort(key=lambda thing: (thing[0], int(thing[1])))
        return listing([f"{kind} {number}" for kind, number in things])

    return _LIST.sub(sort, observation)
