"""A customer who acts only on what the pages have shown.

The honest shopper knows what the instruction says and what it has seen: titles and
prices of results, and options of a product once its page was open. It searches with the
words it wants, opens any result whose title and price are right, goes back when the
wanted options are missing, clicks them in any order, and buys. After two searches
without such a result it settles for a title of the right kind, and after four for any.

Phases: search, choose, next, leave, return (from a product's part), option, buy, over.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass

from pivotlab.environments.players import Advice, Slipping
from pivotlab.environments.shop import pages
from pivotlab.environments.shop.actions import SEARCH_FORM, click, search
from pivotlab.environments.shop.catalogue import Catalogue
from pivotlab.environments.shop.products import Goal
from pivotlab.environments.shop.reward import same_option

PHASES = ("search", "choose", "next", "leave", "return", "option", "buy", "over")
_INSTRUCTION = re.compile(
    r"(?:i need a|i want a|find me a) (.+?) that is (.+?), with (.+),"
    r" and price lower than ([0-9.]+) dollars"
)
#: Searches without a right result after which the shopper is content with less.
_KIND_ONLY, _ANYTHING = 2, 4


@dataclass(frozen=True)
class Wants:
    """What an instruction asks for: kind, attributes, option values, highest price."""

    kind: str
    attributes: tuple[str, ...]
    options: tuple[str, ...]
    limit: float

    @classmethod
    def of(cls, goal: Goal) -> Wants:
        """The annotation of a goal that its instruction states."""
        return cls(goal.query, goal.attributes, goal.options, goal.limit)

    @classmethod
    def read(cls, instruction: str) -> Wants:
        """The wishes of a generated instruction.

        Raises:
            ValueError: it is not worded like the generated ones; give the wishes.
        """
        found = _INSTRUCTION.fullmatch(instruction)
        if found is None:
            raise ValueError(
                f"not an instruction of the generated catalogue: {instruction!r}; "
                "start the player with Wants.of(goal)"
            )
        pairs = [pair.split(": ") for pair in found[3].split(", and ")]
        options = tuple(value for _, value in pairs)
        return cls(found[1], tuple(found[2].split(" and ")), options, float(found[4]))

    def fit(self, title: str, price: float) -> bool:
        """Are title and price those of a wanted product, as far as one can see?"""
        text = title.lower()
        wanted = (self.kind, *self.attributes)
        return price <= self.limit and all(words in text for words in wanted)

    def queries(self) -> list[str]:
        """Sensible first queries, most of the wishes in each, sorted."""
        kind, found = self.kind, set()
        for attributes in (self.attributes, self.attributes[::-1]):
            for options in (self.options, self.options[::-1]):
                found.add(" ".join([*attributes, kind, *options]))
                found.add(" ".join([kind, *attributes, *options]))
            found.add(" ".join([*attributes, kind]))
        return sorted(found)

    def later_queries(self) -> list[str]:
        """Queries that leave something out, for when the first ones failed; sorted."""
        words = (*self.attributes, *self.options)
        return sorted({self.kind, *(f"{self.kind} {word}" for word in words)})


class HonestShopper:
    """Buys what the instruction asks for, using nothing it has not been shown."""

    name = "honest"

    def __init__(self, wants: Wants | None = None):
        """
        Args:
            wants: what the instruction asks for; by default it is read, which works for
                generated instructions only.
        """
        self._given = wants

    def start(self, observation: str) -> None:
        """Begin with the search page.

        Raises:
            ValueError: the page or its instruction cannot be read.
        """
        self.seen = pages.read(observation)
        self.wants = self._given or Wants.read(self.seen.instruction)
        self.rejected: set[str] = set()
        self.searches = 0

    def observe(self, observation: str) -> None:
        """Take in the answer to the last action."""
        seen = pages.read(observation)
        if seen.kind == "invalid":
            return
        self.searches += seen.kind == "results" and self.seen.kind == "search"
        self.seen = seen
        if seen.kind == "product" and not self._suits(seen):
            self.rejected.add(seen.title)

    def acceptable(self) -> Advice:
        """Sorted actions a sensible customer might take now, and the phase."""
        found, phase = getattr(self, f"_at_{self.seen.kind}")()
        return tuple(sorted(found)), phase

    def serving(self, catalogue: Catalogue) -> tuple[str, ...]:
        """Lower-case ids of the products this shopper would open in any results, in
        the catalogue's order: a query that shows one of them early is a good one."""
        return tuple(
            asin
            for asin, product in catalogue.products.items()
            if product.title not in self.rejected
            and self._content_with(product.title, product.price)
        )

    def act(self, admissible: Sequence[str], rng: random.Random) -> str:
        """One acceptable action, each equally likely."""
        return rng.choice(self.acceptable()[0])

    def _at_search(self) -> tuple[list[str], str]:
        first = self.searches == 0
        queries = self.wants.queries() if first else self.wants.later_queries()
        return [search(query) for query in queries], "search"

    def _at_results(self) -> tuple[list[str], str]:
        right = [
            asin
            for asin, title, price in self.seen.items
            if title not in self.rejected and self._content_with(title, price)
        ]
        if right:
            return [click(asin) for asin in right], "choose"
        if self.seen.more:
            return [click("next >")], "next"
        return [click("back to search")], "leave"

    def _at_product(self) -> tuple[list[str], str]:
        if self.seen.title in self.rejected:
            return [click("< prev")], "leave"
        clicked = [value for _, value in self.seen.clicked]
        missing = [
            value
            for wanted in self.wants.options
            if not any(same_option(value, wanted) for value in clicked)
            for value in self.seen.values
            if same_option(value, wanted)
        ]
        if missing:
            return [click(value) for value in missing], "option"
        return [click("buy now")], "buy"

    def _at_part(self) -> tuple[list[str], str]:
        return [click("< prev")], "return"

    def _at_end(self) -> tuple[list[str], str]:
        return [], "over"

    def _content_with(self, title: str, price: float) -> bool:
        if self.searches > _ANYTHING:
            return True
        if self.searches > _KIND_ONLY:
            return price <= self.wants.limit and self.wants.kind in title.lower()
        return self.wants.fit(title, price)

    def _suits(self, seen: pages.Seen) -> bool:
        """Is the open product one to buy?"""
        complete = self.searches > _KIND_ONLY or all(
            any(same_option(value, wanted) for value in seen.values)
            for wanted in self.wants.options
        )
        return complete and self._content_with(seen.title, seen.price)


class NoisyShopper(Slipping, HonestShopper):
    """Honest, but with probability `eps` a turn it slips.

    Half of the slips are any click of the page, or on the search page a query for
    something else; the other half are refused by the shop.
    """

    def slip(self, admissible: Sequence[str], rng: random.Random) -> str:
        """A click that need not help, a vague query, or what the shop refuses."""
        if rng.random() < 0.5:
            return self._refused(rng)
        clicks = [action for action in admissible if action != SEARCH_FORM]
        return rng.choice(clicks or [search(word) for word in self._vague()])

    def _vague(self) -> list[str]:
        return [*self.wants.options, *self.wants.attributes]

    def _refused(self, rng: random.Random) -> str:
        """A well-formed action that is not one of the page's."""
        if self.seen.kind == "search":
            return rng.choice([click("buy now"), click("next >")])
        if self.seen.kind == "results":
            return rng.choice([*map(search, self.wants.queries()), click("buy now")])
        return rng.choice([*map(search, self.wants.queries()), click("next >")])
