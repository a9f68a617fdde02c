"""A record is a row of a tidy table, merged by key and written whole."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from pivotlab import paths
from pivotlab.whole_files import locked, write_text


def merge_records(
    name: str,
    rows: Sequence[Mapping[str, Any]] | pd.DataFrame,
    keys: Sequence[str],
    folder: Path | None = None,
) -> Path:
    """Upsert rows into the table `<name>.csv`: a row replaces the one with equal keys.

    Rows are sorted by `keys` (numbers as numbers), untouched rows keep their text, and
    concurrent writers take turns.

    Args:
        keys: columns that identify a measurement, e.g. arm, seed, split.
        folder: default `paths.results()`.

    Raises:
        ValueError: a key column is missing, or two new rows have equal keys.
    """
    new = _as_text(pd.DataFrame(rows))
    missing = [key for key in keys if key not in new.columns]
    if missing:
        raise ValueError(f"{name}: rows lack the key columns {', '.join(missing)}")
    twice = new[new.duplicated(list(keys))]
    if len(twice):
        shown = ", ".join(f"{k}={twice.iloc[0][k]}" for k in keys)
        raise ValueError(f"{name}: {len(twice)} repeated keys, first: {shown}")
    path = (folder or paths.results()) / f"{name}.csv"
    with locked(path):
        old = read_records(name, folder) if path.exists() else new.iloc[:0]
        merged = pd.concat([old, new], ignore_index=True).fillna("")
        merged = merged.drop_duplicates(list(keys), keep="last")
        merged = merged.sort_values(list(keys), key=_number_or_text, kind="stable")
        write_text(path, merged.to_csv(index=False, lineterminator="\n"))
    return path


def merge_tables(
    parts: Iterable[Mapping[str, Sequence[Mapping[str, Any]]]],
    keys: Mapping[str, Sequence[str]],
    folder: Path | None = None,
) -> None:
    """Merge the rows of several cells, table by table; see `merge_records`.

    Args:
        parts: each a table's name -> its rows.
        keys: columns that identify a row of each table.
    """
    gathered: dict[str, list[Mapping[str, Any]]] = {name: [] for name in keys}
    for part in parts:
        for name, rows in part.items():
            gathered[name] += rows
    for name, rows in gathered.items():
        if rows:
            merge_records(name, rows, keys[name], folder)


def read_records(name: str, folder: Path | None = None) -> pd.DataFrame:
    """The table `<name>.csv` as text, cell for cell; convert columns as you need them.

    Raises:
        FileNotFoundError: there is no such table; the message lists those that exist.
    """
    place = folder or paths.results()
    path = place / f"{name}.csv"
    if not path.exists():
        there = ", ".join(sorted(p.stem for p in place.glob("*.csv"))) or "none"
        raise FileNotFoundError(f"no records {name!r} in {place}; there are: {there}")
    return pd.read_csv(path, dtype=str, keep_default_na=False)


def rows_to_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """CSV text of rows whose columns are the union, in order of first appearance."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _as_text(table: pd.DataFrame) -> pd.DataFrame:
    text = table.to_csv(index=False, float_format="%.10g")
    return pd.read_csv(io.StringIO(text), dtype=str, keep_default_na=False)


def _number_or_text(column: pd.Series) -> pd.Series:
    numbers = pd.to_numeric(column, errors="coerce")
    return column if numbers.isna().any() else numbers
