"""Counter-based noise: a sampled token depends on (seed, sample, step) and its logits.

A stateful generator would tie sample j to whatever was drawn before it, hence to the
batch it happened to share. Here every uniform is a hash of its own coordinates: three
rounds of the splitmix64 output function (Steele, Lea and Flood, 2014), one for each
coordinate. One uniform picks a token by inverting the cumulative distribution, so that
a vocabulary of any size costs one random number.

Rounding is what is left of the batch: logits of the same prompt in another batch differ
in the last bits, which moves a pick only if the uniform falls within that distance of a
boundary (about one token in 10^6 in float32).
"""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import ArrayLike
from torch import Tensor

#: numpy hands back a scalar for scalar arguments.
Numbers = np.ndarray | np.generic

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MASK = (1 << 64) - 1


def splitmix64(state: int | ArrayLike) -> Numbers:
    """Output function of splitmix64 at `state` (uint64 arrays, wrapping arithmetic)."""
    z = np.asarray(state, dtype=np.uint64)
    with np.errstate(over="ignore"):
        z = z + _GOLDEN
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def uniform(
    seed: int | ArrayLike, sample: int | ArrayLike, step: int | ArrayLike
) -> Numbers:
    """Uniforms in the open interval (0, 1), float64, of the broadcast shape.

    Args:
        seed: any integers; taken modulo 2^64.
        sample: index j of the sample within its prompt, >= 0.
        step: index of the token within its sample, >= 0.
    """
    bits = splitmix64(_uint64(seed))
    bits = splitmix64(bits ^ _uint64(sample))
    bits = splitmix64(bits ^ _uint64(step))
    return ((bits >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53


def derive_seed(seed: int, *path: int) -> int:
    """A child seed for a labelled part of a run: `derive_seed(seed, arm, episode)`."""
    bits = splitmix64(_uint64(seed))
    for label in path:
        bits = splitmix64(bits ^ _uint64(label))
    return int(bits >> np.uint64(1))


def draw(
    logits: Float[Tensor, "rows vocab"],
    temperature: float,
    uniforms: ArrayLike | None = None,
) -> tuple[Int[Tensor, "rows"], Float[Tensor, "rows"]]:
    """One token a row, and its log-probability.

    Args:
        logits: unscaled.
        temperature: 0 takes the most likely token (log-probability at temperature 1).
        uniforms: one number in (0, 1) a row; not read at temperature 0.

    Returns:
        Token ids and their natural log-probabilities at `temperature`.
    """
    scaled = logits.float() if temperature == 0 else logits.float() / temperature
    log_probs = scaled.log_softmax(-1)
    if temperature == 0:
        tokens = scaled.argmax(-1)
    else:
        tokens = _invert(log_probs.exp(), uniforms)
    return tokens, log_probs.gather(-1, tokens[:, None])[:, 0]


def _invert(
    probs: Float[Tensor, "rows vocab"], uniforms: ArrayLike
) -> Int[Tensor, "rows"]:
    """First token whose cumulative probability exceeds the uniform."""
    cumulative = probs.cumsum(-1, dtype=torch.float64)
    targets = torch.as_tensor(
        np.asarray(uniforms), dtype=torch.float64, device=probs.device
    )
    scaled = targets[:, None] * cumulative[:, -1:]
    return torch.searchsorted(cumulative, scaled, right=True)[:, 0].clamp_(
        max=probs.shape[-1] - 1
    )


def _uint64(value: int | ArrayLike) -> Numbers:
    if isinstance(value, (int, np.integer)):
        return np.uint64(int(value) & _MASK)
    array = np.asarray(value)
    return (
        array if array.dtype == np.uint64 else array.astype(np.int64).astype(np.uint64)
    )
