"""WebShop's product files: every rule of its loader, and errors that name the place."""

import json

import pytest

from pivotlab.environments.shop import files
from pivotlab.environments.shop.environment import Shop

PRODUCT = {
    "asin": "B0WOOL0001",
    "name": "Wool Blanket, Washable",
    "category": "garden",
    "query": " Wool Blankets ",
    "product_category": "Home › Bedding › Blankets",
    "full_description": "A warm blanket.",
    "small_description": ["Soft", "Warm"],
    "pricing": "$1,032.50",
    "customization_options": {
        "Color": [{"value": "Red/Blue", "image": None}, {"value": " Grey "}],
        "Size": None,
    },
}
GOAL = {
    "instruction": "i need a washable blanket.",
    "instruction_attributes": ["washable"],
    "instruction_options": ["grey"],
}


@pytest.fixture
def write(tmp_path):
    def written(products=(PRODUCT,), attributes=None, goals=None):
        given = {
            "products": list(products),
            "attributes": attributes or {"B0WOOL0001": {"attributes": ["washable"]}},
            "goals": {"B0WOOL0001": [GOAL]} if goals is None else goals,
        }
        paths = [tmp_path / f"{name}.json" for name in given]
        for path, value in zip(paths, given.values(), strict=True):
            path.write_text(value if isinstance(value, str) else json.dumps(value))
        return paths

    return written


def test_a_product_as_webshop_reads_it(write):
    loaded = files.load(*write())
    sold = loaded.catalogue.products["b0wool0001"]
    assert sold.title == "Wool Blanket, Washable" and sold.query == "wool blankets"
    assert sold.categories == ("Home", "Bedding", "Blankets")
    assert sold.price == 1032.5 and sold.attributes == ("washable",)
    assert sold.options == (("color", ("red | blue", "grey")),)
    assert sold.bullets == ("Soft", "Warm") and sold.description == "A warm blanket."
    assert loaded.catalogue.results == 50 and loaded.catalogue.per_page == 10


def test_the_loaded_goal_can_be_bought(write):
    loaded = files.load(*write())
    assert loaded.tasks == {"test": ["webshop/test/000000"], "valid": [], "train": []}
    shop = Shop(loaded.catalogue)
    first = shop.reset("webshop/test/000000")
    assert "i need a washable blanket [SEP]" in first
    assert shop.remaining_turns() == 4
    for _ in range(4):
        step = shop.step(shop.optimal_actions()[0])
    assert step.reward == 1.0


@pytest.mark.parametrize(
    ("pricing", "low", "high"),
    [(None, 100, 100), ("", 100, 100), ("$9.99", 9.99, 9.99), ("$10.00$20.00", 10, 20)],
)
def test_prices(write, pricing, low, high):
    product = PRODUCT | {"pricing": pricing}
    first, second = (
        files.load(*write([product])).catalogue.products["b0wool0001"].price
        for _ in "ab"
    )
    assert low <= first <= high and first == second


def test_the_price_limit_joins_the_instruction(write):
    loaded = files.load(*write([PRODUCT | {"pricing": "$37.00"}]))
    goal = loaded.catalogue.goal("webshop/test/000000")
    assert goal.limit in (50.0, 60.0, 70.0)
    assert goal.instruction.endswith(
        f"blanket, and price lower than {goal.limit:.2f} dollars"
    )


def test_what_is_left_out_is_counted(write):
    products = [
        PRODUCT,
        PRODUCT,
        PRODUCT | {"asin": "nan"},
        PRODUCT | {"asin": "B0WOOL00012"},
    ]
    goals = {
        "B0WOOL0001": [GOAL, GOAL | {"instruction_attributes": []}],
        "B0GONE": [GOAL, GOAL],
    }
    loaded = files.load(*write(products, goals=goals))
    assert loaded.skips == {
        "product_repeated": 1,
        "product_id": 2,
        "goal_without_attributes": 1,
        "goal_without_product": 2,
    }


def test_goals_fall_into_webshops_splits(write):
    goals = {"B0WOOL0001": [GOAL | {"instruction": f"n{i}"} for i in range(1502)]}
    loaded = files.load(*write(goals=goals))
    assert [len(loaded.tasks[s]) for s in ("test", "valid", "train")] == [500, 1000, 2]
    first = loaded.catalogue.goal("webshop/test/000000").instruction
    assert first == files.load(*write(goals=goals)).catalogue.goal(
        "webshop/test/000000"
    ).instruction and not first.startswith("n0,")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": None}, r"products.json, item 1, field 'name': None; needs str"),
        ({"pricing": "dear"}, r"item 1, field 'pricing': 'dear'; needs '\$9.99'"),
        (
            {"customization_options": {"color": [{"image": 1}]}},
            r"item 1, option 'color', field 'value': missing; needs str",
        ),
        ({"small_description": 3}, r"field 'small_description': 3; needs list or str"),
    ],
)
def test_a_bad_field_is_named(write, change, message):
    with pytest.raises(ValueError, match=message):
        files.load(*write([PRODUCT, PRODUCT | {"asin": "B2"} | change]))


def test_a_broken_file_is_named(write):
    with pytest.raises(ValueError, match="goals.json, line 2: no JSON"):
        files.load(*write(goals='{\n"a": }'))
    paths = write()
    paths[0].write_text("{}")
    with pytest.raises(ValueError, match="products.json: needs a list of products"):
        files.load(*paths)


def test_a_task_that_is_not_there_is_named(write):
    loaded = files.load(*write())
    with pytest.raises(ValueError, match="no shop task 'x' in .*webshop/test/000000"):
        loaded.catalogue.goal("x")
