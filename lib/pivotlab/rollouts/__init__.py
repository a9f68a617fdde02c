"""Multi-turn episodes in batches: ids, masks, log-probs, turn spans, snapshots."""

from pivotlab.rollouts.episodes import Settings, Start, play, resume
from pivotlab.rollouts.players import CachedPlayer, Player, SamplerPlayer

__all__ = [
    "CachedPlayer",
    "Player",
    "SamplerPlayer",
    "Settings",
    "Start",
    "play",
    "resume",
]
