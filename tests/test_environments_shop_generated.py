"""The embedded catalogue: large enough, the same everywhere, goals that can be met."""

import random
import subprocess
import sys

import pytest

from pivotlab.environments.shop.generated import (
    DEPARTMENTS,
    catalogue,
    price_limit,
    task_ids,
)
from pivotlab.environments.shop.reward import product_type, score

SHOP = catalogue()
PRINT = """
from pivotlab.environments.shop.generated import catalogue, task_ids
shop = catalogue()
print(*shop.products.values(), *map(shop.goal, task_ids("test", 9)), sep="\\n")
print(shop.find("red blanket"))
"""


def test_it_has_more_than_a_thousand_different_products():
    titles = {p.title for p in SHOP.products.values()}
    assert len(SHOP.products) == len(titles) == 1200
    assert len({p.query for p in SHOP.products.values()}) == 48


def test_another_process_with_a_hash_seed_of_its_own_makes_the_same():
    printed = subprocess.run(
        [sys.executable, "-c", PRINT],
        env={"PYTHONHASHSEED": "7", "PATH": ""},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    here = [*SHOP.products.values(), *map(SHOP.goal, task_ids("test", 9))]
    assert printed.splitlines() == [*map(str, here), str(SHOP.find("red blanket"))]


@pytest.mark.parametrize("split", ["train", "valid", "test"])
def test_the_product_a_goal_was_written_for_is_worth_one(split):
    for task in task_ids(split, 60):
        goal = SHOP.goal(task)
        sold = SHOP.products[goal.asin]
        assert score(sold, goal.options, goal).total == 1.0
        assert 1 <= len(goal.attributes) <= 2 and 1 <= len(goal.options) <= 2
        assert goal.instruction.endswith(f"lower than {goal.limit:.2f} dollars")


def test_only_the_wanted_kind_is_worth_the_full_type_reward():
    for task in task_ids("train", 12):
        goal = SHOP.goal(task)
        full = {p.query for p in SHOP.products.values() if product_type(p, goal) == 1}
        attributes = set(DEPARTMENTS[goal.categories[0]][1])
        others = {
            p.query
            for p in SHOP.products.values()
            if p.query in full and set(p.attributes) & attributes
        }
        assert others == {goal.query}


def test_splits_share_no_instruction():
    said = {
        split: {SHOP.goal(task).instruction for task in task_ids(split, 150)}
        for split in ("train", "valid", "test")
    }
    assert not said["train"] & (said["valid"] | said["test"])
    assert not said["valid"] & said["test"]


def test_the_price_limit_is_the_higher_of_two_of_the_next_four_tens():
    drawn = {price_limit(37.0, random.Random(i)) for i in range(60)}
    assert drawn == {50.0, 60.0, 70.0}
    assert price_limit(985.0, random.Random(0)) == 1e6
    assert price_limit(975.0, random.Random(0)) == 990.0


@pytest.mark.parametrize("task", ["generated/dev/000001", "generated/test/1", "x"])
def test_an_unknown_task_is_named_with_the_way_out(task):
    with pytest.raises(ValueError, match="no shop task .*ids are generated"):
        SHOP.goal(task)
