"""Ratios against a stock peer, measured so that a reader can believe them.

Ours and the peer do the same work in the same process, in turns: ours first in one
repeat, the peer first in the next, so that a machine that slows down slows both. Both
run once before to warm up. A figure is the median over repeats; the ratio is that of
the medians and above 1 where ours is better.

Peak memory is what a call needed above what was held before it: weights and optimizer
state, equal on both sides, are left out. On a GPU it is the allocator's count, else the
process's resident memory, which Linux can reset between calls; elsewhere it is empty.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import gc
import json
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import torch
from tqdm.auto import tqdm

from pivotlab.experiments.record_tables import merge_records
from pivotlab.whole_files import write_text

#: Columns that identify a row of each table.
KEYS = {
    "benchmarks": ("measure", "setting", "peer_name"),
    "profiling_growth": ("model", "factor", "value"),
    "adaptive": ("k_max", "first", "step", "error"),
}
Rows = list[dict[str, Any]]


@dataclass
class Usage:
    """Seconds and peak memory (MB above the start, None where unknown) of one call."""

    seconds: int | float = 0.0
    peak_mb: float | None = None


#: A piece of work that measures itself.
Work = Callable[[], Usage]


@contextmanager
def metered() -> Iterator[Usage]:
    """Measure the block; the figures are there when it has ended."""
    usage = Usage()
    gc.collect()
    before = _memory_reset()
    _synchronize()
    start = time.perf_counter()
    yield usage
    _synchronize()
    usage.seconds = time.perf_counter() - start
    after = _memory_peak()
    if before is not None and after is not None:
        usage.peak_mb = max(0.0, after - before)


def work(function: Callable[[], Any]) -> Work:
    """`function` as a piece of work that measures itself."""

    def measured() -> Usage:
        with metered() as usage:
            function()
        return usage

    return measured


@dataclass
class Pair:
    """Repeats of ours and of the peer."""

    ours: list[Usage] = field(default_factory=list)
    peer: list[Usage] = field(default_factory=list)

    def seconds(self) -> tuple[int | float, int | float]:
        """Median seconds of ours and of the peer."""
        return (
            median(u.seconds for u in self.ours),
            median(u.seconds for u in self.peer),
        )

    def peaks(self) -> tuple[float | None, float | None]:
        """Median peak memory of ours and of the peer, MB."""
        return _median_peak(self.ours), _median_peak(self.peer)


def interleaved(ours: Work, peer: Work, repeats: int, label: str = "") -> Pair:
    """Run both in turns, after one run each that is not counted.

    Raises:
        ValueError: no repeats.
    """
    if repeats < 1:
        raise ValueError(f"repeats={repeats} must be at least 1")
    pair = Pair()
    ours(), peer()
    for repeat in tqdm(range(repeats), desc=label, leave=False):
        for which in (("ours", "peer"), ("peer", "ours"))[repeat % 2]:
            getattr(pair, which).append({"ours": ours, "peer": peer}[which]())
    return pair


def row(
    measure: str,
    setting: str,
    pair: Pair,
    peer_name: str,
    unit: str = "s",
    amounts: tuple[int | float, int | float] | None = None,
) -> dict[str, Any]:
    """A row of `benchmarks.csv`.

    Args:
        measure: what was done.
        setting: with what: model, sizes.
        pair: the repeats.
        peer_name: what ours is compared with.
        unit: of both figures.
        amounts: work of one call of ours and of the peer, where the figures are a rate
            (amount per second) instead of seconds.
    """
    ours, peer = pair.seconds()
    ratio = peer / ours
    if amounts is not None:
        ours, peer = amounts[0] / ours, amounts[1] / peer
        ratio = ours / peer
    peaks = pair.peaks()
    return {
        "measure": measure,
        "setting": setting,
        "ours": float(f"{ours:.5g}"),
        "peer": float(f"{peer:.5g}"),
        "peer_name": peer_name,
        "ratio": round(ratio, 3),
        "repeats": len(pair.ours),
        "unit": unit,
        "peak_mb_ours": _rounded(peaks[0]),
        "peak_mb_peer": _rounded(peaks[1]),
    }


@dataclass
class Ledger:
    """Measures done so far, one file each, so that a killed benchmark goes on.

    Attributes:
        folder: of the run.
        records: where the rows are merged as soon as a measure is done.
        settings: what the measures depend on; other settings measure again.
    """

    folder: Path
    records: Path
    settings: Mapping[str, Any]

    def measure(self, table: str, name: str, function: Callable[[], Rows]) -> Rows:
        """Rows of a measure, kept and merged into a record table of `KEYS`.

        Raises:
            KeyError: no such table.
        """
        keys = KEYS[table]
        rows = self.keep(name, function)
        merge_records(table, rows, keys, self.records)
        return rows

    def keep(self, name: str, function: Callable[[], Any]) -> Any:
        """A JSON value: from its file, or computed now and kept."""
        path = self.folder / "measures" / (re.sub(r"[^\w.=-]+", "_", name) + ".json")
        wanted = json.loads(json.dumps(dict(self.settings)))
        if path.exists():
            held = json.loads(path.read_text())
            if held["settings"] == wanted:
                return held["value"]
        value = function()
        write_text(path, json.dumps({"settings": wanted, "value": value}, indent=1))
        return value


def random_ids(vocabulary: int, length: int, seed: int = 0) -> list[int]:
    """Token ids drawn evenly: no prefix is shared by accident."""
    draw = torch.Generator().manual_seed(seed)
    return torch.randint(vocabulary, (length,), generator=draw).tolist()


def setting(**facts: Any) -> str:
    """`name=value` pairs in one line."""
    return " ".join(f"{name}={value}" for name, value in facts.items())


def _memory_reset() -> float | None:
    """Memory held now in MB, with the peak set back to it; None where unknown."""
    if torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats()
        return torch.cuda.memory_allocated() / 2**20
    status, reset = Path("/proc/self/status"), Path("/proc/self/clear_refs")
    library = ctypes.util.find_library("c")
    if not status.exists() or library is None:
        return None
    # Freed pages go back first: else they would hide what the next call allocates.
    getattr(ctypes.CDLL(library), "malloc_trim", lambda _: 0)(0)
    try:
        reset.write_text("5")
    except OSError:
        return None
    return _status_mb("VmRSS")


def _memory_peak() -> float | None:
    if torch.cuda.is_available():
        return torch.cuda.max_memory_allocated() / 2**20
    return _status_mb("VmHWM") if Path("/proc/self/status").exists() else None


def _status_mb(name: str) -> float:
    text = Path("/proc/self/status").read_text()
    return int(re.search(rf"{name}:\s+(\d+) kB", text)[1]) / 1024


def _synchronize() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def _median_peak(usages: Sequence[Usage]) -> float | None:
    peaks = [u.peak_mb for u in usages if u.peak_mb is not None]
    return median(peaks) if peaks else None


def _rounded(value: float | None) -> float | str:
    return "" if value is None else round(value, 1)
