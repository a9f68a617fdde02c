"""The honest reader answers from what was shown, and always gets there."""

import random

import pytest

from pivotlab.environments.search_qa import MAX_TURNS, SearchQA, task_ids
from pivotlab.environments.search_qa.library import Corpus, Passage, Question
from pivotlab.environments.search_qa.players import HonestReader, NoisyReader


def played(task, player, seed=0, env=None):
    env, rng, steps = env or SearchQA(), random.Random(seed), []
    player.start(env.reset(task))
    while len(steps) < MAX_TURNS and not (steps and steps[-1].done):
        steps.append(env.step(player.act(env.admissible(), rng)))
        player.observe(steps[-1].observation)
    return steps[-1].reward, len(steps)


@pytest.mark.parametrize("seed", range(3))
def test_it_answers_every_question_in_hops_and_one_turns(seed):
    env = SearchQA()
    for task in task_ids("valid", 40, start=40 * seed):
        reward, turns = played(task, HonestReader(), seed, env)
        assert reward == 1.0 and turns <= len(env.question.evidence) + 1


def test_its_turns_by_hand():
    reader = HonestReader()
    reader.start("Question: What is the sea of the river of Arnau?")
    assert reader.acceptable() == (
        (
            "<search>Arnau river</search>",
            "<search>Arnau</search>",
            "<search>river of Arnau</search>",
        ),
        "search",
    )
    reader.observe(
        "<information>Doc 1(Title: Esk River) The Esk River flows into Coral Bay.\n"
        "Doc 2(Title: Arnau) Arnau lies on the Isar River. The mayor of Arnau is Ada "
        "Holt.</information>"
    )
    assert reader.acceptable()[0][0] == "<search>Isar River sea</search>"
    reader.observe(
        "<information>Doc 1(Title: Isar River) The Isar River flows into the Amber Sea."
        "</information>"
    )
    assert reader.acceptable() == (("<answer>Amber Sea</answer>",), "answer")
    reader.observe("The question is closed.")
    assert reader.acceptable() == ((), "over")


def test_another_question_is_followed_by_its_evidence():
    corpus = Corpus([Passage("Louvre", "It shows the Mona Lisa."), Passage("x", "y z")])
    question = Question("Where is the Mona Lisa?", ("the Louvre",), (frozenset([0]),))
    env = SearchQA(lambda task: (corpus, question))
    assert played("any", HonestReader((corpus, question)), env=env) == (1.0, 2)
    with pytest.raises(ValueError, match="not a question of the encyclopedia"):
        played("any", HonestReader(), env=env)


def test_noise_slips_at_its_rate_and_says_where():
    turns = slips = 0
    for seed, task in enumerate(task_ids("valid", 80)):
        player = NoisyReader(0.3)
        turns += played(task, player, seed)[1]
        slips += len(player.slips)
    assert 0.2 < slips / turns < 0.4 and NoisyReader(0.3).name == "noisy-0.3"
