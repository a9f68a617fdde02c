"""This repository's own records, read for figures: absent tables are empty ones.

A table that exists must have the columns that figures read; every number comes back as
a number. What these records mean is said where they are written.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from pivotlab import paths
from pivotlab.experiments.record_tables import read_records

_ARM = ("arm", "seed", "steps")
#: Table -> columns that figures read.
REQUIRED: dict[str, tuple[str, ...]] = {
    "pivotrl_arms": (*_ARM, "split", "decoding", "task_type", "n", "success"),
    "pivotrl_retention": (
        *_ARM,
        "decoding",
        "skill",
        "shares_game_tokens",
        "n",
        "accuracy",
    ),
    "pivotrl_training": (*_ARM, "reward_std", "frac_reward_zero_std"),
    "pivotopd_arms": (*_ARM, "split", "decoding", "task_type", "n", "success"),
    "recovery_replay": (
        *_ARM,
        *("mistakes", "repeats", "rate", "lo", "hi"),
        *("better", "worse", "same", "p_gold", "p_mistake"),
    ),
    "recovery_curve": ("arm", "seed", "turns", "recovered"),
    "counterfactual": ("model", "intervention", "trajectories", "success", "lo", "hi"),
    "agreement": (
        "teacher",
        "student",
        "trajectories",
        "accuracy",
        "accuracy_lo",
        "accuracy_hi",
        "random",
        "random_lo",
        "random_hi",
    ),
    "overhead": ("k", "steps", "seconds_grpo", "seconds", "ratio", "teacher_seconds"),
    "e2e_vs_pivot": (
        "method",
        "seed",
        "steps",
        "decoding",
        "n",
        "success",
        "rollout_turns",
    ),
    "methods": ("environment", "method", "seed", "steps", "n", "success"),
    "zero_signal": ("model", "k", "n", "zero_share", "lo", "hi"),
}
_TEXT = frozenset(
    {"arm", "split", "decoding", "task_type", "skill", "shares_game_tokens", "model"}
    | {"intervention", "teacher", "student", "method", "environment"}
)


class OwnRecords:
    """The record tables of a folder; each is read once."""

    def __init__(self, folder: Path | None = None):
        """
        Args:
            folder: default `paths.RESULTS`, what is committed.
        """
        self.folder = folder or paths.RESULTS
        self._read: dict[str, pd.DataFrame] = {}

    def table(self, name: str) -> pd.DataFrame:
        """The columns of `REQUIRED` of one table, empty if the table is absent.

        Raises:
            KeyError: figures read no such table.
            ValueError: columns are missing, or a number is none.
        """
        if name not in self._read:
            self._read[name] = self._load(name, REQUIRED[name])
        return self._read[name]

    def _load(self, name: str, columns: tuple[str, ...]) -> pd.DataFrame:
        path = self.folder / f"{name}.csv"
        if not path.exists():
            return pd.DataFrame({c: pd.Series(dtype=_dtype(c)) for c in columns})
        table = read_records(name, self.folder)
        missing = [c for c in columns if c not in table.columns]
        if missing:
            raise ValueError(f"{path} lacks the columns {', '.join(missing)}")
        table = table[list(columns)].copy()
        for column in columns:
            if column not in _TEXT:
                table[column] = _numbers(path, table[column])
        return table


def _dtype(column: str) -> str:
    return "str" if column in _TEXT else "float"


def _numbers(path: Path, column: pd.Series) -> pd.Series:
    """Empty cells stay unknown; anything else must be a number."""
    numbers = pd.to_numeric(column.replace("", None), errors="coerce")
    wrong = column[numbers.isna() & (column != "")]
    if len(wrong):
        raise ValueError(
            f"{path}:{wrong.index[0] + 2}: {column.name}={wrong.iloc[0]!r} is no number"
        )
    return numbers.astype(float)
