"""The table of arms and its name syntax."""

import pytest

from pivotlab.experiments.arms import ARMS, MAIN_ARMS, get_arm


def test_the_main_table_has_seven_known_arms():
    assert len(MAIN_ARMS) == 7 and set(MAIN_ARMS) <= set(ARMS)


def test_rate_override():
    arm = get_arm("sft@lr=1e-3")
    assert (arm.learning_rate, arm.turns, arm.name) == (1e-3, "random", "sft@lr=1e-3")
    assert get_arm("placebo@lr=3e-4").learning_rate == 3e-4


def test_beta_override():
    arm = get_arm("functional/pivots@beta=0.3")
    assert (arm.beta, arm.turns, arm.name) == (
        0.3,
        "pivots",
        "functional/pivots@beta=0.3",
    )


@pytest.mark.parametrize(
    "name, hint",
    [
        ("functional/pivot", "known arms"),
        ("sft@beta=1", "only 'beta=NUMBER'"),
        ("base@lr=1e-3", "'lr=NUMBER'"),
        ("placebo@beta=much", "not a number"),
    ],
)
def test_a_wrong_name_is_answered_with_the_way_out(name, hint):
    with pytest.raises(ValueError, match=hint):
        get_arm(name)
