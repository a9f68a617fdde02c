"""The shop's pages as texts, and back.

Fields are separated by ` [SEP] `, as in WebShop's text mode:

    search       WebShop [SEP] Instruction: [SEP] <instruction> [SEP] Search
    results      Back to Search [SEP] Page 1 (Total results: 12) [SEP] Next >
                 [SEP] <id> [SEP] <title> [SEP] $37.00 ... (id, title, price each)
    product      Back to Search [SEP] < Prev [SEP] color [SEP] red [SEP] blue ...
                 [SEP] <title> [SEP] Price: $37.00 [SEP] Description [SEP] Features
                 [SEP] Reviews [SEP] Attributes [SEP] Buy Now
    part         Back to Search [SEP] < Prev [SEP] <text>
    end          Thank you for shopping with us!
                 [SEP] Your score (min 0.0, max 1.0): 1.00

Departures from WebShop, all for a short context:
1. The instruction stands on the first page only; the whole history is the context.
2. A product page starts with what has been clicked, a field each ("You have clicked
   color: red"); WebShop's plain text does not show it, so its state cannot be read off.
3. No rating, and the Reviews page is always empty.
4. A refused action is answered `Invalid action!`, and the page stays what it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pivotlab.environments.shop.catalogue import Catalogue
from pivotlab.environments.shop.products import Product

SEP = " [SEP] "
BACK, PREV, NEXT, BUY = "Back to Search", "< Prev", "Next >", "Buy Now"
PARTS = ("Description", "Features", "Reviews", "Attributes")
INVALID = "Invalid action!"
_INSTRUCTION = "WebShop [SEP] Instruction: [SEP] "
_CLICKED = "You have clicked "
_PRICE = "Price: $"
_PAGE = "Page "


def search_page(instruction: str) -> str:
    """The page an episode starts on."""
    return f"{_INSTRUCTION}{instruction}{SEP}Search"


def results_page(catalogue: Catalogue, query: str, number: int) -> str:
    """One page of results."""
    total = len(catalogue.find(query))
    fields = [BACK, f"{_PAGE}{number} (Total results: {total})"]
    fields += [PREV] if number > 1 else []
    fields += [NEXT] if number < catalogue.pages(query) else []
    for product in catalogue.page(query, number):
        fields += [product.asin, product.title, f"${product.price:.2f}"]
    return SEP.join(fields)


def product_page(product: Product, chosen: Sequence[tuple[str, str]]) -> str:
    """A product's own page; `chosen` are (option, value) pairs clicked so far."""
    fields = [f"{_CLICKED}{name}: {value}" for name, value in chosen]
    fields += [BACK, PREV]
    for name, values in product.options:
        fields += [name, *values]
    fields += [product.title, f"{_PRICE}{product.price:.2f}", *PARTS, BUY]
    return SEP.join(fields)


def part_page(product: Product, part: str) -> str:
    """Description, Features, Reviews or Attributes of a product."""
    texts = {
        "Description": product.description,
        "Features": "; ".join(product.bullets),
        "Reviews": "There are no reviews.",
        "Attributes": ", ".join(product.attributes),
    }
    return SEP.join([BACK, PREV, texts[part]])


def end_page(score: float) -> str:
    """The answer to a purchase."""
    return (
        f"Thank you for shopping with us!{SEP}"
        f"Your score (min 0.0, max 1.0): {score:.2f}"
    )


@dataclass(frozen=True)
class Seen:
    """What a page shows.

    Attributes:
        kind: search, results, product, part, end, or invalid (the page is unchanged).
        instruction: on the search page an episode starts on.
        items: (id, title, price) of each result.
        more: there is a next page of results.
        title, price: of the product.
        values: every option name and value of the product page, in its order.
        clicked: (option, value) pairs.
    """

    kind: str
    instruction: str = ""
    items: tuple[tuple[str, str, float], ...] = ()
    more: bool = False
    title: str = ""
    price: float = 0.0
    values: tuple[str, ...] = ()
    clicked: tuple[tuple[str, str], ...] = ()


def read(page: str) -> Seen:
    """What a page shows.

    Raises:
        ValueError: the text is no page of this shop.
    """
    fields = page.split(SEP)
    if page == INVALID:
        return Seen("invalid")
    if page.startswith(_INSTRUCTION):
        return Seen("search", instruction=SEP.join(fields[2:-1]))
    if page.startswith("Thank you for shopping"):
        return Seen("end")
    clicked = []
    while fields[0].startswith(_CLICKED):
        name, _, value = fields.pop(0).removeprefix(_CLICKED).partition(": ")
        clicked.append((name, value))
    if fields[0] != BACK:
        raise ValueError(f"not a page of this shop: {page[:80]!r}")
    if fields[1].startswith(_PAGE):
        return _results(fields[2:])
    if fields[-1] != BUY:
        return Seen("part")
    return Seen(
        "product",
        title=fields[-7],
        price=float(fields[-6].removeprefix(_PRICE)),
        values=tuple(fields[2:-7]),
        clicked=tuple(clicked),
    )


def _results(fields: list[str]) -> Seen:
    more = NEXT in fields[:2]
    shown = [f for f in fields if f not in (NEXT, PREV)]
    items = tuple(
        (shown[i], shown[i + 1], float(shown[i + 2].removeprefix("$")))
        for i in range(0, len(shown), 3)
    )
    return Seen("results", items=items, more=more)
