"""Batches: order, parallel cells, resumption, summary, exit status."""

import csv
import json
import re
import subprocess
import sys

import pytest
from notebook_toys import write_notebook

from pivotlab import paths
from pivotlab.experiments import batch

GRID = """
cores = 2
[[grid]]
notebook = "01_second"
preset = "smoke"
steps = [0, 1, 2]
"""
#: Leaves its number of steps as a result, and counts how often it ran.
COUNTED = """
import json, os, pathlib
assert preset == "smoke", "only at smoke"
assert steps != 1 or pathlib.Path(GATE).exists(), "steps may not be 1"
folder = pathlib.Path(os.environ.get("PIVOTLAB_RUN", "."))
with open(folder / "times", "a") as times:
    times.write("x")
(folder / "results.json").write_text(json.dumps({"doubled": 2 * steps}))
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Notebooks of which the second fails at preset quick, and at one step."""
    monkeypatch.setattr(paths, "NOTEBOOKS", tmp_path)
    gate = f"GATE = {str(tmp_path / 'gate')!r}\n"
    write_notebook(tmp_path / "00_first.ipynb", "print(preset)")
    write_notebook(tmp_path / "01_second.ipynb", gate + COUNTED)
    write_notebook(tmp_path / "90_benchmarks.ipynb", "raise RuntimeError")
    write_notebook(tmp_path / "pretraining.ipynb", "raise RuntimeError")
    (tmp_path / "study.toml").write_text(GRID)
    return tmp_path


def cells():
    return paths.runs() / "batch" / "study"


def table():
    with open(cells() / "summary.csv") as handle:
        return list(csv.DictReader(handle))


def test_order_leaves_out_benchmarks_and_pretraining(folder):
    names = [n.stem for n in batch.ordered_notebooks()]
    assert names == ["00_first", "01_second"]


def test_the_summary_names_the_failing_notebook_and_the_status_says_so(folder, capsys):
    assert batch.main(["run", "--preset", "quick"]) == 1
    printed = capsys.readouterr().out
    assert "only at smoke" in printed and "1 passed, 1 failed" in printed
    kept = paths.runs() / "quick" / "01_second.failed.ipynb"
    assert f"see {kept}" in printed and kept.exists()
    assert (paths.runs() / "quick" / "00_first.ipynb").exists()


def test_only_chooses_by_prefix(folder):
    assert [c.notebook.stem for c in batch.ordered_cells("smoke", ["01"])] == [
        "01_second"
    ]


@pytest.mark.parametrize(
    "arguments, hint",
    [
        (["run", "--preset", "quik"], "choose one of smoke, quick"),
        (["run", "--preset", "smoke", "--only", "77"], "there are 00_first, 01_second"),
        (["batch", "none.toml"], "no grid file none.toml"),
    ],
)
def test_a_bad_request_is_one_line_and_status_2(folder, capsys, arguments, hint):
    assert batch.main(arguments) == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert hint in line


def test_a_bad_request_waits_for_no_notebook_library():
    code = """
import sys
from pivotlab.experiments import batch
assert batch.main(["run", "--preset", "quik"]) == 2
assert not {"papermill", "nbformat", "torch"} & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_a_preset_in_the_place_of_a_command_is_put_right():
    command = ["bash", str(paths.ROOT / "run.sh"), "quik"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2
    line = done.stderr.splitlines()[0]
    assert "unknown command 'quik'" in line and "bash run.sh run --preset" in line


def test_a_grid_keeps_failures_and_goes_on_where_it_stopped(folder, capsys):
    study = str(folder / "study.toml")
    assert batch.main(["batch", study]) == 1
    printed = capsys.readouterr().out
    assert "3 cells, 0 finished before" in printed and "2 passed, 1 failed" in printed
    kept = cells() / "01_second-preset=smoke-steps=1" / "01_second.failed.ipynb"
    assert f"steps may not be 1; see {kept}" in printed and kept.exists()
    rows = table()
    assert [row["steps"] for row in rows] == ["0", "1", "2"]
    assert [row["status"] for row in rows] == ["passed", "failed", "passed"]
    assert [row["result.doubled"] for row in rows] == ["0", "", "4"]
    assert "steps may not be 1" in rows[1]["error"]

    (folder / "gate").touch()
    assert batch.main(["batch", study]) == 0
    printed = capsys.readouterr().out
    assert "3 cells, 2 finished before" in printed and "[1/1]" in printed
    assert [row["result.doubled"] for row in table()] == ["0", "2", "4"]
    assert not kept.exists()
    times = {path.parent.name: path.read_text() for path in cells().glob("*/times")}
    assert set(times.values()) == {"x"} and len(times) == 3


def test_a_cell_runs_again_when_the_code_of_its_notebook_changed(folder, capsys):
    study = folder / "study.toml"
    study.write_text(GRID.replace("[0, 1, 2]", "2"))
    assert batch.main(["batch", str(study)]) == 0
    note = cells() / "01_second-preset=smoke-steps=2" / "cell.json"
    facts = json.loads(note.read_text())
    assert facts["params"] == {"preset": "smoke", "steps": 2}
    assert facts["seconds"] > 0 and re.fullmatch(r"[0-9a-f]{64}", facts["code"])
    book = folder / "01_second.ipynb"
    book.write_text(book.read_text().replace("2 * steps", "20 * steps"))
    assert batch.main(["batch", str(study)]) == 0
    assert "1 cells, 0 finished before" in capsys.readouterr().out
    assert [row["result.doubled"] for row in table()] == ["40"]


def test_workers_share_the_cores(folder, monkeypatch):
    monkeypatch.setattr(batch.os, "cpu_count", lambda: 8)
    monkeypatch.setattr(batch, "run_one", lambda cell, threads: threads)
    cell = batch.GridCell(folder / "00_first.ipynb", folder / "out.ipynb")
    assert list(batch.run_cells([cell], workers=3)) == [2]
    assert list(batch.run_cells([cell], workers=1)) == [None]


def test_values_reach_the_notebook_with_their_types(folder):
    body = "assert steps == ['1', '7', 2.5, True] and preset == 'cpu', (steps, preset)"
    book = write_notebook(folder / "02_typed.ipynb", body)
    given = {"steps": ["1", "7", 2.5, True], "preset": "cpu"}
    cell = batch.GridCell(book, folder / "out.ipynb", given)
    assert batch.run_one(cell).error == ""
