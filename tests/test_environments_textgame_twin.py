"""The twin behind the environment protocol: restore is exact, bad ids are named."""

import random

import pytest

from pivotlab.environments.protocol import Environment, OracleEnvironment
from pivotlab.environments.textgame import TextGame, task_ids

TASKS = task_ids("valid_unseen", 6)


def test_it_offers_the_whole_protocol():
    env = TextGame()
    assert isinstance(env, Environment) and isinstance(env, OracleEnvironment)


@pytest.mark.parametrize("task", TASKS)
def test_a_restored_state_goes_on_as_the_first_time(task):
    env, rng = TextGame(), random.Random(task)
    env.reset(task)
    actions = []
    for _ in range(4):
        actions.append(rng.choice(env.admissible()))
        env.step(actions[-1])
    snapshot, before = env.snapshot(), env.admissible()
    ahead = [rng.choice(before)]
    first = env.step(ahead[0])
    env.restore(snapshot)
    assert env.snapshot() == snapshot and env.admissible() == before
    assert env.step(ahead[0]) == first
    again = TextGame()
    again.reset(task)
    for action in actions:
        again.step(action)
    assert again.snapshot() == snapshot and hash(snapshot) == hash(again.snapshot())


def test_the_reward_is_paid_once_and_the_oracle_walks_there():
    env = TextGame()
    env.reset(TASKS[0])
    length = env.remaining_turns()
    for left in range(int(length), 0, -1):
        assert env.remaining_turns() == left
        step = env.step(env.optimal_actions()[0])
    assert (step.reward, step.done) == (1.0, True)
    assert env.remaining_turns() == 0


def test_an_unknown_task_is_named_with_the_way_out():
    with pytest.raises(ValueError, match="no_such_game"):
        TextGame().reset("no_such_game/train/000001")
