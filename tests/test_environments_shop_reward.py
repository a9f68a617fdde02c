"""WebShop's reward: its published examples, and a second implementation."""

import random
import re
from functools import cache

import pytest
from shop_toys import goal, product

from pivotlab.environments.shop.generated import catalogue, task_ids
from pivotlab.environments.shop.reward import (
    _ENDINGS as ENDINGS,
)
from pivotlab.environments.shop.reward import (
    _NO_NOUNS as NO_NOUNS,
)
from pivotlab.environments.shop.reward import (
    COLORS,
    color,
    has_attribute,
    near,
    nouns,
    same_option,
    score,
    title_overlap,
    type_score,
)

SOUNDBAR = (
    "Saireed UL Listed 2 Prong Power Cord for JBL Bar 3.1 Bar 2.1 Channel 4K Ultra HD"
    " Soundbar"
)
CORD = (
    "BRST AC Power Cord Outlet Socket Cable Plug Lead for Panasonic SC-HT830V DVD/VCR"
    " Combo Home Theater System"
)
WANTED = ("tea tree", "essential oils", "natural ingredients")


@pytest.mark.parametrize(
    ("texts", "matched"),
    [
        ({"attributes": ("tea tree", "essential oil", "natural ingredients")}, 3),
        ({"attributes": ("essential oil", "natural ingredients")}, 2),
        (
            {
                "bullets": ("This shampoo has essential oils and smells like lemons",),
                "description": "Best shampoo, made with natural ingredients",
            },
            2,
        ),
        ({"attributes": ("tea bag", "earl gray", "lipton")}, 0),
    ],
)
def test_published_attribute_examples(texts, matched):
    sold = product("B1", "", **texts)
    assert sum(has_attribute(sold, wanted) for wanted in WANTED) == matched


@pytest.mark.parametrize(
    ("wanted", "bought", "matched"),
    [
        (["grey", "XL", "pack of 12"], ["pack of 12", "grey", "XL"], 3),
        (["grey", "XL", "pack of 12"], ["pack of 12", "blue", "XL"], 2),
        (
            ["cool powder snow", "XL", "pack of 12"],
            ["pack of 12", "powder snow", "XL"],
            3,
        ),
        ([], ["goal 1", "goal 2"], 0),
        (["goal 1", "goal 2"], [], 0),
    ],
)
def test_published_option_examples(wanted, bought, matched):
    found = sum(any(same_option(b, w) for b in bought) for w in wanted)
    assert found == matched


@pytest.mark.parametrize(
    ("value", "reduced"),
    [
        ("black forest", "black"),
        ("violet lavender", "lavender"),
        ("steelivy fuchsia", "fuchsia"),
        ("123alabaster", "alabaster"),
        ("webshop", "webshop"),
        ("", ""),
    ],
)
def test_published_colour_examples(value, reduced):
    assert color(value) == reduced


@pytest.mark.parametrize(
    ("wanted", "title", "published"),
    [
        (
            "adidas Unisex-Adult D.o.n. Issue 2 Basketball Shoe",
            "adidas Unisex-Adult D.o.n. Issue 2 Indoor Court Shoe",
            0.85,
        ),
        (f"{SOUNDBAR} Home Theater System Subwoofer", CORD, 0.31),
        (SOUNDBAR, CORD, 0.17),
        (
            "Rusticware 921ORB Kitchen and Bath Cabinet Knob",
            "Minkissy 2pcs Stainless Steel Eyebrow Tweezers Blackhead Acne Remover"
            " Portable Makeup Tweezers (Silver)",
            0.0,
        ),
    ],
)
def test_the_stand_in_for_nouns_decides_as_the_published_overlaps_do(
    wanted, title, published
):
    """The share differs from spaCy's by up to 0.05; what hangs on it does not."""
    found = title_overlap(title, wanted)
    assert found == pytest.approx(published, abs=0.05)
    assert type_score(False, False, found) == type_score(False, False, published)


def test_published_rewards():
    """Total of 1, then fewer attributes, an option too many, and another type."""
    name = "Mens D.O.N. Issue 2 Gca Basketball Sneakers Shoes Casual - Off White"
    wanted = goal(title=name, attributes=WANTED, options=("grey", "XL"), limit=40.0)
    full = product(
        "B1", name, 35.0, attributes=("tea tree", "essential oil", WANTED[2])
    )
    assert score(full, ["grey", "XL"], wanted).total == 1.0
    less = product("B1", name, 35.0, description=f"shampoo, made with {WANTED[2]}")
    found = score(less, ["grey", "XL"], wanted)
    assert found == (1.0, 1, 2, True, pytest.approx(2 / 3))
    more = goal(title=name, attributes=WANTED, options=("grey", "XL", "pack of 12"))
    assert score(less, ["grey", "XL"], more).total == pytest.approx(4 / 7)
    other = goal(
        title=SOUNDBAR,
        attributes=WANTED,
        options=("grey", "XL", "pack of 12"),
        query="query 2",
        categories=("a", "d", "e"),
    )
    cord = product("B1", CORD, 35.0, description=f"made with {WANTED[2]}")
    assert score(cord, ["grey", "XL"], other).total == pytest.approx(2 / 7)


