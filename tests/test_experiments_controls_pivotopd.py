"""PivotOPD's walk on a real mistake of the shipped model."""

from dataclasses import replace

import pytest

from pivotlab.environments.textgame import TextGame
from pivotlab.evaluation.recovery import first_mistakes
from pivotlab.experiments.controls.pivotopd import LINES, pivotopd_steps
from pivotlab.experiments.opd.examination import base_episodes
from pivotlab.experiments.presets import get_preset
from pivotlab.models.registry import load_model
from pivotlab.rendering import Renderer

PRESET = replace(get_preset("smoke"), episode_group=2, recovery_turns=2)


@pytest.fixture(scope="module")
def scene():
    base, tokenizer = load_model("tiny")
    renderer = Renderer(tokenizer)
    episodes = base_episodes(PRESET, base, renderer, 12)
    mistakes = first_mistakes(episodes, TextGame)
    open_ = [m for m in mistakes if m.turn + 1 < len(m.rollout.turns)]
    return base, renderer, max(open_, key=lambda m: m.remaining)


def test_the_walk_follows_the_algorithm_on_the_mistake(scene):
    base, renderer, mistake = scene
    steps = pivotopd_steps(base, renderer, PRESET, mistake)
    assert steps == pivotopd_steps(base, renderer, PRESET, mistake)
    lines = [step.line for step in steps]
    assert lines[:5] == [0, 1, 2, 3, 4] and lines[-1] == len(LINES) - 1
    told = {step.line: step.here for step in steps}
    assert "episode 0" in told[0] and "episode 1" in told[0]
    assert f"turn {mistake.turn}:" in told[1]
    turn = mistake.rollout.turns[mistake.turn]
    assert turn.action in told[2] and told[4].endswith(turn.observation)
    start, stop = turn.span
    assert told[3].count("\n") == stop - start, "one line a token"
    assert lines.count(5) >= 1, "the mistake is followed"
    assert lines.count(7) == lines.count(5) - ("stop" in told.get(6, ""))


def test_a_mistake_on_the_last_turn_is_not_followed(scene):
    base, renderer, mistake = scene
    rollout = mistake.rollout
    stop = rollout.turns[mistake.turn].span[1]
    cut = replace(
        rollout,
        turns=rollout.turns[: mistake.turn + 1],
        token_ids=rollout.token_ids[:stop],
        mask=rollout.mask[:stop],
        log_probs=rollout.log_probs[:stop],
    )
    steps = pivotopd_steps(base, renderer, PRESET, replace(mistake, rollout=cut))
    assert [s.here for s in steps if s.line == 6] == ["stop: last turn"]
    assert not [s for s in steps if s.line == 7]
