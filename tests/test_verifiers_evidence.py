"""Search QA's functional verdict: what a query brings, what supports an answer."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pivotlab.environments import search_qa
from pivotlab.environments.search_qa.encyclopedia import library
from pivotlab.environments.search_qa.players import NoisyReader
from pivotlab.pivots.candidates import collect
from pivotlab.records import Candidate, Message
from pivotlab.trajectories.web_play import play_search
from pivotlab.verifiers.evidence import EvidenceVerifier
from pivotlab.verifiers.protocol import Verifier
from pivotlab.verifiers.search import SearchVerifier

TASK = "generated/train/0/000064"
CORPUS, QUESTION = library(TASK)
NEEDED = sorted(QUESTION.evidence[0])
TITLE = CORPUS.passages[NEEDED[0]].title
OTHER = CORPUS.passages[(NEEDED[0] + 120) % len(CORPUS.passages)].title


def judged(said, phase="search", **more):
    context = {
        "task": TASK,
        "acceptable": [f"<search>{TITLE}</search>"],
        "phase": phase,
        "needed": NEEDED,
        "answers": ["the Amber Sea"],
    } | more
    candidate = Candidate(
        "u", "t", 0, (), Message("assistant", "x"), (), "search", context
    )
    found = SearchVerifier().verify(candidate, Message("assistant", said))
    return found.reward, found.category


@pytest.mark.parametrize(
    ("said", "reward", "category"),
    [
        (f"<search>{TITLE}</search>", 1.0, "brings_evidence"),
        (f"Hm. <search>tell me about {TITLE.upper()}</search>", 1.0, "brings_evidence"),
        (f"<search>{OTHER}</search>", 0.0, "no_evidence"),
        ("<search></search>", 0.0, "no_evidence"),
        (f"<search>{'x ' * 900}</search>", 0.0, "too_long"),
        ("<answer>Amber Sea</answer>", 0.0, "unsupported_answer"),
        ("<answer>Rome</answer>", 0.0, "wrong_answer"),
        (f"search {TITLE}", 0.0, "no_step"),
    ],
)
def test_while_evidence_is_missing(said, reward, category):
    assert judged(said) == (reward, category)


@pytest.mark.parametrize(
    ("said", "reward", "category"),
    [
        ("<answer>amber sea.</answer>", 1.0, "right_answer"),
        ("<answer>sea</answer>", 0.0, "wrong_answer"),
        (f"<search>{TITLE}</search>", 0.0, "needless_search"),
    ],
)
def test_once_everything_was_shown(said, reward, category):
    assert judged(said, "answer") == (reward, category)


def test_candidates_without_a_state_or_of_another_library_are_named():
    assert isinstance(EvidenceVerifier(), Verifier)
    said = f"<search>{TITLE}</search>"
    assert judged(said, task="hotpot-1") == (0.0, "no_context")
    candidate = Candidate("u", "t", 0, (), Message("assistant", said))
    assert (
        EvidenceVerifier().verify(candidate, candidate.expert).category == "no_context"
    )


def test_the_honest_turn_of_every_state_of_noisy_play_is_right():
    played = [
        play_search(task, NoisyReader(0.3), random.Random(seed))
        for seed, task in enumerate(search_qa.task_ids("valid", 40))
    ]
    candidates = collect(played).candidates
    verdicts = [SearchVerifier().verify(c, c.expert) for c in candidates]
    assert len(verdicts) > 100 and all(v.reward == 1.0 for v in verdicts)


@settings(max_examples=50, deadline=None)
@given(st.text(alphabet="<>/searchnwit A\n"), st.sampled_from(["search", "answer"]))
def test_it_judges_any_text(said, phase):
    assert judged(said, phase)[0] in (0.0, 1.0)
