"""The embedded catalogue and its customers, made from a seed: no file is needed.

1,200 products of 48 kinds in six departments. A title is the brand, the kind and every
attribute of the product, so that a page of results shows what a customer can know
before clicking; which colours and sizes there are is on the product's own page only.
Goals are written for a product of the catalogue, ask for one or two of its attributes
and one or two of its options, and set a price limit by WebShop's rule (two of the next
four multiples of ten above the price, the higher one).

Attributes are adjectives, and a brand belongs to one kind of a department: so no title
shares a noun with one of another kind, and only the wanted kind is worth the full type
reward.

A task id is `generated/<train|valid|test>/<six digits>`. The splits share no
instruction: which split one belongs to is a property of its text.
"""

from __future__ import annotations

import hashlib
import random
import re
from dataclasses import replace
from functools import cache
from typing import Literal

from pivotlab.environments.shop.catalogue import Catalogue
from pivotlab.environments.shop.products import Goal, Product

Split = Literal["train", "valid", "test"]
PER_KIND = 25
#: Compact results: a page that a model with a context of a thousand tokens can read.
RESULTS, PER_PAGE = 12, 4
OPENINGS = ("i need a", "i want a", "find me a")
_TEXT_BRANDS = """
alpino brinto caldo dorna fenwo gravia halden ilvano jorvik kelpo lumo mistra nordi
ombra pilano quenta rivano sefra tavik ultima vasta wexel yarro zorel
"""
BRANDS = tuple(_TEXT_BRANDS.split())
_COLORS = ("black", "blue", "green", "orange", "pink", "purple", "white", "yellow")
_COUNTS = ("single", "double", "triple")
_CONSONANTS = "bcdfghjklmnpqrstvwxz"
#: Department -> (kinds, attributes, options and their values).
DEPARTMENTS: dict[str, tuple[tuple[str, ...], tuple[str, ...], dict[str, tuple]]] = {
    "bedding": (
        ("throw blanket", "pillow cover", "duvet insert", "mattress topper")
        + ("fitted sheet", "bath mat", "shower curtain", "beach towel"),
        ("washable", "lightweight", "hypoallergenic", "quick drying")
        + ("breathable", "reversible", "quilted", "extra soft"),
        {"color": _COLORS, "size": ("twin", "full", "queen", "king")},
    ),
    "clothing": (
        ("rain jacket", "wool sweater", "hooded sweatshirt", "running shirt")
        + ("linen dress", "denim skirt", "yoga pant", "winter coat"),
        ("stretchable", "slim fitting", "long sleeved", "windproof")
        + ("fully lined", "padded", "adjustable", "reflective"),
        {"color": _COLORS, "size": ("small", "medium", "large")},
    ),
    "kitchen": (
        ("lunch box", "water bottle", "tea kettle", "salad bowl")
        + ("cutting board", "baking pan", "coffee mug", "spice rack"),
        ("stackable", "microwavable", "reusable", "insulated")
        + ("collapsible", "unbreakable", "easy to clean", "polished"),
        {"color": _COLORS, "count": _COUNTS},
    ),
    "beauty": (
        ("shower gel", "hand cream", "lip balm", "hair mask")
        + ("face scrub", "body lotion", "bath salt", "night serum"),
        ("long lasting", "fast absorbing", "soothing", "moisturizing")
        + ("refillable", "exfoliating", "brightening", "vegan"),
        {
            "scent": ("vanilla", "lavender", "citrus", "coconut", "rosemary", "mint"),
            "size": ("regular", "family", "travel"),
        },
    ),
    "snacks": (
        ("granola bar", "trail mix", "fruit chew", "rice cracker")
        + ("protein cookie", "nut butter", "popcorn bag", "tomato soup"),
        ("organic", "roasted", "unsweetened", "salted")
        + ("toasted", "sugarless", "crispy", "natural"),
        {
            "flavor": ("chocolate", "caramel", "berry", "peanut", "honey", "cinnamon"),
            "count": _COUNTS,
        },
    ),
    "electronics": (
        ("phone case", "screen protector", "charging cable", "bluetooth speaker")
        + ("desk lamp", "keyboard cover", "camera bag", "travel adapter"),
        ("wireless", "fast charging", "waterproof", "rechargeable")
        + ("foldable", "portable", "ultra thin", "magnetic"),
        {"color": _COLORS, "size": ("compact", "standard", "jumbo")},
    ),
}
#: First byte of the hash of an instruction, from which number on, for each split.
_SPLITS = {"valid": range(26), "test": range(26, 52), "train": range(52, 256)}
_TASK = re.compile(r"generated/(train|valid|test)/\d{6}")


