"""Search QA keeps the laws of an environment, and Search-R1's protocol."""

import itertools
import math

import pytest
from environment_laws import check_restoring
from hypothesis import given, settings
from hypothesis import strategies as st

from pivotlab.environments.protocol import Environment, OracleEnvironment
from pivotlab.environments.search_qa import SearchQA, task_ids
from pivotlab.environments.search_qa.environment import INVALID, State, read_action
from pivotlab.environments.search_qa.library import Corpus, Passage, Question

TASKS = task_ids("valid", 40)
CORPUS = Corpus(
    [
        Passage("Arnau", "Arnau lies on the Isar."),
        Passage("Isar", "The Isar flows into the Amber Sea."),
        Passage("Esk", "The Esk flows into the Dusk Ocean."),
    ]
)
QUESTION = Question(
    "What is the sea of the river of Arnau?",
    ("Amber Sea", "the Amber"),
    (frozenset([0]), frozenset([1])),
)


def asked(question=QUESTION):
    env = SearchQA(lambda task: (CORPUS, question))
    assert env.reset("any") == f"Question: {question.text}"
    return env


def test_it_offers_the_whole_protocol():
    assert isinstance(SearchQA(), Environment)
    assert isinstance(SearchQA(), OracleEnvironment)


def test_information_word_for_word():
    step = asked().step("I look.\n<search>sea of the Esk</search>")
    assert step == (
        "<information>Doc 1(Title: Esk) The Esk flows into the Dusk Ocean.\n"
        "Doc 2(Title: Isar) The Isar flows into the Amber Sea.</information>",
        0.0,
        False,
    )
    assert asked().step("<search>desert</search>").observation == (
        "<information></information>"
    )


@pytest.mark.parametrize(
    ("text", "action"),
    [
        ("<search> a b </search>", ("search", "a b")),
        ("<answer>x</answer><search>y</search>", ("answer", "x")),
        ("<search>a\nb</search>", ("search", "a\nb")),
        ("<search>a", None),
        ("<search>a</answer>", None),
        ("search[a]", None),
        ("", None),
    ],
)
def test_actions(text, action):
    assert read_action(text) == action


@pytest.mark.case(id="V55")
def test_an_answer_from_information_of_its_own_does_not_count():
    text = "<information>It is x.</information><answer>x</answer>"
    assert read_action(text) is None
    assert read_action(f"<search>q</search>{text}") == ("search", "q")


def test_anything_else_is_corrected_and_changes_nothing():
    env = asked()
    before = env.snapshot()
    assert env.step("the Amber Sea") == (INVALID, 0.0, False)
    assert env.snapshot() == before


@pytest.mark.parametrize(
    ("answer", "reward"),
    [("the amber sea!", 1.0), ("Amber", 1.0), ("Sea", 0.0), ("", 0.0)],
)
def test_an_answer_ends_it_by_exact_match(answer, reward):
    env = asked()
    step = env.step(f"<answer>{answer}</answer>")
    assert (step.reward, step.done) == (reward, True)
    assert env.remaining_turns() == (0.0 if reward else math.inf)
    assert env.step("<answer>Amber Sea</answer>")[1:] == (0.0, True)
    assert env.admissible() == env.optimal_actions() == []


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(TASKS), st.integers(0, 10**6), st.integers(0, 5))
def test_a_restored_state_goes_on_as_the_first_time(task, seed, turns):
    check_restoring(SearchQA, task, seed, turns, wander)


def wander(env, rng):
    words = env.question.text.strip("?").split()
    query = " ".join(rng.sample(words, 2))
    return rng.choice([f"<search>{query}</search>"] * 3 + ["hm", "<answer>x</answer>"])


@pytest.mark.parametrize("task", TASKS)
def test_the_oracle_counts_the_fewest_searches_for_titles_of_the_evidence(task):
    env = SearchQA()
    env.reset(task)
    places = sorted(frozenset().union(*env.question.evidence))
    titles = [env.corpus.passages[place].title for place in places]
    exact = next(
        count + 1
        for count in range(4)
        if any(shown(env, chosen) for chosen in itertools.combinations(titles, count))
    )
    assert env.remaining_turns() == exact
    for left in range(exact, 0, -1):
        assert env.remaining_turns() == left
        step = env.step(env.optimal_actions()[0])
    assert (step.reward, step.done) == (1.0, True)


def shown(env, titles):
    env.restore(State())
    for title in titles:
        env.step(f"<search>{title}</search>")
    missing = env.missing()
    env.restore(State())
    return not missing


def test_evidence_that_no_passage_tells_is_out_of_reach():
    lost = Question("?", ("x",), (frozenset([0]), frozenset()))
    env = asked(lost)
    assert env.remaining_turns() == math.inf and env.optimal_actions() == []


def test_a_question_of_unknown_evidence_is_one_answer_away():
    env = asked(Question("?", ("x", "y")))
    assert env.remaining_turns() == 1.0
    assert env.optimal_actions() == ["<answer>x</answer>", "<answer>y</answer>"]


def test_bad_ids_and_snapshots_are_named():
    with pytest.raises(ValueError, match="no question 'x'"):
        SearchQA().reset("x")
    with pytest.raises(TypeError, match="not a snapshot of search QA"):
        asked().restore(0)
