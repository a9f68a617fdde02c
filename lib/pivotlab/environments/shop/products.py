"""What the shop sells and what a customer wants: plain records."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Product:
    """One product.

    Attributes:
        asin: its id, unique in a catalogue; ids that differ in case only are the same.
        title: as shown in the results.
        query: what one would search to find such products ("throw blanket").
        categories: path from the department down.
        price: in dollars.
        attributes: qualities, lower case; the reward looks for the wanted ones here.
        options: name and values of each choice, lower case, in the order of the page.
        bullets: the Features page.
        description: the Description page.
    """

    asin: str
    title: str
    query: str
    categories: tuple[str, ...]
    price: float
    attributes: tuple[str, ...] = ()
    options: tuple[tuple[str, tuple[str, ...]], ...] = ()
    bullets: tuple[str, ...] = ()
    description: str = ""

    def document(self) -> str:
        """The indexed text: title, description, categories, bullets, options."""
        choices = [f"{name}: {', '.join(values)}" for name, values in self.options]
        parts = [self.title, self.description, *self.categories, *self.bullets]
        return " ".join([*parts, ", and ".join(choices)]).lower()


@dataclass(frozen=True)
class Goal:
    """A purchase to make: the instruction, and the annotation the reward checks.

    Attributes:
        instruction: what the customer says.
        asin: the product it was written for; others may serve as well.
        title, query, categories: of that product, for the type reward.
        attributes: wanted qualities, lower case.
        options: wanted option values, lower case.
        limit: highest price in dollars.
    """

    instruction: str
    asin: str
    title: str
    query: str
    categories: tuple[str, ...]
    attributes: tuple[str, ...]
    options: tuple[str, ...]
    limit: float
