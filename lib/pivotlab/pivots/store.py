"""Samples on disk: what was generated once is never generated again.

A generation key (weights, template, sampling parameters, seed) names a folder; inside,
rows are keyed by turn uid, prompt and sample index. The verifier is in no key, so other
verdicts on the same samples cost no token. Every batch becomes one parquet file that
appears complete or not at all: a kill at any moment loses at most the batch in flight,
and the same batch run again replaces the same file.

A failed sample (`Sample.failure`) is a record like any other and stays among the K.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch

from pivotlab.engines.protocol import Sample, Sampling
from pivotlab.whole_files import replacing

#: uid of a candidate and digest of its prompt's token ids.
TurnKey = tuple[str, str]
Part = dict[tuple[TurnKey, int], Sample]

#: Files kept decoded in memory.
OPEN_PARTS = 8
SCHEMA = pa.schema(
    [
        ("uid", pa.string()),
        ("prompt", pa.string()),
        ("sample", pa.int32()),
        ("token_ids", pa.list_(pa.int32())),
        ("truncated", pa.bool_()),
        ("failure", pa.string()),
        ("log_probs", pa.list_(pa.float32())),
    ]
)


class ProfileStore:
    """A folder with one subfolder per generation key."""

    def __init__(self, root: Path, model: str):
        """
        Args:
            root: created if missing; may hold samples of other models and settings.
            model: names the weights exactly, e.g. `weights_digest(model)`.
        """
        self.root, self.model = Path(root), model

    def open(
        self, template: dict[str, Any], sampling: Sampling, seed: int
    ) -> SampleTable:
        """The samples of one generation key; see `generation_key`.

        Raises:
            ValueError: a file in the folder can't be read.
        """
        key = generation_key(self.model, template, sampling, seed)
        folder = self.root / digest(key)
        folder.mkdir(parents=True, exist_ok=True)
        write_atomically(folder / "key.json", json.dumps(key, indent=1).encode())
        return SampleTable(folder)


class SampleTable:
    """Samples by turn and index; in memory only if `folder` is None."""

    def __init__(self, folder: Path | None = None):
        """
        Raises:
            ValueError: a file in the folder can't be read.
        """
        self.folder = folder
        self._place: dict[TurnKey, list[str | None]] = {}
        self._parts: OrderedDict[str, Part] = OrderedDict()
        for path in sorted(folder.glob("part-*.parquet")) if folder else ():
            rows = _read(path, ["uid", "prompt", "sample"]).to_pydict()
            for uid, prompt, sample in zip(*rows.values(), strict=True):
                self._register((uid, prompt), sample, path.name)

    def count(self, turn: TurnKey) -> int:
        """Samples of a turn from index 0 on without a gap."""
        names = self._place.get(turn, [])
        return names.index(None) if None in names else len(names)

    def samples(self, turn: TurnKey, k: int) -> list[Sample]:
        """Samples 0 to k - 1 of a turn.

        Raises:
            KeyError: fewer are stored.
        """
        if self.count(turn) < k:
            raise KeyError(f"{turn[0]} has {self.count(turn)} samples, not {k}")
        names = self._place[turn][:k]
        return [self._part(name)[turn, j] for j, name in enumerate(names)]

    def add(
        self, turns: Sequence[TurnKey], first: int, drawn: Sequence[Sequence[Sample]]
    ) -> None:
        """Store samples `first`, `first + 1`, ... of some turns, all at once."""
        part = {
            (turn, first + j): sample
            for turn, samples in zip(turns, drawn, strict=True)
            for j, sample in enumerate(samples)
        }
        name = f"part-{digest([(turn, j) for turn, j in part])}.parquet"
        if self.folder is not None:
            _write(self.folder / name, part)
        self._remember(name, part)
        for turn, sample in part:
            self._register(turn, sample, name)

    def _register(self, turn: TurnKey, sample: int, name: str) -> None:
        names = self._place.setdefault(turn, [])
        names += [None] * (sample + 1 - len(names))
        names[sample] = names[sample] or name

    def _part(self, name: str) -> Part:
        if name not in self._parts:
            table = _read(self.folder / name, SCHEMA.names)
            rows = table.to_pylist()
            self._remember(name, dict(_decode(row) for row in rows))
        self._parts.move_to_end(name)
        return self._parts[name]

    def _remember(self, name: str, part: Part) -> None:
        self._parts[name] = part
        while self.folder is not None and len(self._parts) > OPEN_PARTS:
            self._parts.popitem(last=False)


def generation_key(
    model: str, template: dict[str, Any], sampling: Sampling, seed: int
) -> dict[str, Any]:
    """Everything that decides what a sample is, and nothing that judges it."""
    drawn = {k: v for k, v in asdict(sampling).items() if k != "first_sample"}
    return {"model": model, "template": template, "sampling": drawn, "seed": seed}


def turn_key(uid: str, prompt: Sequence[int]) -> TurnKey:
    """Key of a turn: a changed prompt under an old uid is another turn."""
    ids = np.asarray(prompt, dtype=np.int64).tobytes()
    return uid, hashlib.blake2b(ids, digest_size=8).hexdigest()


def weights_digest(model: torch.nn.Module) -> str:
    """Hash of all parameters and buffers with their names."""
    state = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        state.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        plain = tensor.detach().cpu().contiguous().flatten().view(torch.uint8)
        state.update(plain.numpy().data)
    return state.hexdigest()[:16]


def digest(value: Any) -> str:
    """Short hash of a JSON value."""
    text = json.dumps(value, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def write_atomically(path: Path, data: bytes) -> None:
    """The file has its old content or the new one, whenever the process dies."""
    with replacing(path) as part, open(part, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _write(path: Path, part: Part) -> None:
    rows = [
        {
            "uid": turn[0],
            "prompt": turn[1],
            "sample": j,
            "token_ids": sample.token_ids,
            "truncated": sample.truncated,
            "failure": sample.failure,
            "log_probs": sample.log_probs,
        }
        for (turn, j), sample in part.items()
    ]
    buffer = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(rows, SCHEMA), buffer, compression="zstd")
    write_atomically(path, buffer.getvalue().to_pybytes())


def _read(path: Path, columns: Sequence[str]) -> pa.Table:
    try:
        return pq.read_table(path, columns=list(columns))
    except (OSError, pa.ArrowException) as error:
        raise ValueError(
            f"{path} can't be read ({error}); delete this file and run again: only its "
            "turns are sampled anew"
        ) from error


def _decode(row: dict[str, Any]) -> tuple[tuple[TurnKey, int], Sample]:
    sample = Sample(
        tuple(row["token_ids"]),
        row["truncated"],
        tuple(row["log_probs"]),
        row["failure"],
    )
    return ((row["uid"], row["prompt"]), row["sample"]), sample
