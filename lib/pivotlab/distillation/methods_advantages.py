"""Published methods that act through the advantage of every token, as pure functions.

Each takes a `StepView` and returns one advantage per token, for the clipped surrogate
that all methods share (`losses.clipped_surrogate`): positive makes a token likelier,
and tokens the policy did not write get 0. No gradient flows through any of them.
Symbols: A = outcome advantage, Delta = gap, k = turn, l = token.

Departures that hold for all: A is the trainer's (Bessel's standard deviation plus
1e-4), whatever estimator a method's own repository uses; the gap is taken once, from
the student frozen at the step's start.
"""

from __future__ import annotations

import math

import torch
from jaxtyping import Float
from torch import Tensor

from pivotlab.distillation.step_view import StepView

TokenAdvantages = Float[Tensor, "rows time"]


def grpo(view: StepView) -> TokenAdvantages:
    """A on every token (GRPO, arXiv 2402.03300; published formula)."""
    return view.outcome


def opd(view: StepView) -> TokenAdvantages:
    """Delta alone: sampled-token reverse KL to the teacher.

    The gradient of -Delta log pi(y) on the student's own tokens is that of
    KL(student || teacher). Source: GKD, arXiv 2306.13649, in the form of the Thinking
    Machines note; the same function is OPSD (arXiv 2601.18734) as PivotOPD ran it,
    where the teacher is the student with privileged text.

    Traps: OPSD's own paper uses a full-vocabulary divergence, `generalised_jsd`; the
    SDAR repository's "OPSD" is a third thing, the SDAR loss without a policy gradient.
    On search QA a public reproduction of pure OPSD collapsed, and PivotOPD reports it
    at the base's level.
    """
    return view.gap * view.mask


def rlsd(
    view: StepView, *, epsilon: float = 0.2, lam: float = 0.5, warmdown: int = 100
) -> TokenAdvantages:
    """A ((1 - lam) + lam w), w = clip(exp(sign(A) Delta), 1 - epsilon, 1 + epsilon).

    Source: RLSD, arXiv 2604.03128; published code. `lam` falls linearly to 0 over
    `warmdown` steps (100 in the ALFWorld script, 50 by default).

    Trap: it multiplies A, so a group of equal rewards gets nothing, whatever the
    teacher thinks.
    """
    lam = lam * max(0.0, 1 - view.step / warmdown)
    return _reweighted(view, view.gap, epsilon, lam)


def step_opsd(
    view: StepView, *, alpha_clip: float = 0.2, lambda_mix: float = 0.5
) -> TokenAdvantages:
    """A ((1 - lambda) + lambda w_k), w_k = clip(exp(sign(A) mean_k Delta), 1 +- alpha).

    Source: StepOPSD, arXiv 2605.27140; **re-implementation from the description**: a
    sign-preserving reweighting of A per step by a hindsight self-teacher. No code was
    found; the exponential form is RLSD's and both values are ours.

    Trap: a group of equal rewards gets nothing.
    """
    step_gap = view.on_tokens(view.turn_mean(view.gap))
    return _reweighted(view, step_gap, alpha_clip, lambda_mix)


def agent_opsd(
    view: StepView, *, lam: float = 0.5, reach: float = 0.2, prior: float | None = None
) -> TokenAdvantages:
    """A ((1 - lam) + lam m_k), m_k from a belief V that the turns' gaps revise.

    delta_k = sum of Delta over turn k, logit V_k = logit V_0 + sum_{j <= k} delta_j,
    q_k = V_k - V_{k-1}, z = z-score of q in the episode (population std),
    m_k = clip(1 + reach sign(A) z_k, 1 - reach, 1 + reach).
    Source: AgentOPSD, arXiv 2608.05987; published formula of its script's mode
    (multiplicative, signed, per turn, lam 0.5).

    Args:
        prior: V_0; None is the mean reward of the group, or 0.5 where that is 0 or 1.

    Trap: on the student's own tokens E[Delta] = -KL(S || T) <= 0, so V drifts to 0 and
    late turns of long episodes are flattened; the code's centring, decay and tethering
    are not part of this mode.
    """
    lengths = view.turn_lengths()
    start = _prior(view) if prior is None else torch.full_like(view.group, prior)
    belief = torch.logit(start.double())[:, None]
    after = torch.sigmoid(belief + view.turn_sum(view.gap).double().cumsum(1))
    before = torch.cat([torch.sigmoid(belief), after[:, :-1]], 1)
    z = _z_score(after - before, lengths > 0).to(view.gap)
    signed = view.group.sign()[:, None] * z
    factor = (1 + reach * signed).clamp(1 - reach, 1 + reach)
    return view.outcome * ((1 - lam) + lam * view.on_tokens(factor))


