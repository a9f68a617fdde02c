"""Teachers: the oracle's turns, prompts that say what they must, malformed answers."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pivotlab.distillation.teachers import (
    OracleTeacher,
    PromptedTeacher,
    Report,
    Teacher,
    pivotal,
)
from pivotlab.environments.textgame.twin import TextGame
from pivotlab.records import Message, PivotalTurn, Rollout, Turn

TASK = "pick_clean_then_place_in_recep/train/000007"


def rollout(actions):
    """The episode of given commands, with snapshots."""
    env = TextGame()
    messages, turns, step = [Message("user", env.reset(TASK))], [], None
    for action in actions:
        snapshot = env.snapshot()
        step = env.step(action)
        turns.append(Turn((0, 0), action, action, step.observation, snapshot))
        messages += [Message("assistant", action), Message("user", step.observation)]
    reward = step.reward if step else 0.0
    return Rollout(
        TASK, (), (), (), tuple(turns), reward, bool(reward), tuple(messages)
    )


def optimal(n):
    env = TextGame()
    env.reset(TASK)
    actions = []
    while len(actions) < n and env.remaining_turns() > 0:
        actions.append(env.optimal_actions()[0])
        env.step(actions[-1])
    return actions


def test_the_oracle_finds_nothing_in_a_perfect_game():
    teacher = OracleTeacher(TextGame())
    assert isinstance(teacher, Teacher)
    assert teacher.report(rollout(optimal(99)), 5) == Report()


def test_the_oracle_names_the_turn_that_lengthened_the_way():
    good = optimal(3)
    played = rollout([*good, f"move {'mug 1'} to sinkbasin 1"])
    (found,) = OracleTeacher(TextGame()).report(played, 5).candidates
    env = TextGame()
    env.reset(TASK)
    env.restore(played.turns[3].snapshot)
    assert found.turn == 3 and found.gold_action in env.optimal_actions()
    assert pivotal(played, Report((found,))) == (found,)


def test_the_oracle_repairs():
    teacher = OracleTeacher(TextGame())
    played = rollout(optimal(2))
    state = played.turns[1].snapshot
    assert teacher.recover(played, (), state) == played.turns[1].action


def test_a_candidate_that_names_what_was_done_is_not_pivotal():
    played = rollout(["look", "inventory"])
    report = Report((PivotalTurn(0, " LOOK "), PivotalTurn(1, "go to desk 1")))
    assert [p.turn for p in pivotal(played, report)] == [1]


def answer(steps, fenced=True, lesson="look first"):
    body = json.dumps({"episode_summary": "s", "episode_lesson": lesson})
    blocks = "".join(
        f'<correct_action step="{n}">{a}</correct_action>' for n, a in steps
    )
    return (f"```json\n{body}\n```" if fenced else body) + blocks


def test_a_good_answer_is_read_and_the_prompt_says_what_it_must():
    seen = []

    def ask(prompt):
        seen.append(prompt)
        return answer([(1, "go to fridge 1"), (0, " look ")])

    report = PromptedTeacher(ask).report(rollout(["look", "inventory"]), 2)
    assert report.candidates == (
        PivotalTurn(0, "look"),
        PivotalTurn(1, "go to fridge 1"),
    )
    assert report.lesson == "look first"
    for piece in ("Your task is to", "failure", "0, 1", "[1] action: inventory"):
        assert piece in seen[0]


@pytest.mark.parametrize(
    "reply, kind, left",
    [
        ("no json at all", "malformed_reports", 0),
        (answer([(0, "look")], fenced=False), "malformed_reports", 1),
        (answer([(7, "look")]), "unusable_actions", 0),
        (answer([(0, "  ")]), "unusable_actions", 0),
        (answer([(0, "a"), (1, "b")]), "actions_over_the_limit", 1),
        ("```json\n[1]\n```", "malformed_reports", 0),
    ],
)
def test_malformed_answers_are_counted_and_skipped(reply, kind, left):
    teacher = PromptedTeacher(lambda prompt: reply)
    report = teacher.report(rollout(["look", "inventory"]), 1)
    assert teacher.counts[kind] == 1 and len(report.candidates) == left


def test_a_refusing_endpoint_is_counted_and_skipped():
    def ask(prompt):
        raise OSError("connection refused")

    teacher = PromptedTeacher(ask, TextGame())
    played = rollout(["look"])
    assert teacher.report(played, 1) == Report()
    assert teacher.recover(played, played.messages, played.turns[0].snapshot) is None
    assert teacher.counts["failed_reports"] == 1
    assert teacher.counts["failed_recovery_queries"] == 1


def test_a_recovery_query_lists_the_admissible_actions():
    seen = []

    def ask(prompt):
        seen.append(prompt)
        return "Because. <correct_action>look</correct_action>"

    teacher = PromptedTeacher(ask, TextGame())
    played = rollout(["look"])
    state = played.turns[0].snapshot
    assert teacher.recover(played, played.messages, state) == "look"
    env = TextGame()
    env.reset(TASK)
    assert "\n".join(env.admissible()) in seen[0]


@pytest.mark.parametrize(
    "reply", ["", "look", "<correct_action>a</correct_action>" * 2]
)
def test_a_recovery_needs_exactly_one_block(reply):
    teacher = PromptedTeacher(lambda prompt: reply)
    played = rollout(["look"])
    assert teacher.recover(played, played.messages, None) is None
    assert teacher.counts["malformed_recoveries"] == 1


@given(st.text(max_size=200))
def test_any_answer_is_survived(text):
    played = rollout(["look"])
    report = PromptedTeacher(lambda prompt: text).report(played, 3)
    assert all(c.turn == 0 for c in report.candidates)
