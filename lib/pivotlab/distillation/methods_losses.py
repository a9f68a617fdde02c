"""Losses of published methods, as pure functions.

`sdar_*` and `skill_sd` are added to GRPO by the trainer. `generalised_jsd` and `sdpo`
are the published forms that tests hold against TRL's; where the trainer distils over
the vocabulary it takes their reverse-KL case, `losses.divergence`.

Token losses take log-probs of the sampled tokens and return one value per token, to be
masked and averaged with the step's token mean; they are lowered. Only `student` carries
gradient. Divergences take log-probs of the whole vocabulary at every position.
"""

from __future__ import annotations

import math

import torch
from jaxtyping import Float
from torch import Tensor

TokenLoss = Float[Tensor, "rows time"]
LogProbs = Float[Tensor, "rows time"]
Distributions = Float[Tensor, "rows time vocab"]


def sdar_public(
    student: LogProbs,
    teacher: LogProbs,
    old: LogProbs,
    *,
    weight: float = 0.01,
    gate_beta: float = 5.0,
) -> TokenLoss:
    """weight * g * (teacher - student), g = sigmoid(gate_beta (teacher - student)).

    g carries no gradient. Source: SDAR, arXiv 2605.15155; published code (weight 0.01
    in its scripts, 0.1 in its code).

    Trap (sign): only `student` carries gradient, so the gradient is -weight g times
    that of the log-prob, with g > 0: minimising it raises **every** sampled token, more
    where the teacher agrees. It is a gated likelihood of the student's own samples, not
    a reverse KL; that form is `sdar_reverse_kl`. With no gap at all g is 0.5.
    """
    gap = (teacher - student).detach()
    gate = torch.sigmoid(gate_beta * gap)
    return weight * gate * (teacher.detach() - student)


def sdar_reverse_kl(
    student: LogProbs,
    teacher: LogProbs,
    old: LogProbs,
    *,
    weight: float = 0.01,
    gate_beta: float = 5.0,
) -> TokenLoss:
    """-weight * g * (teacher - student) * student, gap and gate without gradient.

    The gated reverse-KL gradient that SDAR's text suggests and its code does not
    compute: it lowers tokens the teacher likes less. **A variant of ours**, to show
    what the sign of `sdar_public` changes.
    """
    gap = (teacher - student).detach()
    return -weight * torch.sigmoid(gate_beta * gap) * gap * student


def skill_sd(
    student: LogProbs, teacher: LogProbs, old: LogProbs, *, weight: float = 0.001
) -> TokenLoss:
    """weight * rho * k3, k3 = exp(-u) - 1 + u, u = student - teacher.

    rho = exp(student - old). Exponents are cut at 20 (k3) and 10 (rho). Source:
    Skill-SD, arXiv 2604.10674; published code.

    At rho = 1 the gradient is weight * u times that of the log-prob: the sampled
    reverse KL to the teacher. (Without rho it would be 1 - exp(-u): a forward KL.)
    """
    u = student - teacher.detach()
    k3 = (-u).clamp(max=20.0).exp() - 1 + u
    rho = (student - old.detach()).clamp(max=10.0).exp()
    return weight * rho * k3


def generalised_jsd(
    student: Distributions, teacher: Distributions, beta: float = 0.5
) -> TokenLoss:
    """beta KL(T || M) + (1 - beta) KL(S || M), M = beta T + (1 - beta) S.

    The limits are KL(T || S) at beta 0 and KL(S || T) at beta 1. Source: GKD, arXiv
    2306.13649, Eq. (1); the loss of OPSD (arXiv 2601.18734; 0.5 in its script) and the
    divergence of SDPO.
    """
    teacher = teacher.detach()
    if beta == 0:
        return (teacher.exp() * (teacher - student)).sum(-1)
    if beta == 1:
        return (student.exp() * (student - teacher)).sum(-1)
    parts = [student + math.log1p(-beta), teacher + math.log(beta)]
    mixture = torch.stack(parts).logsumexp(0)
    toward_teacher = (teacher.exp() * (teacher - mixture)).sum(-1)
    toward_student = (student.exp() * (student - mixture)).sum(-1)
    return beta * toward_teacher + (1 - beta) * toward_student


def sdpo(
    student: Distributions,
    teacher: Distributions,
    log_ratio: LogProbs,
    *,
    alpha: float = 1.0,
    is_clip: float = 2.0,
) -> TokenLoss:
    """min(rho, is_clip) * KL(student || teacher shown the feedback).

    `alpha` interpolates as `generalised_jsd` does (0 forward, 1 reverse); rho carries
    no gradient and its logarithm is cut at 20. Source: SDPO, arXiv 2601.20802;
    published formula.

    Departures in the trainer: rho is 1 (one optimizer step per batch), the teacher is
    the live student of the step's start instead of a moving average (rate 0.05), the
    vocabulary is whole instead of top-k with a tail, and the feedback is what a
    successful rollout of the group did in the same situation.
    """
    rho = log_ratio.detach().clamp(-20, 20).exp().clamp(max=is_clip)
    return rho * generalised_jsd(student, teacher, alpha)
