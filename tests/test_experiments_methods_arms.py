"""The rows of the table and their settings: equal but for the distillation."""

from dataclasses import replace

import pytest

from pivotlab.distillation.methods import METHODS
from pivotlab.experiments.methods.arms import (
    CORE,
    METHOD_ARMS,
    PIVOT_OPD,
    TABLE,
    get_method_arm,
    method_settings,
)
from pivotlab.experiments.methods.worlds import WORLDS
from pivotlab.experiments.opd.arms import EPISODE_ARMS
from pivotlab.experiments.presets import get_preset

WORLD, PRESET = WORLDS["textgame"], get_preset("cpu")


def test_the_table_is_sixteen_methods_pivotopd_and_two_models_as_they_are():
    assert len(TABLE) == 19 and set(CORE) < set(TABLE)
    assert {n for n in TABLE if METHOD_ARMS[n].method} == set(METHODS)
    assert {n for n in TABLE if not METHOD_ARMS[n].trains} == {"base", "second"}


@pytest.mark.parametrize("name", TABLE[1:])
def test_arms_differ_in_their_distillation_only(name):
    arm = get_method_arm(name)
    own = method_settings(arm, WORLD, PRESET, 1, 20)
    plain = method_settings(get_method_arm("grpo"), WORLD, PRESET, 1, 20)
    assert replace(own, distillation=None) == replace(plain, distillation=None)
    assert own.steps == 20 and own.seed == 1 and own.group_size == PRESET.episode_group
    if arm.method:
        assert own.distillation.method is arm.method
        assert not own.distillation.recovers
        assert own.distillation.asks == (arm.reads in ("teacher", "report"))


def test_pivotopd_is_the_full_arm_of_its_own_comparison():
    own = METHOD_ARMS[PIVOT_OPD].distillation(PRESET)
    assert own == EPISODE_ARMS["full"].distillation(PRESET)


def test_who_needs_a_bank():
    needs = {n for n in TABLE if METHOD_ARMS[n].needs_skills}
    named = {"opsd", "skill_sd", "rlsd", "sdar", "skill_grpo"}
    assert needs == named | {"agent_opsd"}, "the paper's five, and ours for AgentOPSD"


def test_an_unknown_name_is_told_the_known_ones():
    with pytest.raises(ValueError, match="unknown method 'sdra'; .*sdar"):
        get_method_arm("sdra")
