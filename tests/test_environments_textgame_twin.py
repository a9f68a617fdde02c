"""The twin behind the environment protocol: restore is exact, bad ids are named."""

import pytest
from environment_laws import check_restoring

from pivotlab.environments.protocol import Environment, OracleEnvironment
from pivotlab.environments.textgame import TextGame, task_ids

TASKS = task_ids("valid_unseen", 6)


def test_it_offers_the_whole_protocol():
    env = TextGame()
    assert isinstance(env, Environment) and isinstance(env, OracleEnvironment)


@pytest.mark.parametrize("task", TASKS)
def test_a_restored_state_goes_on_as_the_first_time(task):
    check_restoring(
        TextGame, task, task, 4, lambda env, rng: rng.choice(env.admissible())
    )


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
