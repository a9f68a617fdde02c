"""One loop for every environment: who acts, who watches, how turns are labelled."""

import random

import pytest

from pivotlab.environments.protocol import Step
from pivotlab.trajectories.watched_play import play_watched


class Doors:
    """Three doors in a row, opened by number; the task id is the last one."""

    def reset(self, task):
        self.last, self.at = int(task), 0
        return f"Open doors 0 to {task}."

    def step(self, action):
        right = action == f"open {self.at}"
        self.at += right
        done = self.at > self.last
        return Step("open" if right else "stuck", float(done), done)

    def admissible(self):
        return [f"open {n}" for n in range(3)]

    def snapshot(self):
        return self.at

    def restore(self, snapshot):
        self.at = snapshot


class Says:
    def __init__(self, *words):
        self.words, self.name, self.heard = iter(words), "says", []

    def start(self, observation):
        self.heard.append(observation)

    def act(self, admissible, rng):
        return next(self.words)

    def observe(self, observation):
        self.heard.append(observation)


def played(words, task="1", max_turns=9, system=None):
    env, watcher = Doors(), Says()

    def label():
        return (f"open {env.at}",), "walk", {"extra": env.at}

    rng = random.Random(0)
    episode = play_watched(
        env, task, Says(*words), watcher, label, rng, "doors", max_turns, system, "u"
    )
    return episode, watcher


def test_every_turn_is_labelled_before_it_happens():
    episode, watcher = played(["open 0", "open 2", "open 1", "never"])
    assert [m.role for m in episode.messages] == ["user"] + ["assistant", "user"] * 3
    assert (episode.reward, episode.meta) == (1.0, {"task": "1", "turns": 3})
    assert watcher.heard == ["Open doors 0 to 1.", "open", "stuck", "open"]
    contexts = [episode.contexts[i] for i in (1, 3, 5)]
    assert [c["extra"] for c in contexts] == [0, 1, 1]
    assert [c["honest"] for c in contexts] == ["open 0", "open 1", "open 1"]
    assert contexts[1]["acceptable"] == ["open 1"]
    assert contexts[1]["admissible"] == ["open 0", "open 1", "open 2"]


@pytest.mark.parametrize("system, first", [(None, 1), ("Open doors.", 2)])
def test_the_turn_limit_ends_an_episode_unsolved(system, first):
    episode, _ = played(["open 0", "open 1"], "2", max_turns=2, system=system)
    assert (episode.reward, sorted(episode.contexts)) == (0.0, [first, first + 2])
    assert (episode.uid, episode.domain, episode.source) == ("u", "doors", "says")
