"""The honest shopper: right with what it has seen, and nothing more."""

import random

import pytest
from shop_toys import COLOR, SIZE, goal, product, small_catalogue

from pivotlab.environments.shop import MAX_TURNS, Shop, pages, task_ids
from pivotlab.environments.shop.catalogue import Catalogue
from pivotlab.environments.shop.players import (
    PHASES,
    HonestShopper,
    NoisyShopper,
    Wants,
)

WANTS = Wants("wool blanket", (), ("red", "large"), 40.0)


def shopping(*actions, wants=WANTS):
    shop, player = Shop(small_catalogue(per_page=4)), HonestShopper(wants)
    player.start(shop.reset("wool"))
    for action in actions:
        player.observe(shop.step(action).observation)
    return player.acceptable()


def played(task, player, seed=0):
    shop, rng, phases = Shop(), random.Random(seed), []
    player.start(shop.reset(task))
    for _ in range(MAX_TURNS):
        phases.append(player.acceptable()[1])
        step = shop.step(player.act(shop.admissible(), rng))
        player.observe(step.observation)
        if step.done:
            break
    return step.reward, phases


def test_wishes_are_read_from_generated_instructions():
    shop = Shop()
    for task in task_ids("train", 50):
        shop.reset(task)
        assert Wants.read(shop.goal.instruction) == Wants.of(shop.goal)
    with pytest.raises(ValueError, match="Wants.of"):
        HonestShopper().start(pages.search_page("i'd like slippers"))


def test_any_fitting_result_may_be_opened_and_no_other():
    clicks, phase = shopping("search[wool blanket]")
    assert (clicks, phase) == (("click[B1]", "click[B3]", "click[B4]"), "choose")


def test_options_may_be_clicked_in_any_order_and_then_one_buys():
    assert shopping("search[lumo]", "click[b1]") == (
        ("click[large]", "click[red]"),
        "option",
    )
    clicked = ("search[lumo]", "click[b1]", "click[large]")
    assert shopping(*clicked) == (("click[red]",), "option")
    assert shopping(*clicked, "click[blue]") == (("click[red]",), "option")
    assert shopping(*clicked, "click[red]") == (("click[buy now]",), "buy")
    assert shopping(*clicked, "click[reviews]") == (("click[< prev]",), "return")


def test_a_product_without_the_wanted_options_is_left_and_not_opened_again():
    assert shopping("search[vasta]", "click[b4]") == (("click[< prev]",), "leave")
    after = shopping("search[wool blanket]", "click[b4]", "click[< prev]")
    assert after == (("click[B1]", "click[B3]"), "choose")


def test_results_without_a_fitting_title_are_turned_or_left():
    dear = Wants("wool blanket", (), (), 1.0)
    assert shopping("search[wool]", wants=dear) == (("click[back to search]",), "leave")
    shop, player = Shop(small_catalogue(per_page=2)), HonestShopper(dear)
    player.start(shop.reset("wool"))
    player.observe(shop.step("search[wool]").observation)
    assert player.acceptable() == (("click[next >]",), "next")


def test_after_vain_searches_it_settles_for_the_kind():
    """Titles of real shops need not name the attributes."""
    sold = [product("B1", "blanket", 9.0, (COLOR, SIZE), attributes=("washable",))]
    wanted = goal(options=("red",))
    catalogue = Catalogue(sold, {"t": wanted}.__getitem__, 4, 4)
    shop, player = Shop(catalogue), HonestShopper(Wants.of(wanted))
    player.start(shop.reset("t"))
    rng = random.Random(0)
    for _ in range(8):
        step = shop.step(player.act(shop.admissible(), rng))
        player.observe(step.observation)
    assert player.searches == 3 and step == (pages.end_page(1.0), 1.0, True)
    assert player.acceptable() == ((), "over")


def test_it_nearly_always_succeeds_within_the_turns():
    episodes = [played(task, HonestShopper()) for task in task_ids("valid", 60)]
    assert sum(reward == 1.0 for reward, _ in episodes) >= 52
    assert {phase for _, phases in episodes for phase in phases} <= set(PHASES)


def test_noise_slips_at_its_rate_and_says_where():
    turns = slips = 0
    for seed, task in enumerate(task_ids("valid", 40)):
        player = NoisyShopper(0.3)
        _, phases = played(task, player, seed)
        turns += len(phases)
        slips += len(player.slips)
        assert all(0 <= turn < len(phases) for turn in player.slips)
    assert 0.2 < slips / turns < 0.4
    assert NoisyShopper(0.3).name == "noisy-0.3"
