"""The batch over ordered notebooks: order, summary, exit status."""

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from pivotlab import paths
from pivotlab.experiments import batch


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Three notebooks of which the second fails at preset quick."""
    monkeypatch.setattr(paths, "NOTEBOOKS", tmp_path)
    bodies = {
        "00_first": "print(preset)",
        "01_second": "assert preset == 'smoke', 'only at smoke'",
        "90_benchmarks": "raise RuntimeError",
        "pretraining": "raise RuntimeError",
    }
    for name, body in bodies.items():
        given = new_code_cell('preset: str = "smoke"  # a preset')
        given.metadata["tags"] = ["parameters"]
        book = new_notebook(cells=[given, new_code_cell(body)])
        book.metadata["kernelspec"] = {
            "name": "python3",
            "display_name": "Python 3",
            "language": "python",
        }
        nbformat.write(book, tmp_path / f"{name}.ipynb")
    return tmp_path


def test_order_leaves_out_benchmarks_and_pretraining(folder):
    names = [n.stem for n in batch.ordered_notebooks()]
    assert names == ["00_first", "01_second"]


def test_the_summary_names_the_failing_notebook_and_the_status_says_so(folder, capsys):
    assert batch.main(["run", "--preset", "quick"]) == 1
    printed = capsys.readouterr().out
    assert "only at smoke" in printed and "1 passed, 1 failed" in printed
    assert (paths.runs() / "quick" / "00_first.ipynb").exists()
    assert (paths.runs() / "quick" / "01_second.failed.ipynb").exists()


def test_only_chooses_by_prefix(folder, capsys):
    assert batch.main(["run", "--preset", "smoke", "--only", "01"]) == 0
    assert "1 passed, 0 failed" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments, hint",
    [
        (["--preset", "quik"], "choose one of smoke, quick"),
        (["--preset", "smoke", "--only", "77"], "there are 00_first, 01_second"),
    ],
)
def test_a_bad_request_is_one_line_and_status_2(folder, capsys, arguments, hint):
    assert batch.main(["run", *arguments]) == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert hint in line
