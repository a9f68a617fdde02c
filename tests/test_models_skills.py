"""Skills: right answers, and train questions that are never held-out ones."""

import random

import pytest

from pivotlab.models.skills import SKILLS, UNLEARNT, is_held_out, messages

ALL = SKILLS | UNLEARNT
NAMES = sorted(ALL)


def rows(name, split, n=200, seed=0):
    rng = random.Random(seed)
    return [ALL[name].draw(rng, split) for _ in range(n)]


@pytest.mark.parametrize("name", NAMES)
def test_the_splits_are_disjoint_and_the_draw_is_reproducible(name):
    train, held_out = rows(name, "train"), rows(name, "held_out")
    assert not {q for q, _ in train} & {q for q, _ in held_out}
    assert all(is_held_out(q) for q, _ in held_out)
    assert train == rows(name, "train")
    assert train != rows(name, "train", seed=1)


@pytest.mark.parametrize("name", NAMES)
def test_a_question_has_one_answer(name):
    answers = {}
    for question, answer in rows(name, "train", 1000):
        assert answers.setdefault(question, answer) == answer
        assert answer and answer == answer.strip()


def test_a_tenth_is_held_out():
    rng = random.Random(0)
    share = sum(is_held_out(SKILLS["add"].make(rng)[0]) for _ in range(4000)) / 4000
    assert 0.08 < share < 0.13


SOLVERS = {
    "look_up": lambda w: {w[i]: w[i + 2].strip(",.") for i in range(0, len(w) - 3, 3)}[
        w[-1]
    ],
    "find": lambda w: next(
        f"on {w[i + 3]} {w[i + 4].strip(',.')}"
        for i in range(0, len(w) - 4, 5)
        if w[i : i + 2] == w[-2:]
    ),
    "add": lambda w: str(int(w[1]) + int(w[3])),
    "sort": lambda w: " ".join(sorted(w[1:])),
    "reverse": lambda w: " ".join(w[:0:-1]),
    "replace": lambda w: " ".join(w[5:]).replace(w[1], w[3]),
    "shift": lambda w: " ".join(chr(ord(letter) + 1) for letter in w[1:]),
}


@pytest.mark.parametrize("name", sorted(SOLVERS))
def test_answers_agree_with_a_second_solver_that_reads_the_question(name):
    for question, answer in rows(name, "train", 300):
        assert SOLVERS[name](question.split()) == answer, question


@pytest.mark.parametrize(
    ("name", "question", "answer"),
    [
        ("convert", "74 liters in milliliters", "74000"),
        ("undo", "undo open fridge 1", "close fridge 1"),
    ],
)
def test_answers_worked_by_hand(name, question, answer):
    rng = random.Random(0)
    found = dict(ALL[name].make(rng) for _ in range(20_000))
    assert found[question] == answer


def test_undo_swaps_what_was_done():
    for question, answer in rows("undo", "train"):
        verb, *names = question.removeprefix("undo ").split()
        opposite = {"take": "move", "move": "take", "open": "close", "close": "open"}
        assert answer.split()[0] == opposite[verb]
        assert {n for n in names if n.isdigit()} == set(answer.split()[2::3])
        assert names[:2] == answer.split()[1:3]


def test_some_skills_share_the_games_tokens_and_five_do_not():
    shared = [s.name for s in SKILLS.values() if s.shares_game_tokens]
    assert "undo" in shared
    assert len(SKILLS) - len(shared) >= 5
    assert not SKILLS.keys() & UNLEARNT.keys()


def test_a_question_becomes_two_turns():
    user, assistant = messages("sort b a", "a b")
    assert (user.role, user.content) == ("user", "sort b a")
    assert (assistant.role, assistant.content) == ("assistant", "a b")
