"""Going back into finished episodes without paying for their tokens again.

A finished episode leaves its keys and values behind. Another prompt that begins like
the episode (the same turns with a hint at the end, or the state after a mistake) starts
from a copy of what both share and runs only what differs.
"""

from __future__ import annotations

from collections.abc import Sequence

from pivotlab.engines.decoder import KVCache
from pivotlab.rollouts.players import CachedPlayer, common_prefix


class RememberingPlayer(CachedPlayer):
    """Plays like `CachedPlayer` and keeps the caches of the episodes it has finished.

    Episodes are known by the number `play` gives them, so all episodes that are to be
    remembered together have to be played in one batch.
    """

    def __init__(self, model):
        super().__init__(model)
        self._finished: dict[int, tuple[KVCache, int, list[int]]] = {}

    def forget(self, episodes: Sequence[int]) -> None:
        """The episodes are over; their caches move to the memory."""
        held = [e for e in episodes if e in self._row]
        if held:
            kept = self._cache.select([self._row[e] for e in held])
            for place, episode in enumerate(held):
                self._finished[episode] = (kept, place, self._held[episode])
        super().forget(episodes)

    def branch(
        self, episodes: Sequence[int], prompts: Sequence[Sequence[int]]
    ) -> tuple[KVCache, list[int]]:
        """A fresh cache with a row per prompt, filled as far as its episode agrees.

        Args:
            episodes: the episode each prompt branches off from; one that was never
                played gives an empty row.
            prompts: whole prompts, at least one token each.

        Returns:
            The cache, and per prompt how many of its tokens are in it (always fewer
            than it has, so that something is left to run).
        """
        kept = [
            common_prefix(self._finished[e][2], list(p)[:-1])
            if e in self._finished
            else 0
            for e, p in zip(episodes, prompts, strict=True)
        ]
        sources: dict[int, list[int]] = {}
        for row, episode in enumerate(episodes):
            if kept[row]:
                sources.setdefault(id(self._finished[episode][0]), []).append(row)
        empty = [row for row, length in enumerate(kept) if not length]
        parts = [self.decoder.cache(len(empty))] if empty else []
        for rows in sources.values():
            cache = self._finished[episodes[rows[0]]][0]
            places = [self._finished[episodes[row]][1] for row in rows]
            parts.append(cache.select(places, [kept[row] for row in rows]))
        order = [*empty, *(row for rows in sources.values() for row in rows)]
        return _in_order(parts, order), kept


def _in_order(parts: list[KVCache], order: list[int]) -> KVCache:
    """One cache of all parts, its rows put where `order` says they belong."""
    whole = parts[0]
    for part in parts[1:]:
        whole = whole.join(part)
    if order == sorted(order):
        return whole
    return whole.select(sorted(range(len(order)), key=order.__getitem__))
