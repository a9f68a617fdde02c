"""One notebook by papermill: what a kernel needs, and why it failed in one line.

Apart from `notebooks`, which checks requests: papermill takes seconds to import.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import papermill
from nbclient.exceptions import CellTimeoutError, DeadKernelError
from papermill.exceptions import PapermillExecutionError
from traitlets.config import Config

#: Longest path of a Unix socket that every system accepts, less the socket's own name.
_SOCKET_PATH = 60


class Failed(RuntimeError):
    """A cell failed or the kernel died; the message says which and why."""


def run(
    notebook: Path, output: Path, params: Mapping[str, Any], timeout: int | None
) -> None:
    """Execute every cell; `output` is written whether or not that succeeds.

    Args:
        timeout: seconds per cell, None for no limit.

    Raises:
        Failed: a cell failed or the kernel died.
    """
    try:
        with connection() as settings:
            papermill.execute_notebook(
                str(notebook),
                str(output),
                parameters=dict(params),
                kernel_name="python3",
                progress_bar=False,
                execution_timeout=timeout,
                config=Config(KernelManager=settings),
            )
    except (PapermillExecutionError, CellTimeoutError, DeadKernelError) as error:
        raise Failed(_reason(error)) from error


@contextmanager
def connection() -> Iterator[dict[str, str]]:
    """How the kernel is reached: Unix sockets in a folder of this run alone.

    Parallel kernels race for TCP ports, and for socket names in one folder. TCP is left
    for systems whose temporary folder has too long a path.
    """
    with tempfile.TemporaryDirectory(prefix="pivotlab-") as folder:
        if len(folder) > _SOCKET_PATH:
            yield {"transport": "tcp"}
        else:
            yield {"transport": "ipc", "ip": f"{folder}/kernel"}


def _reason(error: Exception) -> str:
    """One line: which cell, which error."""
    if isinstance(error, PapermillExecutionError):
        what = f"cell [{error.exec_count}]: {error.ename}: {error.evalue}"
    else:
        what = f"{type(error).__name__}: {error}"
    return " ".join(what.split())
