"""A grid file says which notebooks run at which parameters.

    cores = 2                        # notebooks at a time

    [[grid]]
    notebook = "01_reward_variance"  # a list is crossed with every other list
    preset = ["smoke", "quick"]
    seed = [0, 1, 2]

Every combination is one cell with a folder of its own. A parameter whose value is
itself a list is written as a list of lists. Everything is checked before anything runs.
"""

from __future__ import annotations

import difflib
import hashlib
import itertools
import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pivotlab import paths
from pivotlab.experiments import notebooks

#: Longest folder name that is still read; longer ones are cut and get a digest.
_LONGEST_NAME = 100


@dataclass(frozen=True)
class GridCell:
    """One notebook at one setting.

    Attributes:
        output: the executed notebook.
        folder: run folder of this cell alone, None for the notebook's usual one.
    """

    notebook: Path
    output: Path
    params: Mapping[str, Any] = field(default_factory=dict)
    folder: Path | None = None

    @property
    def label(self) -> str:
        """Notebook and parameters on one line."""
        given = (f"{name}={value}" for name, value in self.params.items())
        return " ".join((self.notebook.stem, *given))


@dataclass(frozen=True)
class Grid:
    """The cells of a grid file, how many run at a time, and where they lie."""

    cells: tuple[GridCell, ...]
    cores: int
    folder: Path


def read_grid(path: Path | str) -> Grid:
    """Read and check a grid file.

    Raises:
        FileNotFoundError: no such file.
        ValueError: bad TOML, unknown key, notebook, parameter or preset, an empty list,
            or a cell that is given twice; one line that names the file and the value.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"no grid file {path}")
    try:
        content = tomllib.loads(path.read_text("utf-8"))
        return _grid(content, paths.runs() / "batch" / path.stem)
    except ValueError as error:  # TOML errors are ValueErrors too
        raise ValueError(f"{path}: {error}") from error


def _grid(content: Mapping[str, Any], folder: Path) -> Grid:
    unknown = sorted(set(content) - {"cores", "grid"})
    if unknown:
        raise ValueError(f"unknown key {unknown[0]!r}; there are cores and [[grid]]")
    cores = content.get("cores", 1)
    if type(cores) is not int or cores < 1:
        raise ValueError(f"cores={cores!r} must be a whole number of 1 or more")
    tables = content.get("grid")
    if not isinstance(tables, list) or not tables:
        raise ValueError("there is no [[grid]] table")
    cells = tuple(cell for table in tables for cell in _cells(table, folder))
    label, count = Counter(cell.label for cell in cells).most_common(1)[0]
    if count > 1:
        raise ValueError(f"{label!r} is given {count} times")
    return Grid(cells, cores, folder)


def _cells(table: Mapping[str, Any], folder: Path) -> Iterator[GridCell]:
    """Every combination of one table's lists, checked."""
    if "notebook" not in table:
        raise ValueError("a [[grid]] table needs a notebook")
    lists = {k: v if isinstance(v, list) else [v] for k, v in table.items()}
    for name, values in lists.items():
        if not values:
            raise ValueError(f"{name} is an empty list")
    for values in itertools.product(*lists.values()):
        params = dict(zip(lists, values, strict=True))
        notebook = _find(params.pop("notebook"))
        notebooks.check_parameters(notebook, params)
        place = folder / _folder_name(GridCell(notebook, notebook, params).label)
        yield GridCell(notebook, place / notebook.name, params, place)


def _find(name: Any) -> Path:
    """A notebook of the repository by its name, with or without its ending."""
    known = {path.stem: path for path in sorted(paths.NOTEBOOKS.glob("*.ipynb"))}
    stem = str(name).removesuffix(".ipynb")
    if stem not in known:
        near = difflib.get_close_matches(stem, known, n=3, cutoff=0.4) or list(known)
        raise ValueError(f"no notebook {name!r}; did you mean {', '.join(near)}?")
    return known[stem]


def _folder_name(label: str) -> str:
    """The label as a folder name; a digest keeps changed or cut ones apart."""
    name = re.sub(r"[^\w.=+-]+", "-", label.replace(" ", "-"))
    if name == label.replace(" ", "-") and len(name) <= _LONGEST_NAME:
        return name
    digest = hashlib.sha256(label.encode()).hexdigest()[:8]
    return f"{name[:_LONGEST_NAME].rstrip('-')}-{digest}"
