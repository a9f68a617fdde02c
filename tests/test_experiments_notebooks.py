"""The papermill wrapper: guards parameters, keeps and names failures, any directory."""

import os

import nbformat
import pytest
from notebook_toys import KERNEL, write_notebook

from pivotlab.experiments import notebooks


@pytest.fixture
def book(tmp_path):
    return write_notebook(tmp_path / "demo.ipynb", "print(steps * 2)")


def test_parameters_and_their_defaults(book):
    assert notebooks.parameters(book) == {"preset": "smoke", "steps": 3}


def test_execution_with_a_parameter_from_another_directory(book, tmp_path, monkeypatch):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    relative = os.path.relpath(book)
    output = notebooks.execute(relative, "out/result.ipynb", {"steps": 21})
    assert output == elsewhere / "out" / "result.ipynb"
    texts = [
        o["text"]
        for cell in nbformat.read(output, 4).cells
        if cell.cell_type == "code"
        for o in cell.outputs
    ]
    assert texts == ["42\n"]
    assert sorted(p.name for p in output.parent.iterdir()) == ["result.ipynb"]


def test_misspelt_parameter_is_one_line_and_nothing_runs(book, tmp_path):
    output = tmp_path / "out.ipynb"
    with pytest.raises(ValueError) as error:
        notebooks.execute(book, output, {"stepz": 3})
    text = str(error.value)
    assert text == "demo.ipynb has no parameter 'stepz'; did you mean steps?"
    assert not output.exists()


def test_failure_keeps_the_notebook_and_the_previous_result(tmp_path):
    book = write_notebook(tmp_path / "demo.ipynb", "print(10 / (steps - 4))")
    output = notebooks.execute(book, tmp_path / "out.ipynb")
    good = output.read_bytes()
    with pytest.raises(notebooks.NotebookError) as error:
        notebooks.execute(book, output, {"steps": 4})
    text = str(error.value)
    assert text.startswith("demo.ipynb failed in cell [3]: ZeroDivisionError")
    kept = tmp_path / "out.failed.ipynb"
    assert text.endswith(f"see {kept}") and "\n" not in text
    assert "ZeroDivisionError" in kept.read_text()
    assert output.read_bytes() == good
    notebooks.execute(book, output)
    assert not kept.exists()


def test_hanging_cell_is_named(tmp_path):
    book = write_notebook(tmp_path / "demo.ipynb", "import time; time.sleep(60)")
    with pytest.raises(notebooks.NotebookError, match="demo.ipynb failed in"):
        notebooks.execute(book, tmp_path / "out.ipynb", timeout=1)
    assert (tmp_path / "out.failed.ipynb").exists()


def test_missing_notebook_and_missing_parameters_cell(tmp_path):
    with pytest.raises(FileNotFoundError, match="no notebook .*none.ipynb"):
        notebooks.execute(tmp_path / "none.ipynb", tmp_path / "out.ipynb")
    plain = nbformat.v4.new_notebook()
    plain.metadata.kernelspec = KERNEL
    nbformat.write(plain, tmp_path / "plain.ipynb")
    with pytest.raises(ValueError, match="no cell tagged 'parameters'"):
        notebooks.parameters(tmp_path / "plain.ipynb")


@pytest.mark.parametrize(
    "text, value",
    [("3", 3), ("1e-4", 1e-4), ("[0, 1]", [0, 1]), ("None", None), ("tiny", "tiny")],
)
def test_command_line_values(text, value):
    assert notebooks.parse_value(text) == value


def test_command_line(book, tmp_path, capsys):
    output = tmp_path / "out.ipynb"
    arguments = [str(book), str(output), "-p", "steps", "5", "--preset", "quick"]
    assert notebooks.main(arguments) == 0
    assert capsys.readouterr().out.strip() == str(output)
    injected = nbformat.read(output, 4).cells[1].source
    assert "steps = 5" in injected and 'preset = "quick"' in injected
    assert notebooks.main([str(book), str(output), "-p", "setps", "5"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: demo.ipynb has no parameter 'setps'")
    assert notebooks.main([str(book), str(output), "-p", "steps", "oops"]) == 0


def test_command_line_failure_is_status_one(tmp_path, capsys):
    book = write_notebook(tmp_path / "demo.ipynb", "raise ValueError('bad\\nvalue')")
    assert notebooks.main([str(book), str(tmp_path / "out.ipynb")]) == 1
    error = capsys.readouterr().err
    assert "ValueError: bad value; see" in error and error.count("\n") == 1
