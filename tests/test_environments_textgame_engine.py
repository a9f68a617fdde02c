"""Live contract: the real engine behind the protocol, and the twin in step with it."""

import json
import pickle
import random
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.engine
pytest.importorskip("alfworld", reason="needs the extra `engine`")

from pivotlab.environments.protocol import Environment  # noqa: E402
from pivotlab.environments.textgame import pddl  # noqa: E402
from pivotlab.environments.textgame.engine import RealTextGame  # noqa: E402
from pivotlab.environments.textgame.games import make_game, task_ids  # noqa: E402
from pivotlab.environments.textgame.twin import TextGame  # noqa: E402

sys.path.insert(0, str(Path(__file__).parent / "golden" / "textgame"))
import make_golden  # noqa: E402
import replay  # noqa: E402

#: Games that are in no transcript.
FRESH = [*task_ids("train", 6, 5000), *task_ids("valid_unseen", 6, 5000)]
FRESH_FULL = task_ids("valid_seen", 2, 5000, full=True)


@pytest.fixture(scope="module")
def engine() -> RealTextGame:
    return RealTextGame()


@pytest.mark.parametrize("task", FRESH + FRESH_FULL)
def test_the_twin_answers_a_fresh_game_as_the_engine_does(engine, task):
    row = make_golden.record(engine, task, FRESH.index(task) if task in FRESH else 0)
    counts, wrong = replay.replay(row)
    assert not wrong, "\n".join(wrong[:5])
    assert counts["observations_equal"] == counts["steps"] == make_golden.STEPS


@pytest.mark.parametrize("index", [1, 7, -1])
def test_a_transcript_can_be_recorded_again(engine, index):
    task, number = make_golden.tasks()[index]
    row = make_golden.record(engine, task, number)
    assert json.loads(json.dumps(row)) == replay.transcripts()[index]


@pytest.mark.parametrize("task", task_ids("train", 6, 5100))
def test_the_oracle_takes_as_many_turns_as_the_planner_anywhere(engine, task):
    rng, twin = random.Random(task), TextGame()
    engine.reset(task)
    twin.reset(task)
    for _ in range(6):
        assert len(engine.plan()) == twin.remaining_turns()
        for _ in range(3):
            command = make_golden.by_verb(twin.admissible(), rng)
            engine.step(command)
            twin.step(command)


def test_the_planners_way_wins_on_both(engine):
    task, arguments = FRESH[3], list(sys.argv)
    twin = TextGame()
    assert isinstance(engine, Environment)
    opening = engine.reset(task)
    assert sys.argv == arguments
    assert opening.startswith("You are in the middle of a room.")
    twin.reset(task)
    plan = engine.plan()
    for turn, command in enumerate(plan, 1):
        assert command in engine.admissible()
        real, ours = engine.step(command), twin.step(command)
        assert (real.reward, real.done) == (ours.reward, ours.done)
        assert real.done == (turn == len(plan))
    assert engine.plan() == []
    # The reward is paid once, on both.
    assert engine.step("look").reward == twin.step("look").reward == 0.0


def seen(env: RealTextGame, commands: list[str]) -> list:
    return [(env.step(c), env.admissible()) for c in commands]


def test_a_snapshot_brings_back_the_state_by_number_and_by_replay(engine):
    task = FRESH[0]
    way = pddl.walkthrough(make_game(task))
    more = ["look", "nonsense", "inventory", *way[2:]]
    engine.reset(task)
    seen(engine, ["dance", *way[:2]])
    snapshot = pickle.loads(pickle.dumps(engine.snapshot()))
    assert snapshot == tuple(way[:2])
    before = engine.admissible()
    expected = seen(engine, more)
    engine.restore(snapshot)
    assert engine.admissible() == before and seen(engine, more) == expected
    engine.restore(snapshot)
    assert engine.snapshot() == snapshot
    assert seen(engine, more) == expected
    other = RealTextGame()
    other.reset(task)
    other.restore(snapshot)
    assert other.admissible() == before and seen(other, more) == expected


def test_what_is_no_snapshot_is_refused(engine):
    engine.reset(FRESH[0])
    with pytest.raises(TypeError, match="not a snapshot"):
        engine.restore(7)
    with pytest.raises(ValueError, match="'go to moon 1'.*another game"):
        engine.restore(("look", "go to moon 1"))


@pytest.mark.parametrize("task", ["nonsense", "pick_up/train/000001"])
def test_an_unknown_game_is_refused(engine, task):
    with pytest.raises(ValueError, match="no game"):
        engine.reset(task)


def test_a_missing_game_file_is_named(engine):
    with pytest.raises(FileNotFoundError, match="nowhere/game.tw-pddl"):
        engine.reset("nowhere/game.tw-pddl")


def test_a_written_game_is_the_same_game(engine, tmp_path):
    path = pddl.write_game(make_game(FRESH[1]), tmp_path / "game")
    assert sorted(p.name for p in path.parent.iterdir()) == [
        "game.tw-pddl",
        "traj_data.json",
    ]
    opening = engine.reset(str(path))
    way = json.loads(path.read_text())["walkthrough"]
    answers = seen(engine, way)
    assert answers[-1][0].done and not answers[-2][0].done
    assert opening == engine.reset(FRESH[1]) and seen(engine, way) == answers


def test_alfworlds_own_loader_takes_the_written_games(tmp_path):
    from alfworld.agents.environment.alfred_tw_env import AlfredTWEnv

    for i, task in enumerate(FRESH[:6]):
        pddl.write_game(make_game(task), tmp_path / f"trial_{i}")
    data = {"data_path": str(tmp_path), "num_train_games": -1}
    settings = {"goal_desc_human_anns_prob": 0, "task_types": [1, 2, 3, 4, 5, 6]}
    settings |= {"domain_randomization": False, "expert_type": "planner"}
    config = {"dataset": data, "env": settings, "general": {"training_method": "dqn"}}
    config["rl"] = {"training": {"max_nb_steps_per_episode": 50}}
    loader = AlfredTWEnv(config, train_eval="train")
    assert loader.num_games == 6
    env = loader.init_env(batch_size=1)
    openings, infos = env.reset()
    assert "Your task is to: " in openings[0]
    path = infos["extra.gamefile"][0]
    for command in json.loads(Path(path).read_text())["walkthrough"]:
        _, _, _, infos = env.step([command])
    assert infos["won"] == [True]
    env.close()
