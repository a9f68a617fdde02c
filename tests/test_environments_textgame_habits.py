"""The flawed player: legal wrong decisions in narrow contexts, honest elsewhere."""

import random
from collections import Counter

from pivotlab.environments.textgame.games import task_ids
from pivotlab.environments.textgame.habits import HABITS, FlawedPlayer
from pivotlab.environments.textgame.twin import TextGame


def episodes(player: FlawedPlayer, count: int, turns: int = 25):
    """Per game: won, and per turn (habit or None, action, acceptable, admissible)."""
    rng, env = random.Random(0), TextGame()
    for task in task_ids("train", count):
        player.start(env.reset(task))
        done, log = False, []
        while not done and len(log) < turns:
            admissible = env.admissible()
            found = player.habit(admissible)
            action = player.act(admissible, rng)
            log.append((found, action, player.acceptable()[0], admissible))
            observation, _, done = env.step(action)
            player.observe(observation)
        yield done, log


def test_habits_are_legal_wrong_and_followed_almost_always():
    fired, followed, turns, honest = Counter(), 0, 0, 0
    won = []
    for done, log in episodes(FlawedPlayer(), 180):
        won.append(done)
        for found, action, acceptable, admissible in log:
            turns += 1
            assert action in admissible
            if found is None:
                assert action in acceptable
                honest += 1
                continue
            name, command = found
            assert command in admissible and command not in acceptable
            fired[name] += 1
            followed += action == command
    assert set(fired) == {habit.name for habit in HABITS}
    assert followed / sum(fired.values()) > 0.95
    assert 0.3 < sum(won) / len(won) < 0.6
    assert honest / turns > 0.4


def test_without_habits_the_flawed_player_is_the_honest_one():
    for done, log in episodes(FlawedPlayer(habits=()), 30):
        assert done and all(action in acceptable for _, action, acceptable, _ in log)


def test_grave_habits_lose_games_and_the_others_only_cost_turns():
    grave = tuple(habit for habit in HABITS if habit.grave)
    light = tuple(habit for habit in HABITS if not habit.grave)
    lost = [
        not done for done, _ in episodes(FlawedPlayer(habits=grave, strength=1.0), 90)
    ]
    assert sum(lost) > 0.4 * len(lost)
    games = list(episodes(FlawedPlayer(habits=light, strength=1.0), 90))
    assert all(done for done, _ in games)
    assert any(found for _, log in games for found, *_ in log)
