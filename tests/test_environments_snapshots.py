"""An environment whose state is one value goes back to it and to nothing else."""

import pytest

from pivotlab.environments.snapshots import StateSnapshots


class Counter(StateSnapshots):
    kind, state_type, state = "a counter", int, 0

    def _enter(self, state):
        super()._enter(state)
        self.even = state % 2 == 0


def test_the_snapshot_is_the_state_and_restoring_derives_the_rest():
    counter = Counter()
    assert counter.snapshot() == 0
    counter.restore(3)
    assert counter.snapshot() == counter.state == 3 and not counter.even


def test_a_value_of_another_type_is_named():
    with pytest.raises(TypeError, match="not a snapshot of a counter: 'x'"):
        Counter().restore("x")
