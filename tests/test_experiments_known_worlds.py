"""Worlds by name: tasks that do not overlap, labelled demonstrations, a way out."""

import sys

import pytest

from pivotlab.experiments.known_worlds import WORLDS
from pivotlab.verifiers.text_game import TextGameVerifier


def test_games_are_profiled_apart_from_those_that_are_played():
    tasks = WORLDS["twin"].tasks
    played, profiled = tasks("evaluation", 5), tasks("profiling", 5)
    assert len(played) == len(profiled) == 5 and not set(played) & set(profiled)
    assert sum("valid_seen" in task for task in played) == 3


def test_demonstrations_are_of_the_honest_and_the_noisy_player_in_turn():
    twin = WORLDS["twin"]
    tasks = twin.tasks("profiling", 2)
    found = twin.demonstrations(twin, tasks, 0)
    assert [t.meta["task"] for t in found] == tasks
    assert found[0].source == "honest" and found[1].source != "honest"
    assert isinstance(twin.verifier(), TextGameVerifier)


def test_both_real_engines_are_played_beside_the_twin():
    assert WORLDS["alfworld"].beside == WORLDS["alfworld-in-order"].beside == "twin"
    assert WORLDS["twin"].beside is WORLDS["tau2-retail"].beside is None


def test_a_missing_engine_says_how_to_install_it(monkeypatch):
    monkeypatch.delitem(
        sys.modules, "pivotlab.environments.textgame.engine", raising=False
    )
    monkeypatch.setitem(sys.modules, "textworld", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install -e '\.\[engine\]'"):
        WORLDS["alfworld"].environment()
