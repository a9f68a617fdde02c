"""What all comparisons share: which cells are asked for, and that a finished one stays.

A cell is one arm at one seed. Its folder holds `params.json`, all that its rows depend
on, and, once it is finished, `rows.json`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pivotlab import paths
from pivotlab.experiments.presets import Preset
from pivotlab.whole_files import write_text

#: A notebook parameter of this value leaves the choice to the preset.
PRESET = "preset"
#: The model before training; and arms that train nothing, so that one seed is enough.
BASE = "base"
UNTRAINED = (BASE, "second")


@dataclass(frozen=True)
class TrainingCell:
    """One arm at one seed, trained for `steps`."""

    arm: str
    seed: int
    steps: int

    def folder(self, preset: Preset, comparison: str) -> Path:
        """Where its evaluations and checkpoints lie among the cells of a comparison."""
        name = re.sub(r"[^A-Za-z0-9.=-]+", "_", self.arm)
        return paths.runs() / preset.name / comparison / name / f"seed-{self.seed}"


def listed(
    text: object, known: Callable[[str], Any] | None = None
) -> tuple[str, ...] | None:
    """The words of a comma-separated notebook parameter; None leaves it to the preset.

    Args:
        known: looks a word up and raises where there is no such thing, so that the last
            word is checked before the first one has trained.

    Raises:
        ValueError: there is no word, or `known` does not know one.
    """
    if text == PRESET:
        return None
    words = tuple(w for w in map(str.strip, str(text).split(",")) if w)
    if not words:
        raise ValueError(f"{text!r} names nothing; write names with commas between")
    for word in words if known else ():
        known(word)
    return words


def listed_seeds(text: object) -> tuple[int, ...] | None:
    """As `listed`, for whole numbers.

    Raises:
        ValueError: a word is no whole number.
    """
    words = listed(text)
    wrong = [w for w in words or () if not w.isdecimal()]
    if wrong:
        raise ValueError(f"seeds={text!r}: {wrong[0]!r} is not a whole number")
    return words and tuple(map(int, words))


def planned(arms: Iterable[str], seeds: Collection[int]) -> list[tuple[str, int]]:
    """(arm, seed) of every cell, seed by seed.

    Untrained arms have one cell, at seed 0, whatever seeds are asked for: run seed by
    seed they would count as several measurements and are one.
    """
    arms = list(arms)
    cells = [(a, 0 if a in UNTRAINED else s) for s in seeds for a in arms]
    return list(dict.fromkeys(cells))


def dependences(
    cell: Any, preset: Preset, trains: bool, without: Collection[str] = ()
) -> dict[str, Any]:
    """All that a cell's rows depend on, as JSON; which other cells were asked for does
    not count, nor does a length that is not trained.

    Args:
        cell: a dataclass with `steps`.
        preset: its fields, overridden by the cell's.
        trains: whether the length counts.
        without: further fields of the preset that the rows do not depend on.
    """
    wanted = {**asdict(preset), **asdict(cell)}
    for name in ("seeds", "about", *without, *(() if trains else ("steps",))):
        del wanted[name]
    return json.loads(json.dumps(wanted))


def kept(folder: Path, wanted: dict[str, Any], make: Callable[[], Any]) -> Any:
    """What `make` returns, as JSON, or what an earlier call left in the folder.

    Raises:
        ValueError: the folder holds a run with other settings.
    """
    asked, done = folder / "params.json", folder / "rows.json"
    before = json.loads(asked.read_text()) if asked.exists() else wanted
    if before != wanted:
        raise ValueError(
            f"{folder} holds a run with other settings ({_changes(before, wanted)}); "
            "delete it, or let PIVOTLAB_HOME name another folder for runs"
        )
    if not done.exists():
        write_text(asked, json.dumps(wanted, indent=2))
        write_text(done, json.dumps(make()))
    return json.loads(done.read_text())


def _changes(before: dict[str, Any], wanted: dict[str, Any]) -> str:
    names = sorted(k for k in before | wanted if before.get(k) != wanted.get(k))
    return "; ".join(
        f"{name} was {before.get(name)}, now {wanted.get(name)}" for name in names
    )
