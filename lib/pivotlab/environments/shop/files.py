"""WebShop's own product files, for those who have them.

    products     `items_shuffle*.json`: a list of objects with asin, name, category,
                 query, product_category ("a › b › c"), full_description,
                 small_description (text or list), pricing ("$9.99$19.99" for a range),
                 customization_options {name: [{"value": ...}, ...] or null}
    attributes   `items_ins_v2*.json`: {asin: {"attributes": [...]}}
    goals        `items_human_ins.json`: {asin: [{"instruction",
                 "instruction_attributes", "instruction_options"}, ...]}

As in WebShop: ids longer than ten characters, "nan" and repeated ids are left out, a
missing price is 100 dollars, goals without attributes are left out, a price limit is
added to the instruction, goals are shuffled with seed 233, 0-499 are `test`, 500-1499
`valid`, the rest `train`. What WebShop draws afresh at every start (a price in a range,
the price limit) is drawn here from a generator seeded by the id. Everything left out is
counted in `skips`.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pivotlab.environments.shop.catalogue import Catalogue
from pivotlab.environments.shop.generated import price_limit
from pivotlab.environments.shop.products import Goal, Product

RESULTS, PER_PAGE = 50, 10
SHUFFLE_SEED = 233
NO_PRICE = 100.0
_PRICE = re.compile(r"\$\s*([\d,]+(?:\.\d+)?)")
_SPLITS = (("test", 0, 500), ("valid", 500, 1500), ("train", 1500, None))


@dataclass
class Loaded:
    """A catalogue from files, task ids by split, and counts of what was left out."""

    catalogue: Catalogue
    tasks: dict[str, list[str]]
    skips: Counter[str] = field(default_factory=Counter)


def load(products: Path, attributes: Path, goals: Path) -> Loaded:
    """Read the three files.

    Raises:
        ValueError: a file is no JSON of this form; the message names file, item, field.
    """
    skips: Counter[str] = Counter()
    qualities = _object(attributes)
    found: dict[str, Product] = {}
    for row in _rows(products):
        product = _product(row, qualities)
        if product.asin == "nan" or len(product.asin) > 10:
            skips["product_id"] += 1
        elif product.asin.lower() in found:
            skips["product_repeated"] += 1
        else:
            found[product.asin.lower()] = product
    wanted = list(_goals(goals, found, skips))
    random.Random(SHUFFLE_SEED).shuffle(wanted)
    by_task, tasks = {}, {}
    for split, first, last in _SPLITS:
        numbered = enumerate(wanted[first:last], start=first)
        named = {f"webshop/{split}/{number:06d}": goal for number, goal in numbered}
        tasks[split] = list(named)
        by_task |= named

    def goal(task: str) -> Goal:
        if task not in by_task:
            raise ValueError(
                f"no shop task {task!r} in {goals}; it has {len(by_task)}, "
                f"such as {next(iter(by_task), 'none')!r}"
            )
        return by_task[task]

    return Loaded(Catalogue(found.values(), goal, RESULTS, PER_PAGE), tasks, skips)


@dataclass(frozen=True)
class _Row:
    """An object of a file, with its place for error messages."""

    where: str
    values: dict[str, Any]

    def get(self, name: str, kind: type | tuple[type, ...], default: Any = None) -> Any:
        """A field of the right kind; `default`, if given, where missing or null."""
        value = self.values.get(name)
        if value is None and default is not None:
            return default
        if not isinstance(value, kind):
            names = kind if isinstance(kind, tuple) else (kind,)
            wanted = " or ".join(k.__name__ for k in names)
            shown = "missing" if name not in self.values else repr(value)[:60]
            raise ValueError(f"{self.where}, field {name!r}: {shown}; needs {wanted}")
        return value


def _product(row: _Row, qualities: dict[str, Any]) -> Product:
    asin = row.get("asin", str)
    own = qualities.get(asin, {})
    short = row.get("small_description", (list, str), [])
    bullets = short if isinstance(short, list) else [short]
    path = row.get("product_category", str)
    return Product(
        asin=asin,
        title=row.get("name", str),
        query=row.get("query", str).lower().strip(),
        categories=tuple(part.strip() for part in path.split("›")),
        price=_price(row, asin),
        attributes=tuple(own.get("attributes", ())),
        options=tuple(_options(row)),
        bullets=tuple(str(b) for b in bullets),
        description=row.get("full_description", str, ""),
    )


def _price(row: _Row, asin: str) -> float:
    text = row.get("pricing", str, "")
    found = [float(p.replace(",", "")) for p in _PRICE.findall(text)]
    if text and not found:
        raise ValueError(f"{row.where}, field 'pricing': {text!r}; needs '$9.99'")
    if not found:
        return NO_PRICE
    if len(found) == 1:
        return found[0]
    return random.Random(f"price/{asin}").uniform(*found[:2])


def _options(row: _Row) -> Iterator[tuple[str, tuple[str, ...]]]:
    for name, contents in row.get("customization_options", (dict, str), {}).items():
        if contents is None:
            continue
        rows = (_Row(f"{row.where}, option {name!r}", c) for c in contents)
        values = (r.get("value", str).strip().replace("/", " | ") for r in rows)
        yield name.lower(), tuple(value.lower() for value in values)


def _goals(
    path: Path, products: dict[str, Product], skips: Counter[str]
) -> Iterator[Goal]:
    """Goals in the order of the products, as WebShop makes them."""
    by_asin = {asin.lower(): rows for asin, rows in _object(path).items()}
    skips["goal_without_product"] += sum(
        len(rows) for asin, rows in by_asin.items() if asin not in products
    )
    for key, product in products.items():
        for number, values in enumerate(by_asin.get(key, ())):
            row = _Row(f"{path}, {product.asin} instruction {number}", values)
            attributes = row.get("instruction_attributes", list)
            if not attributes:
                skips["goal_without_attributes"] += 1
                continue
            rng = random.Random(f"limit/{product.asin}/{number}")
            yield _goal(row, product, attributes, price_limit(product.price, rng))


def _goal(row: _Row, product: Product, attributes: list[str], limit: float) -> Goal:
    options = row.get("instruction_options", (list, dict), [])
    values = options.values() if isinstance(options, dict) else options
    text = row.get("instruction", str).strip(".")
    priced = f"{text}, and price lower than {limit:.2f} dollars"
    return Goal(
        instruction=priced if limit < 1e6 else text,
        asin=product.asin,
        title=product.title,
        query=product.query,
        categories=product.categories,
        attributes=tuple(attributes),
        options=tuple(values),
        limit=limit,
    )


def _rows(path: Path) -> Iterator[_Row]:
    data = _json(path)
    if not isinstance(data, list):
        raise ValueError(f"{path}: needs a list of products, not {type(data).__name__}")
    for number, values in enumerate(data):
        if not isinstance(values, dict):
            raise ValueError(f"{path}, item {number}: needs an object, not {values!r}")
        yield _Row(f"{path}, item {number}", values)


def _object(path: Path) -> dict[str, Any]:
    data = _json(path)
    if not isinstance(data, dict):
        raise ValueError(f"{path}: needs an object keyed by asin")
    return data


def _json(path: Path) -> Any:
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        where = f"{path}, line {error.lineno}"
        raise ValueError(f"{where}: no JSON ({error.msg})") from error
