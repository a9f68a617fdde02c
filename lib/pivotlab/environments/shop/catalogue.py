"""A catalogue: products, their search engine, and the goals of its customers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from pivotlab.environments.retrieval import Bm25
from pivotlab.environments.shop.actions import plain
from pivotlab.environments.shop.products import Goal, Product


class Catalogue:
    """Products by id, with search and goals.

    Attributes:
        products: lower-case id -> product, in the catalogue's order.
        goal: task id -> goal; raises ValueError for an id that names none.
        results: most products a search finds (WebShop: 50).
        per_page: products on a page of results (WebShop: 10).
    """

    def __init__(
        self,
        products: Iterable[Product],
        goal: Callable[[str], Goal],
        results: int,
        per_page: int,
    ):
        """
        Raises:
            ValueError: two products have the same id, or there are none.
        """
        self.products: dict[str, Product] = {}
        for product in products:
            if self.products.setdefault(product.asin.lower(), product) is not product:
                raise ValueError(f"two products have the id {product.asin!r}")
        if not self.products:
            raise ValueError("a catalogue needs at least one product")
        self.goal, self.results, self.per_page = goal, results, per_page
        self._ids = tuple(self.products)
        self._engine = Bm25([p.document() for p in self.products.values()])

    def find(self, query: str) -> tuple[str, ...]:
        """Lower-case ids of what a search finds, best first."""
        return tuple(self._ids[i] for i in self._engine.search(query, self.results))

    def page(self, query: str, number: int) -> tuple[Product, ...]:
        """Products on page `number` of a search, counted from 1."""
        first = (number - 1) * self.per_page
        found = self.find(query)[first : first + self.per_page]
        return tuple(self.products[asin] for asin in found)

    def shows(self, query: str, wanted: Collection[str]) -> bool:
        """Is one of the wanted products (lower-case ids) on the first page of a search?

        The functional verdict of a query: any words that bring one are as good.
        """
        return any(p.asin.lower() in wanted for p in self.page(plain(query), 1))

    def pages(self, query: str) -> int:
        """How many pages a search has; at least one, which may be empty."""
        return max(1, -(-len(self.find(query)) // self.per_page))
