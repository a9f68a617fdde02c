"""`figures/index.csv`: which notebook drew a figure, from what, and its hash.

A figure's name starts with the number of its notebook; the numbers behind it lie beside
it. `python -m pivotlab.experiments.figures.index` writes the index anew.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from pivotlab import paths
from pivotlab.whole_files import write_text

#: Columns of the index; one row per drawn file (PNG and PDF).
COLUMNS = ("figure", "notebook", "data", "sha256")
DRAWN = (".pdf", ".png")


def figure_index(folder: Path, notebooks: Iterable[Path]) -> pd.DataFrame:
    """The index of a folder of figures, in order of their names.

    Args:
        folder: holds PNG, PDF, caption (.md) and numbers (.csv) of every figure.
        notebooks: paths of those that may have drawn them.

    Raises:
        ValueError: a figure has no numbers or no caption, or belongs to no notebook.
    """
    owners = {path.stem.partition("_")[0]: path.stem for path in notebooks}
    rows = []
    for path in sorted(p for p in folder.iterdir() if p.suffix in DRAWN):
        for beside in (".csv", ".md"):
            if not path.with_suffix(beside).exists():
                raise ValueError(f"{path.name} lacks {path.stem}{beside} beside it")
        owner = owners.get(path.stem.partition("_")[0])
        if owner is None:
            raise ValueError(
                f"{path.name} must start with the number of its notebook: "
                f"{', '.join(sorted(owners))}"
            )
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        rows.append((path.name, owner, f"{path.stem}.csv", digest))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def write_index(folder: Path | None = None) -> Path:
    """Write `index.csv` into a folder of figures; default `paths.figures()`."""
    folder = folder or paths.figures()
    index = figure_index(folder, paths.NOTEBOOKS.glob("*.ipynb"))
    path = folder / "index.csv"
    write_text(path, index.to_csv(index=False, lineterminator="\n"))
    return path


if __name__ == "__main__":
    print(write_index())