def opid(
    view: StepView,
    *,
    w_episode: float = 1e-3,
    w_step: float = 1e-3,
    routed: bool = True,
) -> TokenAdvantages:
    """A + w_episode Delta_episode + w_step Delta_step.

    Source: OPID, arXiv 2606.26790; published code. Delta_step is the gap with a
    turn's own skill, on the turns the analysis names (at most five a trajectory);
    Delta_episode the one with the episode's skill. `routed`: a turn that has a skill of
    its own is left to it (step priority).

    Trap: at a weight of 1e-3 a gap of one nat moves A by a thousandth; what OPID learns
    from where A is not 0 is nearly GRPO.
    """
    advantages = view.outcome + w_step * view.gap * view.mask
    if view.episode_gap is None:
        return advantages
    episode = view.episode_gap * view.mask
    if routed:
        has_skill = view.turn_sum(view.gap.abs()) > 0
        episode = torch.where(view.on_tokens(has_skill.to(episode)) > 0, 0.0, episode)
    return advantages + w_episode * episode


def sod(
    view: StepView, *, c: float = 1.0, delta: float = 0.2, epsilon: float = 1e-6
) -> TokenAdvantages:
    """A + c w_k Delta, w_k = min((d_1 + eps) / (d_k + eps), 1 + delta).

    d_k is the mean |Delta| of turn k; w_1 = 1. Source: SOD, arXiv 2605.07725; published
    formula (delta 0.2 in the script, 0.5 by default). No value of c is known; 1 is
    ours, the weight of plain OPD.

    Trap: the published product over ratios telescopes to the form above, so a turn far
    from the teacher gets a *smaller* weight than the first; the cap acts on w_k, not on
    the running product.
    """
    return view.outcome + c * view.on_tokens(sod_weights(view, delta, epsilon)) * (
        view.gap * view.mask
    )


def sod_weights(
    view: StepView, delta: float = 0.2, epsilon: float = 1e-6
) -> Float[Tensor, "rows turns"]:
    """w_k of every turn; delta = infinity leaves them uncapped."""
    distance = view.turn_mean(view.gap.abs()) + epsilon
    weights = (distance[:, :1] / distance).clamp(max=1 + delta)
    weights[:, 0] = 1.0
    return weights


def tcod(view: StepView, *, until: float = 0.5) -> TokenAdvantages:
    """Delta on the first turns of a rollout only, as many as a curriculum allows.

    Source: TCOD, arXiv 2604.24005; **re-implementation from the description**: OPD with
    a curriculum on the distilled depth, front to back. The schedule is ours: one turn
    at the start, growing linearly to the longest rollout of the step when `until` of
    the run is over.
    """
    deepest = int(view.turn.max().item()) + 1
    depth = max(1, math.ceil(deepest * min(1.0, view.progress / until)))
    return view.gap * (view.mask & (view.turn < depth))


def turn_opd(view: StepView, *, coverage: float = 0.9) -> TokenAdvantages:
    """Delta within an adapted depth, every turn weighing the same in the end.

    Source: TurnOPD, arXiv 2607.05804; **re-implementation from the description** (depth
    from probe statistics, progressive turn-normalised KL; no code found). Ours: the
    depth is the fewest turns that hold `coverage` of the step's |Delta|; a token of
    turn k weighs (1 - p) + p N / (K n_k), with p the share of the run that is over, N
    and K the kept tokens and turns of its rollout, n_k the tokens of its turn.

    Departure: the paper adapts how far rollouts are played; here they are played to
    their end and only the distilled depth is adapted.
    """
    held = view.turn_sum(view.gap.abs()).sum(0).cumsum(0)
    depth = int((held < coverage * held[-1]).sum().item()) + 1
    lengths = view.turn_lengths()
    kept = lengths * (torch.arange(lengths.shape[1], device=lengths.device) < depth)
    tokens, turns = kept.sum(1, keepdim=True), (kept > 0).sum(1, keepdim=True)
    even = tokens / (turns.clamp(min=1) * kept.clamp(min=1))
    weights = ((1 - view.progress) + view.progress * even) * (kept > 0)
    return view.gap * view.on_tokens(weights)


