"""Reward-profiling files of NeMo Gym."""

import json

import pytest
from test_pivots_nemo_gym import row

from pivotlab.pivots import gym_profiling, nemo_gym
from pivotlab.records import TurnProfile
from pivotlab.trajectories.fields import FormatError

REWARDS = (1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
PROFILE = TurnProfile("p1", REWARDS, ("ok",) * 8, (False,) * 7 + (True,))


def test_a_row_has_gym_s_keys_and_the_sample_standard_deviation():
    found = gym_profiling.profiling_row(3, PROFILE, row(), expected=10)
    assert (found["_ng_task_index"], found["mean/reward"]) == (3, 0.25)
    assert found["std/reward"] == pytest.approx(0.46291, abs=1e-5)
    assert (found["median/reward"], found["min/reward"], found["max/reward"]) == (
        0,
        0,
        1,
    )
    assert (found["num_rollouts"], found["missing_num_rollouts"]) == (8, 2)
    assert found["reward_profile_completion_pct"] == 80.0
    assert found["rollout_infos"][1]["rollout_id"] == "3:1"
    assert found["sample"] == row()


def test_out_and_in_again_and_missing_rollouts_count_as_failures(tmp_path):
    path = tmp_path / "x_reward_profiling.jsonl"
    rows = [gym_profiling.profiling_row(0, PROFILE, row(), expected=10)]
    nemo_gym.write_rows(rows, path)
    ((pivot, profile),), errors = gym_profiling.read_profiles(path)
    assert errors == [] and pivot == nemo_gym.from_row(row())
    assert profile.rewards == (*REWARDS, 0.0, 0.0)
    assert profile.categories == ("ok",) * 8 + ("missing",) * 2
    assert profile.truncated[7] and profile.mu == 0.2


def test_a_summary_without_single_rewards_is_refused():
    with pytest.raises(FormatError, match="rollout_infos"):
        gym_profiling.profile_from_row({"sample": row(), "mean/reward": 0.5})


def test_rollouts_are_grouped_by_task_in_the_order_of_their_index():
    rows = [
        {"_ng_task_index": 1, "_ng_rollout_index": 0, "reward": 1.0},
        {"_ng_task_index": 0, "_ng_rollout_index": 1, "reward": 0.5},
        {"_ng_task_index": 0, "_ng_rollout_index": 0, "reward": None},
    ]
    found = gym_profiling.profiles_from_rollouts(rows)
    assert {k: p.rewards for k, p in found.items()} == {0: (0.0, 0.5), 1: (1.0,)}
    with pytest.raises(FormatError, match="row 0"):
        gym_profiling.profiles_from_rollouts([{"reward": 1.0}])


def test_real_rollouts_of_one_file(mirror):
    path = mirror / "NVIDIA-NeMo__Gym/responses_api_agents/mini_swe_agent_2/data"
    lines = (path / "example_rollouts.jsonl").read_text().splitlines()
    found = gym_profiling.profiles_from_rollouts(map(json.loads, lines))
    assert len(found) == 5 and {p.k for p in found.values()} == {1}
