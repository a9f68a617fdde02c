"""The honest player finds fault only with what it would not have done."""

import random

from test_distillation_teachers import TASK, rollout

from pivotlab.distillation.teachers import Report, Teacher, pivotal
from pivotlab.environments.textgame import TextGame
from pivotlab.environments.textgame.players import HonestPlayer
from pivotlab.experiments.opd.honest_teacher import HonestTeacher
from pivotlab.trajectories.game_play import play


def honest_actions():
    trajectory = play(TASK, HonestPlayer(), random.Random(3))
    return [m.content for m in trajectory.messages if m.role == "assistant"]


def test_it_has_nothing_to_say_about_its_own_game():
    teacher = HonestTeacher()
    assert isinstance(teacher, Teacher)
    assert teacher.report(rollout(honest_actions()), 5) == Report()


def test_it_names_the_turn_it_would_not_have_taken_and_a_better_action():
    good = honest_actions()
    played = rollout([*good[:2], "inventory", *good[2:4]])
    report = HonestTeacher().report(played, 5)
    (found,) = pivotal(played, report)
    assert found.turn == 2 and found.gold_action != "inventory"
    twice = rollout(["inventory", "inventory", *good[:2]])
    assert len(HonestTeacher().report(twice, 1).candidates) == 1


def test_recovery_is_an_acceptable_admissible_action():
    good = honest_actions()
    played = rollout([*good[:3], "inventory"])
    action = HonestTeacher().recover(played, played.messages, None)
    env = TextGame()
    env.reset(TASK)
    for turn in played.turns:
        env.step(turn.action)
    assert action in env.admissible()
