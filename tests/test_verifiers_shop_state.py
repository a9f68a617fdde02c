"""The shop's functional verdict: what an action does at its state."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pivotlab.environments import shop
from pivotlab.environments.shop.players import NoisyShopper
from pivotlab.pivots.candidates import collect
from pivotlab.records import Candidate, Message
from pivotlab.trajectories.web_play import play_shop
from pivotlab.verifiers.protocol import Verifier
from pivotlab.verifiers.shop import ShopVerifier
from pivotlab.verifiers.shop_state import ShopStateVerifier

TASK = "generated/train/000004"
GOAL = shop.catalogue().goal(TASK)
SERVING = [GOAL.asin]


def judged(said, phase="choose", **more):
    context = {
        "task": TASK,
        "acceptable": ["click[b1]", "click[red]"],
        "admissible": ["click[b1]", "click[red]", "click[blue]", "click[buy now]"],
        "phase": phase,
    } | more
    candidate = Candidate(
        "u", "t", 0, (), Message("assistant", "click[b1]"), (), "shop"
    )
    candidate = Candidate(**(vars(candidate) | {"context": context}))
    found = ShopVerifier().verify(candidate, Message("assistant", said))
    return found.reward, found.category


@pytest.mark.parametrize(
    ("said", "reward", "category"),
    [
        ("click[b1]", 1.0, "acceptable"),
        ("Thought: this.\nAction: click[RED]", 1.0, "acceptable"),
        ("click[buy now]", 0.0, "legal_but_wrong"),
        ("click[zebra]", 0.0, "inadmissible"),
        ("search[red]", 0.0, "inadmissible"),
        ("I click b1", 0.0, "no_action"),
        ("", 0.0, "no_action"),
    ],
)
def test_clicks(said, reward, category):
    assert judged(said) == (reward, category)


def test_a_query_is_judged_by_its_first_page():
    sold = shop.catalogue().products[GOAL.asin]
    for query in (sold.title, sold.title.upper(), f"please {sold.title}"):
        assert judged(f"search[{query}]", "search", serving=SERVING) == (
            1.0,
            "serving_query",
        )
    for query in ("zebra", "", "x" * 2000):
        reward, category = judged(f"search[{query}]", "search", serving=SERVING)
        assert (reward, category) == (0.0, "other_query")


def test_a_candidate_without_a_state_is_named():
    assert isinstance(ShopStateVerifier(), Verifier)
    candidate = Candidate("u", "t", 0, (), Message("assistant", "click[a]"))
    found = ShopStateVerifier().verify(candidate, candidate.expert)
    assert (found.reward, found.category) == (0.0, "no_context")


def test_the_honest_action_of_every_turn_of_noisy_play_is_right():
    verifier, played = ShopVerifier(), []
    for seed, task in enumerate(shop.task_ids("valid", 12)):
        played.append(play_shop(task, NoisyShopper(0.3), random.Random(seed)))
    candidates = collect(played).candidates
    verdicts = [verifier.verify(c, c.expert) for c in candidates]
    assert len(verdicts) > 40 and all(v.reward == 1.0 for v in verdicts)


@settings(max_examples=50, deadline=None)
@given(st.text(alphabet="clikseah[]b1\n "), st.sampled_from(["search", "choose"]))
def test_it_judges_any_text(said, phase):
    assert judged(said, phase, serving=SERVING)[0] in (0.0, 1.0)
