"""The cost of PivotOPD's step over GRPO's, by hand."""

from types import SimpleNamespace

import pandas as pd

from pivotlab.experiments.opd import overhead
from pivotlab.experiments.presets import from_params


def test_overhead_compares_equal_steps_with_the_teacher_taken_out(monkeypatch):
    """By hand: steps of (2, 4, 10) s against (3, 6, 13) with 1 s of teacher each."""
    preset, asked = from_params("smoke"), []

    def train(cell, settings):
        asked.append((cell.arm, settings.episode_learning_rate))
        own = {"step_time": [9.0, 2.0, 4.0, 10.0]}
        if cell.arm != "grpo":
            own = {"step_time": [99.0, 4.0, 7.0, 14.0], "seconds/teacher": [1.0] * 4}
        return SimpleNamespace(history=pd.DataFrame(own))

    monkeypatch.setattr(overhead, "train_arm", train)
    (row,) = overhead.overhead(preset, turns=(2,), steps=4).to_dict("records")
    assert asked == [("grpo", 0.0), ("K=2", 0.0)], "no run leaves the others' episodes"
    assert (row["k"], row["steps"], row["teacher_seconds"]) == (2, 3, 1.0)
    assert (row["seconds_grpo"], row["seconds"]) == (4.0, 6.0)
    assert row["ratio"] == 1.5, "the median of 1.5, 1.5 and 1.3"
