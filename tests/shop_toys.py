"""A small hand-made shop, and searches through one without an oracle."""

import itertools
import random

from pivotlab.environments.shop.catalogue import Catalogue
from pivotlab.environments.shop.environment import Shop
from pivotlab.environments.shop.generated import draw_goal
from pivotlab.environments.shop.products import Goal, Product
from pivotlab.environments.shop.state import State


def product(asin, title, price=20.0, options=(), **more) -> Product:
    given = {"query": "blanket", "categories": ("bedding", "blanket")} | more
    return Product(asin=asin, title=title, price=price, options=options, **given)


def goal(**more) -> Goal:
    given = {
        "instruction": "i need a blanket",
        "asin": "B1",
        "title": "red wool blanket",
        "query": "blanket",
        "categories": ("bedding", "blanket"),
        "attributes": ("washable",),
        "options": (),
        "limit": 40.0,
    }
    return Goal(**(given | more))


COLOR = ("color", ("red", "blue"))
SIZE = ("size", ("small", "large"))
PRODUCTS = (
    product("B1", "lumo wool blanket", 30.0, (COLOR, SIZE), attributes=("washable",)),
    product("B2", "kelpo wool blanket", 50.0, (COLOR,), attributes=("washable",)),
    product("B3", "nordi wool blanket", 20.0, (SIZE,), attributes=("padded",)),
    product("B4", "vasta wool blanket", 10.0, (COLOR,), attributes=("washable",)),
    product(
        "B5", "sefra lamp", 15.0, query="lamp", categories=("light", "lamp"), options=()
    ),
)


def small_catalogue(per_page=2) -> Catalogue:
    """Five products; task "wool" asks for a washable blanket in red, size large."""
    wanted = goal(options=("red", "large"))
    return Catalogue(PRODUCTS, {"wool": wanted}.__getitem__, 4, per_page)


def random_catalogue(rng: random.Random, kinds=2, each=2) -> Catalogue:
    """A few products that differ in every respect; tasks "0", "1", ... ask for them."""
    made = []
    for kind, number in itertools.product(range(kinds), range(each)):
        attributes = rng.sample(["washable", "padded", "reusable", "vegan"], 2)
        brand = rng.choice(["lumo", "kelpo", "nordi"])
        noun = ["blanket", "lamp", "kettle"][kind]
        made.append(
            product(
                f"b{kind}{number}",
                f"{brand} {noun}, {', '.join(attributes)}",
                float(rng.randint(5, 60)),
                tuple(
                    (name, tuple(rng.sample(values, 2)))
                    for name, values in (
                        ("color", ["red", "blue", "green"]),
                        ("size", ["small", "medium", "large"]),
                    )
                ),
                query=noun,
                categories=("home", noun),
                attributes=tuple(attributes),
            )
        )
    goals = {str(i): draw_goal(p, rng) for i, p in enumerate(made)}
    return Catalogue(made, goals.__getitem__, 6, 2)


def queries(catalogue: Catalogue) -> list[str]:
    """One query for every list of results that a word or a title can bring."""
    titles = [p.title for p in catalogue.products.values()]
    words = sorted({word for title in titles for word in title.split()})
    found = {}
    for query in (*words, *titles):
        found.setdefault(catalogue.find(query), query)
    return sorted(found.values())


def exact_turns(shop: Shop, asked: list[str]) -> dict[State, float]:
    """Fewest turns to a purchase worth 1 from every state that can be reached.

    The whole graph is played out, and its edges are walked backwards from the goal.
    """
    before, front, turns = {}, [shop.snapshot()], {}
    known = set(front)
    goals = set()
    while front:
        state = front.pop()
        for action in _actions(shop, state, asked):
            shop.restore(state)
            step = shop.step(action)
            after = shop.snapshot()
            before.setdefault(after, set()).add(state)
            if step.reward == 1.0:
                goals.add(after)
            if after not in known:
                known.add(after)
                front += [] if step.done else [after]
    front = dict.fromkeys(goals, 0.0)
    while front:
        turns |= front
        steps = {b: t + 1 for a, t in front.items() for b in before.get(a, ())}
        front = {state: t for state, t in steps.items() if state not in turns}
    return {state: turns.get(state, float("inf")) for state in known}


def _actions(shop: Shop, state: State, asked: list[str]) -> list[str]:
    if state == State():
        return [f"search[{query}]" for query in asked]
    shop.restore(state)
    return [a for a in shop.admissible() if a not in _MORE_PARTS]


#: Parts of a product that differ from its description in nothing but their text.
_MORE_PARTS = ("click[features]", "click[reviews]", "click[attributes]")