def gigpo(
    view: StepView, *, weight: float = 1.0, gamma: float = 0.95, scaled: bool = False
) -> TokenAdvantages:
    """A + weight A_step, A_step = return minus the mean return at the same observation.

    The return of turn t of T is gamma^(T - 1 - t) R. Source: GiGPO, arXiv 2505.10978;
    published formula, mode `mean_norm` (`scaled`: `mean_std_norm`, Bessel's std plus
    1e-6). A state met once gets 0. Similarity grouping is left out.
    """
    steps = torch.zeros_like(view.turn_lengths())
    for places in view.meeting(view.anchors):
        if len(places) < 2:
            continue
        returns = torch.tensor(
            [
                float(view.rewards[row]) * gamma ** (len(view.anchors[row]) - 1 - turn)
                for row, turn in places
            ],
            dtype=torch.float64,
        )
        centred = returns - returns.mean()
        if scaled:
            centred = centred / (returns.std() + 1e-6)
        for (row, turn), value in zip(places, centred.tolist(), strict=True):
            steps[row, turn] = value
    return view.outcome + weight * view.on_tokens(steps)


def pivotrl(view: StepView, *, lambda_diff: float = 0.6) -> TokenAdvantages:
    """Group-normalised functional reward of the turn itself, at pivots only.

    A state is a pivot where its samples' verdicts differ (sigma2 > 0) and their mean is
    at most `lambda_diff` (PivotRL, arXiv 2603.21383, Eqs. 4-6). **Re-implementation**:
    PivotOPD prints no settings of its multi-turn port. Here the states are those of the
    environment that several turns of a task's rollouts stand before, whatever was read
    on the way there; the verdicts come from a judge (`verdicts`), and the outcome of
    the episode is not used. The offline form, on profiled turns of expert trajectories,
    is `training.pivotrl`.
    """
    steps = torch.zeros_like(view.turn_lengths())
    for places in view.meeting(view.states):
        judged = [(p, view.verdicts[p[0]][p[1]]) for p in places]
        known = [(p, v) for p, v in judged if v is not None]
        rewards = torch.tensor([v for _, v in known], dtype=torch.float64)
        if len(known) < 2 or rewards.std() == 0 or rewards.mean() > lambda_diff:
            continue
        scores = (rewards - rewards.mean()) / (rewards.std() + 1e-4)
        for ((row, turn), _), value in zip(known, scores.tolist(), strict=True):
            steps[row, turn] = value
    return view.on_tokens(steps)


def nothing(view: StepView) -> TokenAdvantages:
    """0 everywhere: the method is a divergence over the vocabulary (SDPO)."""
    return torch.zeros_like(view.gap)


def _reweighted(
    view: StepView, gap: TokenAdvantages, epsilon: float, lam: float
) -> TokenAdvantages:
    """A ((1 - lam) + lam clip(exp(sign(A) gap), 1 +- epsilon))."""
    signed = view.group.sign()[:, None] * gap
    weight = signed.exp().clamp(1 - epsilon, 1 + epsilon)
    return view.outcome * ((1 - lam) + lam * weight)


def _prior(view: StepView) -> Float[Tensor, "rows"]:
    """Mean reward of each rollout's group, 0.5 where it says nothing."""
    groups = view.rewards.view(-1, view.group_size)
    mean = groups.mean(1, keepdim=True).expand_as(groups).reshape(-1)
    return torch.where((mean > 0) & (mean < 1), mean, 0.5)


def _z_score(values: Tensor, there: Tensor) -> Tensor:
    """Per row over the turns it has; 0 where they do not differ."""
    count = there.sum(1, keepdim=True).clamp(min=1)
    mean = (values * there).sum(1, keepdim=True) / count
    centred = (values - mean) * there
    std = (centred.square().sum(1, keepdim=True) / count).sqrt()
    return torch.where(std > 1e-9, centred / std.clamp(min=1e-9), 0.0)
