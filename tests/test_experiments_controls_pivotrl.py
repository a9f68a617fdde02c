"""PivotRL's walk tells the numbers of the pool and group it is given."""

import pandas as pd

from pivotlab.experiments.controls.pivotrl import LINES, pivotrl_steps
from pivotlab.experiments.pool import Pool
from pivotlab.experiments.presets import get_preset
from pivotlab.records import Candidate, Message, Trajectory, TurnProfile


def candidate(number):
    prefix = (Message("user", f"You see a mug {number}."),)
    expert = Message("assistant", "take mug")
    return Candidate(f"t#{number}", "t", number, prefix, expert)


def profile(number, *rewards):
    size = len(rewards)
    return TurnProfile(f"t#{number}", rewards, ("x",) * size, (False,) * size)


def scene(rewards):
    pivot = candidate(0)
    profiles = {"t#0": profile(0, 1.0, 0.0, 0.0, 0.0), "t#1": profile(1, 1.0, 1.0)}
    pool = Pool([Trajectory("t", ())], [pivot, candidate(1)], profiles)
    actions = ["take mug", "look", "look", "look"]
    mean = sum(rewards) / 4
    std = (sum((r - mean) ** 2 for r in rewards) / 4) ** 0.5 or 1.0
    group = pd.DataFrame(
        {
            "action": actions,
            "verdict": ["acceptable" if r else "not" for r in rewards],
            "reward": rewards,
            "advantage": [(r - mean) / std for r in rewards],
        }
    )
    return pivotrl_steps(pool, get_preset("smoke"), pivot, group)


def test_every_line_is_walked_once_with_the_numbers_of_the_case():
    steps = scene([1.0, 0.0, 0.0, 0.0])
    assert [step.line for step in steps] == list(range(len(LINES)))
    told = [step.here for step in steps]
    assert "You see a mug 0." in told[0] and "2 candidates" in told[0]
    assert "mu = 0.250, sigma2 = 0.188" in told[1]
    assert "1 of 2 are kept" in told[2]
    assert "3 x look" in told[4] and "3 x not" in told[5]
    # m = 1/4: +sqrt(3) and -1/sqrt(3)
    assert "1 -> +1.73  take mug" in told[6] and "0 -> -0.58  look" in told[6]
    # summed over samples and divided by G, the pushes cancel
    assert "+0.433  take mug" in told[7] and "-0.433  look" in told[7]


def test_a_constant_group_pushes_nothing():
    assert "no push" in scene([0.0] * 4)[-1].here
