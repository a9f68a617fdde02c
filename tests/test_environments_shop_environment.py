"""The shop keeps the laws of an environment, and WebShop's rules."""

import math
import random

import pytest
from environment_laws import check_restoring
from hypothesis import given, settings
from hypothesis import strategies as st
from shop_toys import small_catalogue

from pivotlab.environments.protocol import Environment, OracleEnvironment
from pivotlab.environments.shop import pages, task_ids
from pivotlab.environments.shop.environment import Shop
from pivotlab.environments.shop.state import State

TASKS = task_ids("valid", 40)


def opened(*actions):
    shop = Shop(small_catalogue())
    shop.reset("wool")
    return shop, [shop.step(action) for action in actions]


def test_it_offers_the_whole_protocol():
    assert isinstance(Shop(), Environment) and isinstance(Shop(), OracleEnvironment)


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(TASKS), st.integers(0, 10**6), st.integers(0, 7))
def test_a_restored_state_goes_on_as_the_first_time(task, seed, turns):
    check_restoring(Shop, task, seed, turns, wander)


def wander(shop, rng):
    words = shop.goal.instruction.replace(",", "").split()
    query = f"search[{' '.join(rng.sample(words, 3))}]"
    return rng.choice([*shop.admissible(), query, "click[nothing]", "think", ""])


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(TASKS), st.integers(0, 10**6))
def test_admissible_clicks_are_carried_out_and_others_change_nothing(task, seed):
    shop, rng = Shop(), random.Random(seed)
    shop.reset(task)
    shop.step(f"search[{shop.goal.query}]")
    for _ in range(4):
        before = shop.snapshot()
        for action in shop.admissible():
            shop.restore(before)
            assert shop.step(action).observation != pages.INVALID
        shop.restore(before)
        assert shop.step("click[zebra]") == (pages.INVALID, 0.0, False)
        assert shop.snapshot() == before
        going = [a for a in shop.admissible() if a not in ("click[buy now]",)]
        shop.step(rng.choice(going))
        if shop.snapshot() == State():
            shop.step(f"search[{shop.goal.query}]")


def test_a_purchase_by_hand():
    shop, steps = opened(
        "search[lumo wool blanket]", "click[B1]", "click[red]", "click[Large]"
    )
    assert [s.reward for s in steps] == [0.0] * 4 and not any(s.done for s in steps)
    assert shop.snapshot().chosen == (("color", "red"), ("size", "large"))
    bought = shop.step("Thought: done\nAction: click[Buy Now]")
    assert (bought.reward, bought.done) == (1.0, True)
    assert shop.step("click[red]") == (pages.INVALID, 0.0, True)
    assert shop.admissible() == [] and shop.remaining_turns() == 0.0


def test_a_worse_purchase_pays_its_share():
    shop, steps = opened("search[vasta]", "click[b4]", "click[blue]", "click[buy now]")
    assert (steps[-1].reward, steps[-1].done) == (2 / 4, True)
    assert shop.remaining_turns() == math.inf and shop.optimal_actions() == []


@pytest.mark.case(id="V53")
def test_a_search_on_a_page_of_results_is_refused():
    shop, steps = opened("search[wool]", "search[lamp]")
    assert steps[-1].observation == pages.INVALID
    assert shop.snapshot().query == "wool"


def test_options_survive_the_parts_of_a_product_and_not_the_results():
    shop, steps = opened(
        "search[lumo]", "click[b1]", "click[red]", "click[features]", "click[< prev]"
    )
    assert shop.snapshot().chosen == (("color", "red"),)
    shop.step("click[blue]")
    assert shop.snapshot().chosen == (("color", "blue"),)
    shop.step("click[< prev]")
    shop.step("click[b1]")
    assert shop.snapshot().chosen == ()


def test_pages_of_results_are_turned():
    shop, steps = opened("search[wool]", "click[next >]", "click[next >]")
    assert steps[-1].observation == pages.INVALID and shop.snapshot().number == 2
    assert shop.step("click[< prev]").observation == steps[0].observation
    assert shop.step("click[back to search]").observation.startswith("WebShop")


def test_bad_ids_and_snapshots_are_named():
    with pytest.raises(ValueError, match="no shop task 'x'"):
        Shop().reset("x")
    shop, _ = opened()
    with pytest.raises(TypeError, match="not a snapshot of a shop"):
        shop.restore(("a",))
