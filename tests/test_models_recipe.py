"""The recipe: its sources, its presets, its two stages."""

import random

import pytest

from pivotlab.environments.textgame.habits import FlawedPlayer
from pivotlab.models import recipe, tiny
from pivotlab.models.skills import SKILLS, UNLEARNT


def test_every_mixture_names_existing_sources_and_every_skill():
    known = recipe.sources()
    for stage in recipe.SHIPPED.stages:
        assert set(stage.mixture) <= set(known)
        assert set(SKILLS) <= set(stage.mixture), "a skill would be forgotten"


def test_the_habits_are_targets_only_in_the_second_stage():
    first, second = recipe.SHIPPED.stages
    assert not any("flawed" in name for name in first.mixture)
    played = {name for name in second.mixture if "hinted" not in name}
    assert played & set(first.mixture) == set(SKILLS | UNLEARNT)


def test_the_flawed_source_holds_mistakes_an_honest_player_would_not_make():
    wrong = 0
    for seed in range(20):
        example = recipe.sources()["flawed"](random.Random(seed))
        player = FlawedPlayer(strength=0.0)
        player.start(example.messages[0].content)
        for turn in range(1, len(example.messages), 2):
            said = example.messages[turn].content
            wrong += said not in player.acceptable()[0]
            if turn + 1 < len(example.messages):
                player.observe(example.messages[turn + 1].content)
        assert not example.muted
    assert wrong > 20


@pytest.mark.parametrize("preset", ["smoke", "quick", "cpu", "gpu"])
def test_presets_change_the_length_and_nothing_else(preset):
    found = recipe.recipe_for(preset, seed=3)
    assert found.seed == 3 and found.batching == recipe.SHIPPED.batching
    for stage, shipped in zip(found.stages, recipe.SHIPPED.stages, strict=True):
        assert stage.mixture == shipped.mixture
        assert stage.steps <= shipped.steps


def test_a_recipe_leaves_the_model_after_each_stage(tmp_path, monkeypatch):
    monkeypatch.setitem(recipe.STEPS, "smoke", (2, 2))
    made = recipe.follow(recipe.recipe_for("smoke"), tmp_path, workers=2)
    for stage in ("skill", "habits"):
        tiny.check(tmp_path / stage)
    first, second = (
        tiny.sha256(tmp_path / s / tiny.WEIGHTS) for s in ("skill", "habits")
    )
    assert first != second
    assert [row["stage"] for row in made.history] == ["skill", "habits"]
    again = recipe.follow(recipe.recipe_for("smoke"), tmp_path)
    assert again.history == made.history
    assert tiny.sha256(tmp_path / "habits" / tiny.WEIGHTS) == second
