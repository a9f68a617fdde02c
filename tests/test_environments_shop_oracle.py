"""L(s) equals breadth-first search over every action, and walks home."""

import math
import random

import pytest
from shop_toys import exact_turns, queries, random_catalogue, small_catalogue

from pivotlab.environments.shop import Shop, task_ids


@pytest.mark.parametrize("seed", range(2))
def test_it_equals_exact_search_at_every_state_of_a_small_shop(seed):
    catalogue = random_catalogue(random.Random(seed))
    asked, shop = queries(catalogue), Shop(catalogue)
    shop.reset(str(seed))
    exact = exact_turns(shop, asked)
    assert len(exact) > 150 and len(set(exact.values())) > 6
    for state, turns in exact.items():
        shop.restore(state)
        assert shop.remaining_turns() == turns, state


@pytest.mark.parametrize("task", task_ids("valid", 10))
def test_optimal_actions_walk_to_a_purchase_worth_one(task):
    shop = Shop()
    shop.reset(task)
    rng = random.Random(task)
    assert 4 <= shop.remaining_turns() <= 5
    for left in range(int(shop.remaining_turns()), 0, -1):
        assert shop.remaining_turns() == left
        step = shop.step(rng.choice(shop.optimal_actions()))
    assert (step.reward, step.done) == (1.0, True)


def test_the_generated_catalogue_meets_the_bound_on_queries():
    """Search, open, one click an option, buy: so L is exact there, not only a bound."""
    shop = Shop()
    for task in task_ids("test", 20):
        shop.reset(task)
        assert shop.remaining_turns() == 3 + len(shop.goal.options)


def test_detours_cost_what_they_cost():
    shop = Shop(small_catalogue())
    shop.reset("wool")
    assert shop.remaining_turns() == 5
    for action, left in (
        ("search[kelpo]", 6),
        ("click[b2]", 6),
        ("click[back to search]", 5),
        ("search[lumo wool]", 4),
        ("click[b1]", 3),
        ("click[description]", 4),
        ("click[< prev]", 3),
        ("click[blue]", 3),
        ("click[large]", 2),
        ("click[red]", 1),
    ):
        shop.step(action)
        assert shop.remaining_turns() == left, action
    assert shop.optimal_actions() == ["click[buy now]"]
    shop.step("click[blue]")
    shop.step("click[buy now]")
    assert shop.remaining_turns() == math.inf
