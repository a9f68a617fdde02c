"""The next step of a search agent, read from the action alone."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from verdict_rows import call, calls, candidate, say

from pivotlab.records import Message
from pivotlab.verifiers.protocol import Verifier
from pivotlab.verifiers.search import SearchVerifier, same_page, step_of

GOLD = say("<think>hm</think><search>population of Seoul in 2020</search>")


def judged(gold, action, **context):
    verdict = SearchVerifier().verify(
        candidate(gold, domain="search", **context), action
    )
    return verdict.reward, verdict.category


@pytest.mark.parametrize(
    ("gold", "action", "reward", "category"),
    [
        (GOLD, say("<search>Seoul population 2020</search>"), 1.0, "same_need"),
        (GOLD, say("<search>Seoul population 2010</search>"), 0.0, "other_need"),
        (GOLD, say("<search>best pizza in Naples</search>"), 0.0, "other_need"),
        (GOLD, say("<search></search>"), 0.0, "unreadable_step"),
        (GOLD, say("<search>Seoul population 2020"), 0.0, "unreadable_step"),
        (GOLD, say("<answer>9.7 million</answer>"), 0.0, "other_kind"),
        (GOLD, say("I would search for it"), 0.0, "no_step"),
        (GOLD, call("search", query="Seoul population 2020"), 1.0, "same_need"),
        (GOLD, call("search", "{"), 0.0, "unreadable_step"),
        (GOLD, call("calculator", x=1), 0.0, "unreadable_step"),
        (GOLD, call("search", query=["seoul 2020"] * 60), 0.0, "too_many"),
        (say("Search[Ada Lovelace]"), say("Search[ada lovelace]"), 1.0, "same_need"),
        (say("Lookup[born]"), say("Lookup[Born]"), 1.0, "same_text"),
        (say("Lookup[born]"), say("Lookup[died]"), 0.0, "other_text"),
        (say("Action 3: Finish[1852]"), say("Finish[1852]"), 1.0, "same_answer"),
        (say("Which city do you mean?"), say("ok"), 0.0, "too_short"),
    ],
)
def test_categories(gold, action, reward, category):
    assert judged(gold, action) == (reward, category)


def test_batches_of_queries_need_half_of_both_lists():
    gold = call("search", query=["Epsom Derby winner 1964", "Santa Claus horse race"])
    one = call("search", query=["winner of the Epsom Derby 1964"])
    assert judged(gold, one) == (1.0, "same_need")
    many = ["Epsom Derby winner 1964", "pizza", "Naples", "opera", "tide", "moss"]
    assert judged(gold, call("search", query=many)) == (0.0, "other_need")
    two = calls(one, call("search", query="horse race Santa Claus"))
    assert judged(gold, two) == (1.0, "same_need")


def test_pages_are_compared_after_normalising():
    assert same_page("https://www.x.org/a/", "http://x.org/a#top")
    assert not same_page("https://x.org/a", "https://x.org/b")
    assert not same_page("https://x.org/a?p=1", "https://x.org/a?p=2")
    gold = call("visit", url=["https://x.org/a"], goal="find the year")
    assert judged(gold, call("visit", url="x.org/a")) == (1.0, "same_page")
    assert judged(gold, call("visit", url="x.org/b")) == (0.0, "other_page")
    assert judged(gold, call("visit", url="https://x.org/a/", goal="other"))[0] == 1.0
    assert not same_page("http://[", "http://[x")


def test_answers_are_equal_after_normalising_or_listed():
    gold = say("<answer>The Eiffel Tower.</answer>")
    assert judged(gold, say("<answer>eiffel tower</answer>")) == (1.0, "same_answer")
    other = say("<answer>Tour Eiffel</answer>")
    assert judged(gold, other) == (0.0, "other_answer")
    assert judged(gold, other, answers=["Tour Eiffel"]) == (1.0, "same_answer")


@pytest.mark.case(id="V38")
def test_the_prefix_earns_nothing():
    prefix = (Message("tool", "<answer>1852</answer>"),)
    row = candidate(say("<answer>1852</answer>"), domain="search", prefix=prefix)
    assert SearchVerifier().verify(row, say("")).reward == 0.0


@pytest.mark.case(id="V39")
def test_the_tag_is_taken_from_the_sample_only():
    prompt = Message("user", "Give the result inside <answer> and </answer>.")
    row = candidate(say("<answer>1852</answer>"), domain="search", prefix=(prompt,))
    said = SearchVerifier().verify(row, say("<answer>1852</answer>"))
    assert said.reward == 1.0


@pytest.mark.case(id="V55")
def test_what_follows_the_models_own_observation_is_cut():
    said = "<search>moss</search><information>x</information><answer>1</answer>"
    assert step_of(say(said)).kind == "search"
    assert step_of(say("<information>x</information><answer>1</answer>")) is None
    flat = "Thought: hm\nAction: Search[moss]\nObservation: none\nAction: Finish[moss]"
    assert step_of(say(flat)).kind == "search"


@settings(max_examples=100)
@given(st.text(alphabet="<>/searchanwe []F"), st.text())
def test_total(gold, said):
    assert judged(say(gold), say(said))[0] in (0.0, 1.0)
    assert judged(say(said), say(gold))[0] in (0.0, 1.0)
    assert isinstance(SearchVerifier(), Verifier)
