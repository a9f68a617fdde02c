"""PivotOPD's signals as pure functions of log-probabilities (paper Eqs. 1-7).

Sign convention: a positive advantage makes its token likelier; losses are lowered. All
logarithms are natural. `mask` is 1 on the tokens of the trained response and 0 on
prompt, environment and padding tokens.

Departures from the paper: (1) besides the sampled-token form, which is the paper's,
`divergence` offers the same two divergences on the full vocabulary or on the teacher's
top-k with a tail bucket; (2) the lesson term `w_traj` may be absent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor

Support = Literal["sampled", "topk", "full"]
Direction = Literal["forward", "reverse"]


@dataclass(frozen=True)
class Weights:
    """Weights of the three distillation signals and the clip of the recovery one.

    `delta` bounds the recovery advantage before its weight (nats); prevention is not
    clipped (Eq. 5).
    """

    w_prev: float = 0.001
    w_rec: float = 1.0
    w_traj: float = 0.0
    delta: float = 5.0

    def __post_init__(self) -> None:
        """
        Raises:
            ValueError: a weight is negative, or delta is not positive.
        """
        for name in ("w_prev", "w_rec", "w_traj"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name}={getattr(self, name)} must be >= 0")
        if self.delta <= 0:
            raise ValueError(f"delta={self.delta} must be > 0")


def distill_advantage(
    hinted: Float[Tensor, "rows time"], plain: Float[Tensor, "rows time"]
) -> Float[Tensor, "rows time"]:
    """A_distill: how much likelier the hint makes each token (Eq. 4).

    Args:
        hinted: log-probs of the recorded tokens under the frozen student with the hint.
        plain: the same tokens and student without it.

    Returns:
        Their difference, without gradient: both belong to the frozen student.
    """
    return (hinted - plain).detach()


def token_advantages(
    group: Float[Tensor, "rows"],
    distill: Float[Tensor, "rows time"],
    pivotal: Bool[Tensor, "rows"],
    recovery: Bool[Tensor, "rows"],
    weights: Weights,
    lesson: Float[Tensor, "rows time"] | None = None,
) -> Float[Tensor, "rows time"]:
    """One advantage per token of every training sequence (Eqs. 5 and 6).

    Args:
        group: A_RL of the trajectory each row belongs to; ignored on recovery rows.
        distill: A_distill; read on pivotal and recovery rows only.
        pivotal: rows whose turn was found to be a mistake.
        recovery: rows written by the hinted student after a mistake.
        weights: of the signals.
        lesson: A_distill with the trajectory lesson in the prompt, for rollout rows.

    Returns:
        Recovery rows: w_rec clip(A_distill, +-delta) and nothing else. Other rows:
        A_RL, plus w_prev A_distill (not clipped) where pivotal, plus w_traj times the
        lesson.

    Raises:
        ValueError: a row is marked both pivotal and recovery.
    """
    if bool((pivotal & recovery).any()):
        raise ValueError("a training row is either a rollout turn or a recovery turn")
    repaired = weights.w_rec * distill.clamp(-weights.delta, weights.delta)
    prevented = torch.where(pivotal[:, None], weights.w_prev * distill, 0.0)
    rolled = group[:, None] + prevented
    if lesson is not None:
        rolled = rolled + weights.w_traj * lesson
    return torch.where(recovery[:, None], repaired, rolled)


def clipped_surrogate(
    log_probs: Float[Tensor, "rows time"],
    old_log_probs: Float[Tensor, "rows time"],
    advantages: Float[Tensor, "rows time"],
    mask: Float[Tensor, "rows time"],
    epsilon: float,
) -> Float[Tensor, ""]:
    """The clipped loss with one token mean over all rows of the step (Eq. 7).

    Args:
        log_probs: of the response tokens under the policy being trained, with gradient.
        old_log_probs: under the student frozen at the step's start, unhinted.
        advantages: one per token, from `token_advantages`.
        mask: 1 on response tokens.
        epsilon: clip of the ratio.
    """
    ratio = (log_probs - old_log_probs.detach()).exp()
    clipped = ratio.clamp(1 - epsilon, 1 + epsilon)
    surrogate = torch.minimum(ratio * advantages, clipped * advantages)
    return -(surrogate * mask).sum() / mask.sum()


def divergence(
    student: Float[Tensor, "rows time vocab"],
    teacher: Float[Tensor, "rows time vocab"],
    direction: Direction,
    top_k: int | None = None,
) -> Float[Tensor, "rows time"]:
    """KL between hinted teacher and student at every position, in nats.

    Args:
        student: log-probabilities with gradient, unhinted context.
        teacher: log-probabilities of the hinted frozen student; no gradient flows here.
        direction: "reverse" = KL(student || teacher), the prevention term (Eq. 1);
            "forward" = KL(teacher || student), the recovery term (Eq. 2).
        top_k: keep the teacher's k likeliest tokens and one bucket for all others;
            None uses the whole vocabulary. Bucketing never raises a divergence.

    Raises:
        ValueError: unknown direction, or top_k outside 1..vocabulary - 1.
    """
    if direction not in ("forward", "reverse"):
        raise ValueError(f"direction {direction!r} must be 'forward' or 'reverse'")
    teacher = teacher.detach()
    if top_k is not None:
        vocabulary = teacher.shape[-1]
        if not 1 <= top_k < vocabulary:
            raise ValueError(f"top_k={top_k} must lie in 1..{vocabulary - 1}")
        kept = teacher.topk(top_k, dim=-1).indices
        student, teacher = _bucket(student, kept), _bucket(teacher, kept)
    p, q = (teacher, student) if direction == "forward" else (student, teacher)
    return (p.exp() * (p - q)).sum(-1)


def sampled_divergence(
    student: Float[Tensor, "rows time"],
    teacher: Float[Tensor, "rows time"],
    direction: Direction,
) -> Float[Tensor, "rows time"]:
    """Surrogate whose gradient estimates that of `divergence` from the given tokens.

    For "reverse" the tokens come from the student and each weighs its log-prob with
    stopgrad(log student - log teacher): the score-function gradient of
    KL(student || teacher). For "forward" they come from the hinted teacher and the
    surrogate is the negative log-likelihood. The value itself is not a divergence.
    """
    if direction == "reverse":
        return (student - teacher).detach() * student
    return -student


def _bucket(
    log_probs: Float[Tensor, "rows time vocab"], kept: Tensor
) -> Float[Tensor, "rows time buckets"]:
    """Log-probs of `kept` tokens and of everything else together."""
    inside = log_probs.gather(-1, kept)
    mass = inside.logsumexp(-1, keepdim=True).clamp(max=-1e-7)
    return torch.cat([inside, torch.log(-torch.expm1(mass))], dim=-1)
