"""Where a customer of the shop is."""

from __future__ import annotations

from typing import NamedTuple


class State(NamedTuple):
    """One page of one purchase.

    `query` is empty on the search page, `asin` on the results; `part` names the part of
    a product that is shown; `score` is the reward once something was bought.
    """

    query: str = ""
    number: int = 1
    asin: str = ""
    chosen: tuple[tuple[str, str], ...] = ()
    part: str = ""
    score: float | None = None
