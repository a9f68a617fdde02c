"""A toy of K and w_rec: d needed actions in a row, learnt from outcomes and recovery.

After a mistake the way back takes d specific actions. At state i the policy takes the
needed one with probability p_i = sigmoid(u_i); anything else fails. One training step
adds to every logit u_i, in expectation:

- outcome (GRPO, rollouts from the mistake, binary reward, population std):
  S (1 - p_i) / (1 - m), where m = p_1 ... p_d is the success probability and S the
  expected update of its log-odds (`group_advantage.expected_update`);
- recovery, for the first K states only: w_rec times `recovery_update` of PivotOPD
  Eq. (9) with hinted probability q and clip delta.

This model is ours, exact but small: states share no parameters, the hinted student
reaches state i for sure, and the mean over tokens of Eq. (7) is left out. It shows why
outcomes alone never start (m = p^d), what K buys, and that w_rec is a speed.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from scipy.special import expit, logit

from pivotlab.theory.group_advantage import expected_update
from pivotlab.theory.pivotopd_logits import recovery_update


def outcome_update(
    p: Float[np.ndarray, " states"], group: int
) -> Float[np.ndarray, " states"]:
    """Expected GRPO update of every state's logit.

    Args:
        p: probability of the needed action at each state, strictly inside (0, 1).
        group: G.
    """
    success = float(np.prod(p))
    spread = expected_update(success, group, divide=True)
    return spread * (1 - p) / (1 - success)


def repair_path(
    turns: int,
    w_rec: float,
    *,
    needed: int = 3,
    start: float = 0.05,
    hinted: float = 0.9,
    delta: float = 5.0,
    group: int = 8,
    rate: float = 0.5,
    steps: int = 80,
) -> Float[np.ndarray, " points"]:
    """Probability of the whole repair after 0..steps training steps.

    Args:
        turns: K, the recovery turns after the mistake; 0 is GRPO alone.
        w_rec: weight of the recovery signal.
        needed: d, actions of the shortest repair.
        start: probability of each needed action before training.
        hinted: its probability under the hinted student [q].
        delta: clip of the log-ratio, nats.
        group: G.
        rate: step size.

    Raises:
        ValueError: K or w_rec below 0.
    """
    if turns < 0 or w_rec < 0:
        raise ValueError(f"K={turns} and w_rec={w_rec} must be >= 0")
    u = np.full(needed, logit(start))
    told = np.array([hinted, 1 - hinted])
    path = []
    for _ in range(steps + 1):
        p = expit(u)
        path.append(np.prod(p))
        step = outcome_update(p, group)
        for state in range(min(turns, needed)):
            own = np.array([p[state], 1 - p[state]])
            step[state] += w_rec * recovery_update(own, told, delta)[0]
        u = u + rate * step
    return np.array(path)
