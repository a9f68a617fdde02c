"""Where things lie: one root, found from this file and not the working directory.

`PIVOTLAB_HOME` moves what a run writes (run folders, figures, records, caches) out of
the checkout, while what is committed is always read from `FIGURES` and `RESULTS`;
`PIVOTLAB_MIRROR` names a folder that holds registered data files already.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = ROOT / "notebooks"
FIGURES = ROOT / "figures"
DATA = ROOT / "data"
RESULTS = DATA / "results"
REPORTED = DATA / "reported"
MODELS = DATA / "models"


def home() -> Path:
    """Folder for run output and caches: `PIVOTLAB_HOME`, else the checkout itself."""
    return Path(os.environ.get("PIVOTLAB_HOME", ROOT)).expanduser().resolve()


def check_home() -> Path:
    """`home()`, made if missing.

    Raises:
        ValueError: nothing can be written there; names the folder and the way out.
    """
    place = home()
    try:
        place.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=place):
            return place
    except OSError as error:
        raise ValueError(
            f"cannot write to {place} ({error.strerror}); let PIVOTLAB_HOME name a "
            "folder for runs, figures, records and caches that you may write to"
        ) from None


def runs() -> Path:
    """Folder that holds one folder per run."""
    return home() / "runs"


def run_folder(name: str) -> Path:
    """Folder of the run of that name; `PIVOTLAB_RUN`, which a batch sets for each of
    its cells, replaces it, so that equal names do not meet."""
    return Path(os.environ.get("PIVOTLAB_RUN", runs() / name))


def figures() -> Path:
    """Where figures are written; `FIGURES` unless `PIVOTLAB_HOME` says otherwise."""
    return home() / "figures"


def results() -> Path:
    """Where records are written; `RESULTS` unless `PIVOTLAB_HOME` says otherwise."""
    return home() / "data" / "results"


def cache() -> Path:
    """Folder for converted models and downloads; safe to delete."""
    return home() / ".cache"


def mirror() -> Path | None:
    """Local copy of the registered files, or None when `PIVOTLAB_MIRROR` is unset."""
    value = os.environ.get("PIVOTLAB_MIRROR")
    return Path(value).expanduser().resolve() if value else None
