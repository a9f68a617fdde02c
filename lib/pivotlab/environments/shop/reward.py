"""WebShop's reward of a purchase, exactly, but for one stand-in.

    r = r_type (matched attributes + matched options + [price <= limit])
               / (wanted attributes + wanted options + 1)

- Attribute: token-set ratio above 85 with an attribute of the product, else contained
  in title, bullets or description.
- Option: token-set ratio above 85 with a chosen value, after both are reduced to the
  first colour of WebShop's list that they contain.
- Type: 1 for the same query, two shared categories or a title overlap above 0.2, else
  0.5; an overlap below 0.1 gives 0.1, none at all gives 0, whatever else agrees.

The purchase is a success iff r = 1. The ratio is thefuzz's: characters U+0080 to U+00FF
dropped, lower case, only letters and digits, rounded to whole percents.

Departures from WebShop:
1. The title overlap is a share of the goal title's nouns, which WebShop takes from a
   spaCy model. `nouns` stands in: words that are no stop words, no everyday adjectives
   and have no ending of an adjective or participle.
2. Later versions of the public code count matches over the chosen options, so that r
   can exceed 1; here, as in the published tests, each wanted option counts once.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from rapidfuzz import fuzz, utils

from pivotlab.environments.shop.products import Goal, Product

#: A token-set ratio must be above this, in percent.
NEAR = 85
#: What thefuzz calls "ascii": these are dropped, all others stay.
_DROPPED = dict.fromkeys(range(128, 256))
#: WebShop's colours, in its order: the first one contained in a value stands for it.
_TEXT_COLORS = """
alabaster apricot aqua ash asphalt azure banana beige black blue blush bordeaux bronze
brown burgundy camel camo caramel champagne charcoal cheetah chestnut chocolate
christmas coffee cognac copper coral cranberry cream crystal dark denim eggplant
elephant espresso fuchsia gold granite grape graphite grass gray green grey heather
indigo ivory ivy khaki lavender lemon leopard light lilac lime magenta maroon mauve
merlot midnight mint mocha multicolor mushroom mustard natural navy nude olive orange
peach pewter pink plum purple rainbow red rose royal rust sand sapphire seashell silver
skull slate steel stone stonewash sunflower tan taupe teal tiger turquoise violet walnut
wheat white wine yellow
"""
COLORS = tuple(_TEXT_COLORS.split())
_WORD = re.compile(r"[a-z0-9][a-z0-9'.\-]*[a-z0-9]|[a-z0-9]")
_TEXT_NO_NOUNS = """
a an and as at by for from in into is it of on or our the this to up with your without
best big clean crispy crunchy easy extra fast fine free fresh friendly full great heavy
high large light lightweight long low mini natural new non old proof quick resistant
safe slim small soft strong super thick thin travel ultra vegan warm waterproof
windproof
"""
_NO_NOUNS = frozenset(_TEXT_NO_NOUNS.split())
_ENDINGS = ("able", "ible", "ed", "ing", "less", "ly", "ous", "ive", "ful", "ic", "al")


class Score(NamedTuple):
    """Parts of the reward of one purchase, and the reward itself in [0, 1]."""

    type: float
    attributes: int
    options: int
    price: bool
    total: float


def score(product: Product, chosen: Sequence[str], goal: Goal) -> Score:
    """Reward of buying `product` with the option values `chosen`."""
    kind = product_type(product, goal)
    attributes = sum(has_attribute(product, wanted) for wanted in goal.attributes)
    options = sum(
        any(same_option(value, wanted) for value in chosen) for wanted in goal.options
    )
    price = product.price <= goal.limit
    most = len(goal.attributes) + len(goal.options) + 1
    total = kind * (attributes + options + price) / most
    return Score(kind, attributes, options, price, total)


def product_type(product: Product, goal: Goal) -> float:
    """r_type of a product for a goal."""
    return type_score(
        product.query == goal.query,
        len(set(product.categories) & set(goal.categories)) >= 2,
        title_overlap(product.title, goal.title),
    )


def type_score(same_query: bool, shared_categories: bool, overlap: float) -> float:
    """r_type in {0, 0.1, 0.5, 1} from its three pieces of evidence."""
    if overlap == 0:
        return 0.0
    if overlap < 0.1:
        return 0.1
    return 1.0 if same_query or shared_categories or overlap > 0.2 else 0.5


def title_overlap(title: str, wanted: str) -> float:
    """Share of the wanted title's nouns that the other title has; 0.2 without nouns."""
    asked = nouns(wanted)
    if not asked:
        return 0.2
    return len(set(nouns(title)) & set(asked)) / len(asked)


@lru_cache(100_000)
def nouns(title: str) -> tuple[str, ...]:
    """Stand-in for the nouns of a title, lower case, in order, repetitions kept."""
    words = _WORD.findall(title.lower())
    return tuple(
        word
        for word in words
        if word not in _NO_NOUNS
        and any(c.isalpha() for c in word)
        and not (len(word) > 4 and word.endswith(_ENDINGS))
    )


def has_attribute(product: Product, wanted: str) -> bool:
    """Does the product have the attribute, by its list or by its texts?"""
    if any(near(own, wanted) for own in product.attributes):
        return True
    texts = (product.title, " ".join(product.bullets), product.description)
    return any(wanted in text.lower() for text in texts)


def same_option(value: str, wanted: str) -> bool:
    """Does a chosen option value serve for a wanted one?"""
    return near(color(value), color(wanted))


def color(value: str) -> str:
    """First colour of WebShop's list contained in the value, else the value."""
    return next((name for name in COLORS if name in value), value)


@lru_cache(500_000)
def near(first: str, second: str) -> bool:
    """Is thefuzz's token-set ratio of the two texts above 85?"""
    return round(fuzz.token_set_ratio(_plain(first), _plain(second))) > NEAR


def _plain(text: str) -> str:
    return utils.default_process(text.translate(_DROPPED))
