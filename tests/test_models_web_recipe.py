"""The recipe of `tiny-web`: what it trains on, and that it runs."""

import json
import random

import pytest

from pivotlab.models import web_recipe
from pivotlab.models.skills import SKILLS, UNLEARNT
from pivotlab.models.tiny import WEIGHTS, check


def test_the_mixture_names_sources_that_exist():
    for stage in web_recipe.SHIPPED.stages:
        assert set(stage.mixture) <= set(web_recipe.sources())
        assert set(SKILLS | UNLEARNT) <= set(stage.mixture)


@pytest.mark.parametrize("world", ["shop", "search"])
def test_slips_and_turns_without_hints_are_no_targets(world):
    found = web_recipe.sources()
    for seed in range(4):
        honest = found[world](random.Random(seed))
        assert honest.muted == frozenset() and honest.messages[-1].role == "assistant"
        hinted = found[f"{world}, hinted"](random.Random(seed))
        for turn in range(1, len(hinted.messages), 2):
            said, before = hinted.messages[turn].content, hinted.messages[turn - 1]
            assert turn in hinted.muted or said in before.content
    slips = [found[f"{world}, slipping"](random.Random(s)).muted for s in range(16)]
    assert any(slips) and not all(slips)


def test_the_flawed_reader_slips_and_its_slips_are_targets():
    flawed = web_recipe.sources()["search, flawed"]
    assert not any(flawed(random.Random(seed)).muted for seed in range(8))
    said = [m.content for s in range(8) for m in flawed(random.Random(s)).messages]
    assert any("map of" in text or "history of" in text for text in said)
    assert web_recipe.HABITS > web_recipe.SLIPS


def test_presets_shorten_and_change_nothing_else():
    short, full = web_recipe.recipe_for("smoke", 3), web_recipe.recipe_for("cpu")
    assert [stage.steps for stage in short.stages] == [2, 2] and short.seed == 3
    assert full == web_recipe.SHIPPED
    assert short.stages[0].mixture == full.stages[0].mixture


def test_it_runs_from_the_command_line_and_saves(tmp_path, capsys, monkeypatch):
    arguments = ["x", "--folder", str(tmp_path), "--preset", "smoke"]
    monkeypatch.setattr("sys.argv", arguments)
    web_recipe.main()
    told = capsys.readouterr().out
    assert "rows of history, last {'stage': 'habits', 'step': 2" in told
    folder = tmp_path / "habits"
    check(folder)
    facts = json.loads((folder / "recipe.json").read_text())
    assert facts["steps"] == {"web": 2, "habits": 2} and 1e6 < facts["parameters"] < 2e6
    assert (folder / WEIGHTS).stat().st_size < 12e6
    assert (folder / "README.md").read_text().startswith("# tiny-web")
