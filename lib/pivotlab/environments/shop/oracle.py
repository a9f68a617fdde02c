"""L(s) of the shop: fewest turns to a purchase worth 1, from any page.

From a product's page: the fewest clicks that make its options serve, and the purchase.
From results: walk to a page that shows a product worth 1, or search again. From the
search page: the best query. Queries are without number, so it is bounded from both
sides: no query beats one that shows the cheapest product worth 1 on its first page, and
the words of the goal and each such product's own title and text are tried. Where one of
them attains the bound, which holds for every goal of the generated catalogue, L is
exact; elsewhere it is the best known way (an upper bound).
"""

from __future__ import annotations

import itertools
import math
from functools import cached_property

from pivotlab.environments.shop.actions import plain
from pivotlab.environments.shop.catalogue import Catalogue
from pivotlab.environments.shop.products import Goal, Product
from pivotlab.environments.shop.reward import has_attribute, product_type, same_option
from pivotlab.environments.shop.state import State


class Oracle:
    """Shortest ways of one goal in one catalogue."""

    def __init__(self, catalogue: Catalogue, goal: Goal):
        self.catalogue, self.goal = catalogue, goal

    def remaining(self, state: State) -> float:
        """Fewest turns from a state; infinite if no way is known."""
        if state.score is not None:
            return 0.0 if state.score >= 1.0 else math.inf
        if not state.query:
            return self._from_search
        again = 1 + self._from_search
        if not state.asin:
            return min(again, self._from_results(state.query, state.number))
        leave = 1 + min(again, self._from_results(state.query, state.number))
        buy = self._from_product(state.asin, state.chosen)
        stay = min(buy, leave, again)
        return min(again, 1 + stay) if state.part else stay

    def queries(self) -> list[str]:
        """The best known queries, sorted: the goal's words if they are as good as any,
        else titles, else whole texts of products worth 1."""
        asked = [(self._goal_words,)]
        products = [self.catalogue.products[asin] for asin in sorted(self._worthy)]
        for texts in (
            [p.title for p in products],
            [p.document() for p in products],
        ):
            asked.append(tuple(map(plain, texts)))
        for group in asked:
            found = {
                query
                for query in group
                if 1 + self._from_results(query, 1) == self._from_search
            }
            if found and self._from_search < math.inf:
                return sorted(found)
        return []

    @cached_property
    def _goal_words(self) -> str:
        goal = self.goal
        return plain(" ".join([*goal.attributes, goal.query, *goal.options]))

    @cached_property
    def _worthy(self) -> dict[str, float]:
        """Product that can be bought for 1 -> turns on its page, nothing chosen yet."""
        found = {}
        for asin, product in self.catalogue.products.items():
            if worth_buying(product, self.goal):
                turns = self._turns(product, ())
                if turns < math.inf:
                    found[asin] = turns
        return found

    @cached_property
    def _from_search(self) -> float:
        best = 1 + self._from_results(self._goal_words, 1)
        for asin, turns in sorted(self._worthy.items(), key=lambda pair: pair[1]):
            if 2 + turns >= best:
                break
            product = self.catalogue.products[asin]
            for text in (product.title, product.document()):
                best = min(best, 1 + self._from_results(plain(text), 1))
        return best

    def _from_results(self, query: str, number: int) -> float:
        """By the results of this query alone."""
        places = enumerate(self.catalogue.find(query))
        return min(
            (
                abs(place // self.catalogue.per_page + 1 - number)
                + 1
                + self._worthy[asin]
                for place, asin in places
                if asin in self._worthy
            ),
            default=math.inf,
        )

    def _from_product(self, asin: str, chosen: tuple[tuple[str, str], ...]) -> float:
        if asin not in self._worthy:
            return math.inf
        return self._turns(self.catalogue.products[asin], chosen)

    def _turns(self, product: Product, chosen: tuple[tuple[str, str], ...]) -> float:
        """Fewest clicks until every wanted option is served, and the purchase."""
        now = dict(chosen)
        choices = []
        for name, values in product.options:
            useful = {
                v for v in values if any(same_option(v, o) for o in self.goal.options)
            }
            choices.append([now.get(name), *sorted(useful - {now.get(name)})])
        best = math.inf
        for values in itertools.product(*choices):
            clicks = sum(
                value != row[0] for value, row in zip(values, choices, strict=True)
            )
            if clicks + 1 < best and all(
                any(v is not None and same_option(v, wanted) for v in values)
                for wanted in self.goal.options
            ):
                best = clicks + 1.0
        return best


def worth_buying(product: Product, goal: Goal) -> bool:
    """Can the product be worth 1, as far as type, attributes and price go?"""
    return (
        product.price <= goal.limit
        and all(has_attribute(product, wanted) for wanted in goal.attributes)
        and product_type(product, goal) == 1.0
    )