@cache
def catalogue(seed: int = 0) -> Catalogue:
    """The embedded catalogue; the same on every machine for a seed."""
    rng = random.Random(f"catalogue/{seed}")
    products = _numbered([p for d in DEPARTMENTS for p in _department(rng, d)], rng)
    return Catalogue(
        products, lambda task: _goal(products, seed, task), RESULTS, PER_PAGE
    )


def task_ids(split: Split, count: int, start: int = 0) -> list[str]:
    """Ids of `count` tasks of a split, from number `start` on."""
    return [f"generated/{split}/{number:06d}" for number in range(start, start + count)]


def _department(rng: random.Random, name: str) -> list[Product]:
    """`PER_KIND` products of every kind of a department; ids follow later."""
    kinds = DEPARTMENTS[name][0]
    brands = rng.sample(BRANDS, len(BRANDS))
    made: dict[str, Product] = {}
    for place, kind in enumerate(kinds):
        own = brands[place :: len(kinds)]
        while len(made) < (place + 1) * PER_KIND:
            product = _product(rng, name, kind, rng.choice(own))
            made[product.title] = product
    return list(made.values())


def _product(rng: random.Random, department: str, kind: str, brand: str) -> Product:
    _, qualities, choices = DEPARTMENTS[department]
    attributes = tuple(rng.sample(qualities, rng.choice((2, 2, 3))))
    return Product(
        asin="",
        title=", ".join([f"{brand} {kind}", *attributes]),
        query=kind,
        categories=(department, kind),
        price=float(rng.randint(5, 79)),
        attributes=attributes,
        options=tuple((name, _some(rng, values)) for name, values in choices.items()),
        bullets=tuple(f"this {kind} is {a}" for a in attributes),
        description=f"a {kind} by {brand}",
    )


def _some(rng: random.Random, values: tuple[str, ...]) -> tuple[str, ...]:
    """Two or three of an option's values, in their usual order."""
    kept = set(rng.sample(values, rng.choice((2, 3))))
    return tuple(value for value in values if value in kept)


def _numbered(products: list[Product], rng: random.Random) -> tuple[Product, ...]:
    """With ids in an order that tells nothing: five consonants, one word each, so that
    a tokenizer can make them one token."""
    rng.shuffle(products)
    codes = rng.sample(range(len(_CONSONANTS) ** 4), len(products))
    return tuple(
        replace(product, asin=_code(code))
        for code, product in zip(codes, products, strict=True)
    )


def _code(number: int) -> str:
    letters = ""
    for _ in range(4):
        number, letter = divmod(number, len(_CONSONANTS))
        letters += _CONSONANTS[letter]
    return f"b{letters}"


def _goal(products: tuple[Product, ...], seed: int, task: str) -> Goal:
    """The goal of a task.

    Raises:
        ValueError: the id names no task.
    """
    found = _TASK.fullmatch(task)
    if found is None:
        raise ValueError(
            f"no shop task {task!r}; ids are generated/<train|valid|test>/<six digits>"
        )
    rng = random.Random(f"goal/{seed}/{task}")
    while True:
        goal = draw_goal(rng.choice(products), rng)
        first = hashlib.sha256(goal.instruction.encode()).digest()[0]
        if first in _SPLITS[found[1]]:
            return goal


def draw_goal(product: Product, rng: random.Random) -> Goal:
    """A goal that `product` fulfils."""
    attributes = tuple(rng.sample(product.attributes, rng.choice((1, 2))))
    names = rng.sample(product.options, rng.choice((1, 2)))
    options = [(name, rng.choice(values)) for name, values in names]
    limit = price_limit(product.price, rng)
    listed = ", and ".join(f"{name}: {value}" for name, value in options)
    return Goal(
        instruction=f"{rng.choice(OPENINGS)} {product.query} that is "
        f"{' and '.join(attributes)}, with {listed}, "
        f"and price lower than {limit:.2f} dollars",
        asin=product.asin,
        title=product.title,
        query=product.query,
        categories=product.categories,
        attributes=attributes,
        options=tuple(value for _, value in options),
        limit=limit,
    )


def price_limit(price: float, rng: random.Random) -> float:
    """WebShop's rule: the higher of two of the next four multiples of ten below 1000.

    A price with fewer than two of them above it gets a limit that never binds.
    """
    above = [10.0 * i for i in range(1, 100) if 10.0 * i > price][:4]
    return max(rng.sample(above, 2)) if len(above) >= 2 else 1e6