@pytest.mark.parametrize(
    ("evidence", "expected"),
    [
        ((True, False, 0.5), 1.0),
        ((True, True, 0.0), 0.0),
        ((True, True, 0.05), 0.1),
        ((True, False, 0.15), 1.0),
        ((False, True, 0.15), 1.0),
        ((False, False, 0.2), 0.5),
        ((False, False, 0.21), 1.0),
        ((False, False, 0.1), 0.5),
    ],
)
def test_type_score(evidence, expected):
    assert type_score(*evidence) == expected


def test_nouns_leave_out_adjectives_and_stop_words():
    assert nouns("Lumo throw blanket, washable, easy to clean") == (
        "lumo",
        "throw",
        "blanket",
    )
    assert title_overlap("anything", "washable and soft") == 0.2


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        # An en dash is U+2013: a blank like any punctuation, so two words stay two.
        ("heavy\u2013duty", "heavy duty", True),
        # Latin-1 letters are dropped, which leaves "caf" of "caf\u00e9".
        ("caf\u00e9", "caf", True),
        ("n\u00e9", "ne", False),
        # Letters beyond are kept.
        ("\u4e2d\u6587", "caf", False),
        ("\u4e2d\u6587", "\u4e2d\u6587", True),
    ],
)
def test_ratio_on_other_scripts_is_thefuzzs(first, second, same):
    assert near(first, second) == same


def other_nouns(title):
    """The stand-in's rule a second time; its word lists are data and shared."""
    found = []
    for piece in re.split(r"[^a-z0-9'.\-]+", title.lower()):
        word = piece.strip("'.-")
        adjective = len(word) > 4 and any(word.endswith(end) for end in ENDINGS)
        if re.search("[a-z]", word) and word not in NO_NOUNS and not adjective:
            found.append(word)
    return found


@cache
def other_ratio(first, second):
    """Token-set ratio by a table of longest common subsequences, rounded."""
    a, b = (set(re.sub(r"[^a-z0-9]", " ", t.lower()).split()) for t in (first, second))
    if not a or not b:
        return 0
    both, left, right = sorted(a & b), sorted(a - b), sorted(b - a)
    if both and not (left and right):
        return 100
    joined = [" ".join(both), " ".join([*both, *left]), " ".join([*both, *right])]
    pairs = [(1, 2)] + ([(0, 1), (0, 2)] if both else [])
    return round(max(indel(joined[i], joined[j]) for i, j in pairs))


def indel(a, b):
    row = [0] * (len(b) + 1)
    for x in a:
        diagonal = 0
        for j, y in enumerate(b, start=1):
            diagonal, row[j] = (
                row[j],
                (diagonal + 1 if x == y else max(row[j], row[j - 1])),
            )
    return 200 * row[-1] / (len(a) + len(b))


def other_reward(sold, chosen, wanted):
    """The published formula, written from its description a second time."""
    shared = [n for n in other_nouns(wanted.title) if n in other_nouns(sold.title)]
    unique = len(dict.fromkeys(shared))
    overlap = (
        unique / len(other_nouns(wanted.title)) if other_nouns(wanted.title) else 0.2
    )
    if overlap == 0:
        kind = 0.0
    elif overlap < 0.1:
        kind = 0.1
    else:
        categories = set(sold.categories).intersection(wanted.categories)
        alike = sold.query == wanted.query or len(categories) > 1 or overlap > 0.2
        kind = 1.0 if alike else 0.5
    points = int(sold.price <= wanted.limit)
    texts = [sold.title, " ".join(sold.bullets), sold.description]
    for quality in wanted.attributes:
        listed = max([other_ratio(q, quality) for q in sold.attributes], default=0)
        points += listed > 85 or any(quality in t.lower() for t in texts)

    def plain(value):
        return next((c for c in COLORS if c in value), value)

    for option in wanted.options:
        points += any(other_ratio(plain(v), plain(option)) > 85 for v in chosen)
    return kind * points / (len(wanted.attributes) + len(wanted.options) + 1)


def disturbed(value, rng):
    """An option or attribute in other words, sometimes."""
    words = value.split()
    return rng.choice(
        [value, value, value, f"dark {value}", " ".join(words[:-1]) or value]
        + [value.replace("e", "", 1), f"{value} (pack of 2)"]
    )


def test_ten_thousand_random_purchases_agree_with_a_second_implementation():
    shop, rng = catalogue(), random.Random(5)
    sold = list(shop.products.values())
    by_kind = {}
    for item in sold:
        by_kind.setdefault(item.query, []).append(item)
    seen = set()
    for task in task_ids("train", 400):
        wanted = shop.goal(task)
        if rng.random() < 0.5:
            wanted = goal(
                **vars(wanted)
                | {
                    "attributes": tuple(disturbed(a, rng) for a in wanted.attributes),
                    "options": tuple(disturbed(o, rng) for o in wanted.options),
                }
            )
        for _ in range(25):
            item = rng.choice(by_kind[wanted.query] if rng.random() < 0.6 else sold)
            chosen = [rng.choice(v) for _, v in item.options if rng.random() < 0.7]
            found = score(item, chosen, wanted).total
            assert found == pytest.approx(other_reward(item, chosen, wanted), abs=1e-12)
            assert 0.0 <= found <= 1.0
            seen.add(round(found, 3))
    assert len(seen) > 10 and {0.0, 1.0} <= seen
