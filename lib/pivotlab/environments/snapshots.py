"""Snapshots of an environment whose whole state is one hashable value."""

from __future__ import annotations

from collections.abc import Hashable


class StateSnapshots:
    """Half an environment: its snapshot is its `state`.

    A class says what it is in `kind` and of which type its states are in `state_type`;
    one that derives more from the state does so in `_enter`.
    """

    kind: str
    state_type: type
    state: Hashable

    def snapshot(self) -> Hashable:
        """The state; it belongs to the current task."""
        return self.state

    def restore(self, snapshot: Hashable) -> None:
        """Go back to a snapshot of the current task.

        Raises:
            TypeError: the value is no snapshot of this environment.
        """
        if not isinstance(snapshot, self.state_type):
            raise TypeError(f"not a snapshot of {self.kind}: {snapshot!r}")
        self._enter(snapshot)

    def _enter(self, state: Hashable) -> None:
        self.state = state
