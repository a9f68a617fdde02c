"""The kernel's side of a run: how it is reached, and failures in one line."""

import tempfile
from pathlib import Path

import pytest
from notebook_toys import write_notebook

from pivotlab.experiments import kernel


def test_a_hanging_cell_is_told_in_one_line_and_the_notebook_kept(tmp_path):
    book = write_notebook(tmp_path / "demo.ipynb", "import time; time.sleep(60)")
    output = tmp_path / "out.ipynb"
    with pytest.raises(kernel.Failed, match="CellTimeoutError: ") as error:
        kernel.run(book, output, {}, timeout=1)
    assert "\n" not in str(error.value) and output.exists()


def test_sockets_lie_in_a_folder_of_the_run_unless_its_path_is_too_long(monkeypatch):
    with kernel.connection() as one, kernel.connection() as other:
        assert one["transport"] == other["transport"] == "ipc"
        assert one["ip"] != other["ip"] and Path(one["ip"]).parent.is_dir()
    assert not Path(one["ip"]).parent.exists()
    monkeypatch.setattr(kernel, "_SOCKET_PATH", len(tempfile.gettempdir()))
    with kernel.connection() as settings:
        assert settings == {"transport": "tcp"}
