"""Every compared method once more, token by token in plain Python, float64.

Written from the equations, without tensors and without the library: SOD by its running
product, AgentOPSD by its recursion, groups by search.
"""

import math
import random
from dataclasses import dataclass
from statistics import fmean, pstdev, stdev

import torch

from pivotlab.distillation.step_view import StepView


@dataclass
class Row:
    """One rollout: A, reward, task, and per turn the tokens' gaps."""

    a: float
    reward: float
    task: int
    gaps: list
    episode: list
    anchors: list
    verdicts: list
    states: list


def random_rows(seed, tasks=2, size=3, outcomes=(0.0, 1.0)):
    """Rollouts of different lengths that share observations now and then."""
    draw = random.Random(seed)
    rows = []
    for task in range(tasks):
        rewards = [draw.choice(outcomes) for _ in range(size)]
        spread = stdev(rewards) + 1e-4
        for reward in rewards:
            turns = draw.randint(1, 4)
            lengths = [draw.randint(1, 3) for _ in range(turns)]
            seen = ["start", *(draw.choice("pqr") for _ in range(turns - 1))]
            rows.append(
                Row(
                    (reward - fmean(rewards)) / spread,
                    reward,
                    task,
                    [[draw.gauss(0, 0.7) for _ in range(n)] for n in lengths],
                    [[draw.gauss(0, 0.7) for _ in range(n)] for n in lengths],
                    seen,
                    [draw.choice([0.0, 1.0]) for _ in range(turns)],
                    [(place, draw.choice("xy")) for place in seen],
                )
            )
    return rows


def view_of(rows, step=0, steps=1, size=3):
    """The same rollouts as a `StepView`: two columns before each turn are not ours."""
    flat = [
        [(-1, 0.0, 0.0)] * 2 * (t > 0) + list(zip([t] * len(g), g, e, strict=True))
        for row in rows
        for t, (g, e) in enumerate(zip(row.gaps, row.episode, strict=True))
    ]
    lines, place = [], 0
    for row in rows:
        mine = flat[place : place + len(row.gaps)]
        lines.append([token for turn in mine for token in turn])
        place += len(row.gaps)
    width = max(map(len, lines)) + 1
    lines = [line + [(-1, 0.0, 0.0)] * (width - len(line)) for line in lines]
    turn, gap, episode = (
        torch.tensor([[token[i] for token in line] for line in lines], dtype=kind)
        for i, kind in enumerate((torch.int64, torch.float64, torch.float64))
    )
    return StepView(
        torch.tensor([r.a for r in rows], dtype=torch.float64),
        turn,
        gap,
        episode,
        torch.tensor([r.reward for r in rows], dtype=torch.float64),
        size,
        tuple(tuple(r.anchors) for r in rows),
        tuple(tuple(r.verdicts) for r in rows),
        step,
        steps,
        tuple(tuple(r.states) for r in rows),
    )


def advantages(name, rows, step=0, steps=1):
    """Per rollout, turn and token."""
    return RULES[name](rows, step, steps)


def each(rows, value):
    return [
        [[value(r, t, x) for x in range(len(g))] for t, g in enumerate(r.gaps)]
        for r in rows
    ]


def sign(x):
    return (x > 0) - (x < 0)


def clip(x, low, high):
    return min(max(x, low), high)


def plain(rows, step, steps):
    return each(rows, lambda r, t, x: r.a)


def distil(rows, step, steps):
    return each(rows, lambda r, t, x: r.gaps[t][x])


def rlsd(rows, step, steps):
    lam = 0.5 * max(0.0, 1 - step / 100)

    def token(r, t, x):
        w = clip(math.exp(sign(r.a) * r.gaps[t][x]), 0.8, 1.2)
        return r.a * ((1 - lam) + lam * w)

    return each(rows, token)


def step_opsd(rows, step, steps):
    def token(r, t, x):
        w = clip(math.exp(sign(r.a) * fmean(r.gaps[t])), 0.8, 1.2)
        return r.a * (0.5 + 0.5 * w)

    return each(rows, token)


