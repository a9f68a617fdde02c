"""Muon in float32: momentum whose matrix updates are orthogonalised.

torch's own Muon computes in bfloat16, which a CPU without native support runs fifty
times slower. Reference: Jordan et al. 2024 (Muon), quintic Newton-Schulz iteration.

Departures: (1) float32 throughout; (2) the update is scaled by
0.2 sqrt(max(rows, columns)), so that its size per element is that of AdamW and one
learning rate serves matrices of every shape.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch
from jaxtyping import Float
from torch import Tensor
from torch.optim import Optimizer

#: Coefficients of the quintic a x + b x^3 + c x^5 that drives singular values to 1.
QUINTIC = (3.4445, -4.7750, 2.0315)


def orthogonalise(
    matrix: Float[Tensor, "rows columns"], steps: int = 5
) -> Float[Tensor, "rows columns"]:
    """The matrix with all singular values moved to about 1 (0.7 to 1.2).

    Example: a positive multiple of a rotation comes back close to the rotation.
    """
    a, b, c = QUINTIC
    x = matrix / (matrix.norm() + 1e-7)
    tall = x.size(0) > x.size(1)
    x = x.T if tall else x
    for _ in range(steps):
        gram = x @ x.T
        x = a * x + (b * gram + c * gram @ gram) @ x
    return x.T if tall else x


class Muon(Optimizer):
    """Nesterov momentum, orthogonalised, for two-dimensional weights."""

    def __init__(self, params: Iterable[Tensor], lr: float, momentum: float = 0.95):
        super().__init__(params, {"lr": lr, "momentum": momentum})

    @torch.no_grad()
    def step(self, closure=None) -> None:
        """Apply one update to every parameter that has a gradient."""
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                velocity = state.setdefault("velocity", torch.zeros_like(p))
                velocity.lerp_(p.grad, 1 - group["momentum"])
                ahead = p.grad.lerp(velocity, group["momentum"])
                scale = 0.2 * max(p.shape) ** 0.5
                p.add_(orthogonalise(ahead), alpha=-group["lr"] * scale)
