"""Numbers that the two papers print, kept apart from every number of our own.

`data/reported/*.csv` has one row a printed number: paper, table, row, column, value (as
printed, minus sign and digits only), provenance, note, source_line. The provenance says
who was read: `paper` is the paper's own text, `article` and `third-party` are accounts
of it. A point that the sources show as an image only has an empty value and a note.
`source_line` names the file and line of the collection of facts from which the number
was taken. That collection is not shipped with this repository: who has it names its
folder in the environment variable PIVOTLAB_REFERENCE, and `untraced` looks every row
up. `data/results/checks.csv` keeps the share that the last such look-up found.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from pivotlab import paths

COLUMNS = (
    "paper",
    "table",
    "row",
    "column",
    "value",
    "provenance",
    "note",
    "source_line",
)
#: Files below `data/reported`: the two papers, and runs of others around them.
FILES = ("pivotrl", "pivotopd", "outside")
PROVENANCES = frozenset(
    {
        "paper",
        "article",
        "third-party",
        "third-party, article",
        "article, third-party",
        "third-party = article",
        "code",
        "untagged",
    }
)
PIVOTRL, PIVOTOPD = "PivotRL", "PivotOPD"


#: Environment variable that names the folder of the collection of facts.
REFERENCE_VARIABLE = "PIVOTLAB_REFERENCE"


class Cell(NamedTuple):
    """Place of one printed number."""

    paper: str
    table: str
    row: str
    column: str


def load_reported(folder: Path | None = None) -> pd.DataFrame:
    """All reported numbers, in the order of the files.

    Args:
        folder: default `paths.REPORTED`.

    Returns:
        `COLUMNS` as text, `number` (nan where only an image is known) and `half_unit`,
        half of the last printed digit.

    Raises:
        ValueError: names file, line and what is wrong there.
    """
    parts = [_load(name, folder or paths.REPORTED) for name in FILES]
    table = pd.concat(parts, ignore_index=True)
    twice = table[table.duplicated(list(Cell._fields))]
    if len(twice):
        raise ValueError(f"reported twice: {Cell(*twice.iloc[0][list(Cell._fields)])}")
    return table


def _load(name: str, folder: Path) -> pd.DataFrame:
    path = folder / f"{name}.csv"
    table = pd.read_csv(path, dtype=str, keep_default_na=False)
    if tuple(table.columns) != COLUMNS:
        raise ValueError(f"{path}: columns must be {', '.join(COLUMNS)}")
    for line, row in enumerate(table.itertuples(index=False), 2):
        problem = _problem(row)
        if problem:
            raise ValueError(f"{path}:{line}: {problem}")
    table["number"] = pd.to_numeric(table["value"].replace("", None))
    table["half_unit"] = [_half_unit(text) for text in table["value"]]
    return table


def _problem(row) -> str:
    if not all((row.paper, row.table, row.row, row.column)):
        return "paper, table, row and column must be filled in"
    if row.provenance not in PROVENANCES:
        return f"unknown provenance {row.provenance!r}"
    if not re.fullmatch(r"[a-z]+\.md:[1-9]\d*", row.source_line):
        return f"source_line {row.source_line!r} must read FILE.md:LINE"
    if not row.value and not row.note:
        return "an empty value needs a note that says why"
    if row.value and not re.fullmatch(r"-?\d+(\.\d+)?(e-?\d+)?", row.value):
        return f"value {row.value!r} is not a plain number"
    return ""


def _half_unit(text: str) -> float:
    """0.5 for "79", 0.005 for "63.81"; 0 where no digit was rounded."""
    if not text or "e" in text:
        return 0.0
    return 0.5 * 10.0 ** -len(text.partition(".")[2])


def block(reported: pd.DataFrame, paper: str, table: str) -> pd.DataFrame:
    """Rows of one table of one paper.

    Raises:
        KeyError: there is no such table; the message lists the paper's tables.
    """
    own = reported[reported["paper"] == paper]
    found = own[own["table"] == table]
    if found.empty:
        raise KeyError(
            f"{paper} has no {table!r}; tables: {', '.join(own['table'].unique())}"
        )
    return found


def wide(
    reported: pd.DataFrame,
    paper: str,
    table: str,
    columns: Sequence[str] | None = None,
) -> pd.DataFrame:
    """One table in its printed shape, numbers as floats, in order of appearance."""
    own = block(reported, paper, table)
    printed = own.set_index(["row", "column"])["number"].unstack("column")
    order = list(columns or dict.fromkeys(own["column"]))
    return printed.loc[list(dict.fromkeys(own["row"])), order]


def number(reported: pd.DataFrame, cell: Cell) -> float:
    """One printed number; nan where only an image is known.

    Raises:
        KeyError: nobody reported it.
    """
    own = block(reported, cell.paper, cell.table)
    found = own[(own["row"] == cell.row) & (own["column"] == cell.column)]
    if len(found) != 1:
        raise KeyError(f"not reported: {cell}")
    return float(found["number"].iloc[0])


def reference_folder() -> Path | None:
    """Folder of the collection of facts; None where it is not at hand.

    Raises:
        FileNotFoundError: the variable names no folder.
    """
    name = os.environ.get(REFERENCE_VARIABLE, "")
    if not name:
        return None
    if not Path(name).is_dir():
        raise FileNotFoundError(f"{REFERENCE_VARIABLE}={name} is no folder")
    return Path(name)


def untraced(reported: pd.DataFrame, reference: Path) -> list[str]:
    """Rows that cannot be found where they say they come from.

    A row is traced if its value stands in the named line as a number of its own and
    its provenance tag stands in that line or above it.

    Args:
        reference: folder of the collection of facts.

    Returns:
        One sentence per row and reason that fails; empty when all are traced.
    """
    files: dict[str, list[str]] = {}
    failures = []
    for row in reported.itertuples():
        name, _, line = row.source_line.partition(":")
        lines = files.setdefault(name, (reference / name).read_text().split("\n"))
        place = int(line)
        text = lines[place - 1] if place <= len(lines) else ""
        where = f"{row.paper}, {row.table}, {row.row}, {row.column}: {row.source_line}"
        if row.value and not _stands_in(row.value, text):
            failures.append(f"{where} does not hold {row.value}")
        if row.provenance != "untagged" and not _tagged(row.provenance, lines[:place]):
            failures.append(f"{where} is not tagged {row.provenance!r}")
    return failures


def _stands_in(value: str, line: str) -> bool:
    plain = re.sub(r"(?<=\d),(?=\d{3}\b)", "", line).replace("**", "")
    signed = re.sub("^-", "−", value)
    before = r"(?<![\d.])" if signed.startswith("−") else r"(?<![\d.−])"
    return bool(re.search(before + re.escape(signed) + r"(?!\d|\.\d)", plain))


def _tagged(tag: str, lines: Sequence[str]) -> bool:
    return any(f"[{tag}]" in line or f"| {tag} |" in line for line in lines) or any(
        re.search(rf"(^|\| ){re.escape(tag)}: ", line) for line in lines[-1:]
    )


def image_only(reported: pd.DataFrame) -> pd.DataFrame:
    """Points without a number: paper, table, row, column, note."""
    empty = reported[np.isnan(reported["number"])]
    return empty[[*Cell._fields, "note"]].reset_index(drop=True)
