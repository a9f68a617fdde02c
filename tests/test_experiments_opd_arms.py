"""Arms are what their names say, at every preset."""

import pytest

from pivotlab.distillation.losses import Weights
from pivotlab.experiments.opd.arms import (
    ABLATIONS,
    EPISODE_ARMS,
    MAIN_EPISODE_ARMS,
    episode_settings,
    get_episode_arm,
    usual_arms,
)
from pivotlab.experiments.presets import PRESETS, get_preset

CPU = get_preset("cpu")


def distillation(name):
    return get_episode_arm(name).distillation(CPU)


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("name", EPISODE_ARMS)
def test_every_arm_builds_at_every_preset(name, preset):
    arm, numbers = get_episode_arm(name), get_preset(preset)
    settings = episode_settings(arm, numbers, 3, 7)
    assert (settings.steps, settings.seed) == (7, 3)
    assert (settings.distillation is None) == (name in ("base", "grpo"))


def test_full_is_the_papers_setting():
    full = get_episode_arm("full").distillation(get_preset("paper"))
    assert full.weights == Weights(0.001, 1.0, 0.0, 5.0)
    assert (full.candidates, full.recovery_turns, full.max_recoveries) == (5, 2, 64)
    assert (full.w_rl, full.w_every, full.support) == (1.0, 0.0, "sampled")


def test_the_reference_runs_share_recoveries_as_the_paper_does():
    paper = get_preset("paper")
    episodes = CPU.episode_tasks * CPU.episode_group
    share = distillation("full").max_recoveries / episodes
    assert share == paper.max_recoveries / (paper.episode_tasks * paper.episode_group)


def test_prevention_and_recovery_leave_the_other_out():
    prevention, recovery = distillation("prevention"), distillation("recovery")
    assert prevention.weights.w_prev == 0.1 and not prevention.recovers
    assert recovery.weights.w_prev == 0.0 and recovery.recovers
    assert [distillation(f"K={k}").recovery_turns for k in range(4)] == [0, 1, 2, 3]


def test_distillation_without_reinforcement():
    for name in ("opsd", "opd", "swe"):
        found = distillation(name)
        assert found.w_rl == 0.0 and found.w_every == 1.0 and not found.recovers
    assert get_episode_arm("opd").big and get_episode_arm("swe").big
    swe = distillation("swe")
    assert swe.turns == "final" and swe.weights.w_prev == 0.1
    assert distillation("self-teacher").weights.w_traj == CPU.w_traj


def test_ablations_differ_from_full_in_one_field():
    full = vars(distillation("full"))
    for name in ABLATIONS:
        other = vars(distillation(name))
        assert sum(full[key] != other[key] for key in full) == 1
    assert set(MAIN_EPISODE_ARMS) < set(EPISODE_ARMS)


def test_unknown_arms_are_named():
    with pytest.raises(ValueError, match="unknown arm 'nope'; known arms: base, grpo"):
        get_episode_arm("nope")


def test_short_presets_compare_a_part_of_the_main_arms():
    assert usual_arms("cpu") == usual_arms("paper") == MAIN_EPISODE_ARMS
    few, more = usual_arms("smoke"), usual_arms("quick")
    assert few == ("base", "grpo", "full") and set(few) < set(more)
    assert set(more) < set(MAIN_EPISODE_ARMS)