def agent_opsd(rows, step, steps):
    factors = {}
    for i, r in enumerate(rows):
        mean = fmean(o.reward for o in rows if o.task == r.task)
        v = mean if 0 < mean < 1 else 0.5
        q = []
        for gaps in r.gaps:
            logit = math.log(v / (1 - v)) + sum(gaps)
            new = 1 / (1 + math.exp(-logit))
            q.append(new - v)
            v = new
        std = pstdev(q)
        z = [(x - fmean(q)) / std if std > 1e-9 else 0.0 for x in q]
        factors[i] = [clip(1 + 0.2 * sign(r.a) * x, 0.8, 1.2) for x in z]
    place = {id(r): i for i, r in enumerate(rows)}
    return each(rows, lambda r, t, x: r.a * (0.5 + 0.5 * factors[place[id(r)]][t]))


def opid(rows, step, steps):
    def token(r, t, x):
        own = any(r.gaps[t])
        return r.a + 1e-3 * (r.gaps[t][x] if own else r.episode[t][x])

    return each(rows, token)


def sod(rows, step, steps):
    def token(r, t, x):
        d = [fmean(map(abs, g)) for g in r.gaps]
        product = 1.0
        for u in range(t):
            product *= (d[u] + 1e-6) / (d[u + 1] + 1e-6)
        return r.a + min(product, 1.2) * r.gaps[t][x]

    return each(rows, token)


def tcod(rows, step, steps):
    longest = max(len(r.gaps) for r in rows)
    depth = max(1, math.ceil(longest * min(1, step / steps / 0.5)))
    return each(rows, lambda r, t, x: r.gaps[t][x] if t < depth else 0.0)


def turn_opd(rows, step, steps):
    longest = max(len(r.gaps) for r in rows)
    size = [
        sum(abs(g) for r in rows for g in (r.gaps[t] if t < len(r.gaps) else []))
        for t in range(longest)
    ]
    depth = next(
        d for d in range(1, longest + 1) if sum(size[:d]) >= 0.9 * sum(size) - 1e-12
    )
    p = step / steps

    def token(r, t, x):
        if t >= depth:
            return 0.0
        kept = r.gaps[:depth]
        even = sum(map(len, kept)) / (len(kept) * len(r.gaps[t]))
        return r.gaps[t][x] * ((1 - p) + p * even)

    return each(rows, token)


def among(rows, r, t, what="anchors"):
    """(rollout, turn) pairs of the same task and observation (or state)."""
    return [
        (o, u)
        for o in rows
        for u, before in enumerate(getattr(o, what))
        if o.task == r.task and before == getattr(r, what)[t]
    ]


def gigpo(rows, step, steps):
    def returns(r, t):
        return r.reward * 0.95 ** (len(r.gaps) - 1 - t)

    def token(r, t, x):
        return r.a + returns(r, t) - fmean(returns(*p) for p in among(rows, r, t))

    return each(rows, token)


def pivotrl(rows, step, steps):
    def token(r, t, x):
        found = [o.verdicts[u] for o, u in among(rows, r, t, "states")]
        found = [v for v in found if v is not None]
        own = r.verdicts[t]
        if own is None or len(set(found)) < 2 or fmean(found) > 0.6:
            return 0.0
        return (own - fmean(found)) / (stdev(found) + 1e-4)

    return each(rows, token)


RULES = {
    **dict.fromkeys(("grpo", "skill_grpo", "skill_sd", "sdar"), plain),
    **dict.fromkeys(("opsd", "opd"), distil),
    "rlsd": rlsd,
    "step_opsd": step_opsd,
    "agent_opsd": agent_opsd,
    "opid": opid,
    "sod": sod,
    "tcod": tcod,
    "turn_opd": turn_opd,
    "gigpo": gigpo,
    "pivotrl": pivotrl,
    "sdpo": lambda rows, step, steps: each(rows, lambda r, t, x: 0.0),
}


def token_loss(name, s, t):
    """The auxiliary loss of one token at rho = 1; `s` may carry a graph."""
    if name == "sdar":
        gate = 1 / (1 + math.exp(-5 * (t - s).item()))
        return 0.01 * gate * (t - s)
    u = s - t
    return 0.001 * (s - s.detach()).exp() * ((-u).exp() - 1 + u)
