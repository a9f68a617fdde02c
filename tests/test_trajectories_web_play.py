"""Episodes of the shop and of search QA as labelled conversations."""

import random

import pytest

from pivotlab.environments import search_qa, shop
from pivotlab.environments.search_qa.players import HonestReader, NoisyReader
from pivotlab.environments.shop.players import HonestShopper, NoisyShopper
from pivotlab.records import Message
from pivotlab.trajectories.web_play import (
    SEARCH_SYSTEM,
    SHOP_SYSTEM,
    play_search,
    play_shop,
)

CASES = [
    (play_shop, shop, shop.Shop, HonestShopper, NoisyShopper, "shop"),
    (play_search, search_qa, search_qa.SearchQA, HonestReader, NoisyReader, "search"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda c: c[-1])
def test_an_honest_episode_is_a_conversation_of_acceptable_actions(case):
    play, room, _, honest, _, domain = case
    for task in room.task_ids("train", 8):
        episode = play(task, honest(), random.Random(0))
        roles = [m.role for m in episode.messages]
        assert roles == ["user"] + ["assistant", "user"] * episode.meta["turns"]
        assert episode.domain == domain and episode.uid == f"{domain}/{task}/honest"
        assert sorted(episode.contexts) == episode.assistant_turns()
        for index, context in episode.contexts.items():
            action = episode.messages[index].content
            assert context["task"] == task and context["phase"]
            if context["phase"] != "search":
                assert action == context["honest"] and action in context["acceptable"]


@pytest.mark.parametrize("case", CASES, ids=lambda c: c[-1])
def test_the_conversation_replays_in_the_environment(case):
    play, room, environment, _, noisy, _ = case
    task, system = room.task_ids("train", 3)[2], "rules"
    episode = play(task, noisy(0.4), random.Random(1), system=system)
    assert episode.messages[0] == Message("system", system)
    env = environment()
    assert env.reset(task) == episode.messages[1].content
    for index in episode.assistant_turns():
        assert env.admissible() == episode.contexts[index]["admissible"]
        step = env.step(episode.messages[index].content)
        assert episode.messages[index + 1] == Message("user", step.observation)
    assert episode.reward == step.reward


@pytest.mark.parametrize("case", CASES, ids=lambda c: c[-1])
def test_turns_run_out_and_seeds_fix_everything(case):
    play, room, _, honest, noisy, _ = case
    task = room.task_ids("train", 1)[0]
    short = play(task, honest(), random.Random(0), max_turns=1, uid="x")
    assert (short.meta["turns"], short.reward, short.uid) == (1, 0.0, "x")
    twice = [play(task, noisy(0.3), random.Random(7)) for _ in "ab"]
    assert twice[0] == twice[1]
    with pytest.raises(ValueError, match="'nowhere'"):
        play("nowhere", honest(), random.Random(0))


def test_query_turns_say_what_a_query_has_to_bring():
    task = shop.task_ids("train", 1)[0]
    first = play_shop(task, HonestShopper(), random.Random(0)).contexts[1]
    goal = shop.catalogue().goal(task)
    assert goal.asin in first["serving"] and first["phase"] == "search"
    task = search_qa.task_ids("train", 1)[0]
    contexts = play_search(task, HonestReader(), random.Random(0)).contexts
    corpus, question = search_qa.SearchQA().library(task)
    assert contexts[1]["needed"] == sorted(question.evidence[0])
    assert all(c["answers"] == list(question.answers) for c in contexts.values())


def test_a_loaded_question_is_labelled_by_its_evidence():
    corpus = search_qa.Corpus([search_qa.Passage("Louvre", "It shows the Mona Lisa.")])
    asked = search_qa.Question("Where?", ("Louvre",), (frozenset([0]),))
    player = HonestReader((corpus, asked))
    episode = play_search(
        "any", player, random.Random(0), library=lambda task: (corpus, asked)
    )
    assert episode.reward == 1.0 and episode.meta["turns"] == 2


def test_the_rules_name_the_actions_the_environments_know():
    for word in ("search[", "click[", "buy now", "< prev", "next >"):
        assert word in SHOP_SYSTEM
    for tag in ("<search>", "</search>", "<answer>", "</answer>"):
        assert tag in SEARCH_SYSTEM
