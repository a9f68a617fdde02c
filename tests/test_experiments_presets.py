"""Presets are complete, typed, in range, and overridden in one way only."""

from dataclasses import FrozenInstanceError, asdict, fields

import pytest

from pivotlab.experiments.presets import (
    PAPER_SOURCES,
    PRESETS,
    RANGES,
    Preset,
    from_params,
    get_preset,
)


def test_names_and_order():
    assert list(PRESETS) == ["smoke", "quick", "cpu", "gpu", "paper"]
    assert all(preset.name == name for name, preset in PRESETS.items())


def test_unknown_preset_is_one_line_with_the_valid_names():
    with pytest.raises(ValueError) as error:
        get_preset("smok")
    text = str(error.value)
    assert text == "unknown preset 'smok'; choose one of smoke, quick, cpu, gpu, paper"


def test_every_paper_value_names_its_source_and_every_number_its_range():
    names = {f.name for f in fields(Preset)} - {"name", "about"}
    assert set(PAPER_SOURCES) == names
    assert set(RANGES) == names - {"model", "episode_model", "seeds"}


def test_values_the_papers_print():
    paper = get_preset("paper")
    assert paper.group * paper.prompts_per_step == 1024
    assert (paper.episode_tasks, paper.episode_group) == (16, 8)
    assert (paper.w_rec, paper.w_prev, paper.w_traj, paper.delta) == (
        1,
        0.001,
        0.001,
        5,
    )
    assert (paper.candidates, paper.recovery_turns, paper.max_recoveries) == (5, 2, 64)
    assert (paper.max_turns, paper.history, paper.episode_steps) == (30, 5, 160)


def test_presets_grow():
    smoke, quick, cpu = (get_preset(n) for n in ("smoke", "quick", "cpu"))
    for name in ("random_cases", "draws", "trajectories", "k", "steps", "eval_games"):
        sizes = [getattr(p, name) for p in (smoke, quick, cpu)]
        assert sizes == sorted(sizes), name


def test_overrides_replace_and_none_keeps():
    changed = from_params("smoke", steps=7, beta=1, seeds=[3, 4], lambda_diff=None)
    expected = asdict(get_preset("smoke")) | {"steps": 7, "beta": 1.0, "seeds": (3, 4)}
    assert asdict(changed) == expected
    assert type(changed.beta) is float
    assert from_params("cpu") == get_preset("cpu")


@pytest.mark.parametrize(
    "overrides, message",
    [
        ({"stepz": 3}, "unknown setting 'stepz'; did you mean steps"),
        ({"name": "x"}, "unknown setting 'name'"),
        ({"steps": "ten"}, "steps='ten' must be of type int"),
        ({"steps": 2.5}, "steps=2.5 must be of type int"),
        ({"steps": True}, "steps=True must be of type int"),
        ({"seeds": ["a"]}, "seeds='a' must be of type int"),
        ({"seeds": []}, r"seeds=\(\) must name one or more seeds"),
        ({"seeds": [-1]}, r"seeds=\(-1,\) must name one or more seeds >= 0"),
        ({"group": 1}, r"group=1 must lie in \[2, inf\]"),
        ({"beta": -0.1}, r"beta=-0.1 must lie in \[0.0, inf\]"),
        ({"beta": float("nan")}, "beta=nan must lie in"),
        ({"lambda_diff": 1.5}, r"lambda_diff=1.5 must lie in \[0.0, 1.0\]"),
    ],
)
def test_bad_overrides_are_named(overrides, message):
    with pytest.raises(ValueError, match=message) as error:
        from_params("smoke", **overrides)
    assert "\n" not in str(error.value)


def test_presets_cannot_be_changed_in_place():
    with pytest.raises(FrozenInstanceError):
        get_preset("smoke").steps = 3
