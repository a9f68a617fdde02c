"""What PivotOPD's step costs over GRPO's (Table S.5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pandas as pd

from pivotlab.experiments.cells import TrainingCell
from pivotlab.experiments.opd.comparison import train_arm
from pivotlab.experiments.presets import Preset


def overhead(
    preset: Preset, turns: Sequence[int] = (0, 1, 2), steps: int = 6, seed: int = 0
) -> pd.DataFrame:
    """What PivotOPD's step costs over GRPO's, measured alternately in this process.

    At learning rate 0 every run plays the same episodes, so that a step is compared
    with the same step; a trained policy's episodes would differ from the second step
    on, by more than is asked about. The first step of every run is left out.

    Returns:
        k, steps, seconds_grpo, seconds (medians of a step, teacher calls taken out),
        ratio (median over steps), and teacher_seconds (median of a step, apart).
    """
    still = replace(preset, episode_learning_rate=0.0)

    def measured(arm: str) -> tuple[pd.Series, pd.Series]:
        cell = TrainingCell(arm, seed, steps)
        history = train_arm(cell, still).history.iloc[1:]
        teacher = history.get("seconds/teacher", pd.Series(0.0, history.index))
        return history["step_time"] - teacher, teacher

    rows = []
    for k in turns:
        plain, _ = measured("grpo")
        seconds, teacher = measured(f"K={k}")
        rows.append(
            {"k": k, "steps": steps - 1, "seconds_grpo": plain.median()}
            | {"seconds": seconds.median(), "ratio": (seconds / plain).median()}
            | {"teacher_seconds": teacher.median()}
        )
    return pd.DataFrame(rows)
