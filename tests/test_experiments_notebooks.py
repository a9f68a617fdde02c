"""The papermill wrapper: guards parameters, keeps and names failures, any directory."""

import os

import nbformat
import pytest
from fresh_process import loads_none_of
from notebook_toys import KERNEL, write_notebook

from pivotlab import paths
from pivotlab.experiments import notebooks


@pytest.fixture
def book(tmp_path):
    return write_notebook(tmp_path / "demo.ipynb", "print(steps * 2)")


def test_parameters_and_their_defaults(book):
    assert notebooks.parameters(book) == {"preset": "smoke", "steps": 3}


def test_code_cells_are_those_of_nbformat():
    for path in paths.NOTEBOOKS.glob("*.ipynb"):
        cells = nbformat.read(path, as_version=4).cells
        wanted = [c.source for c in cells if c.cell_type == "code"]
        assert [source for source, _ in notebooks.code_cells(path)] == wanted


def test_a_home_that_cannot_be_written_stops_before_anything_runs(
    book, tmp_path, monkeypatch, capsys
):
    (tmp_path / "taken").write_text("a file")
    monkeypatch.setenv("PIVOTLAB_HOME", str(tmp_path / "taken"))
    assert notebooks.main([str(book), str(tmp_path / "out.ipynb")]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"error: cannot write to {tmp_path / 'taken'} (File exists)")
    assert "PIVOTLAB_HOME" in said and not list(tmp_path.glob("out*"))


@pytest.mark.parametrize("text", ["steps = [", "steps: int", "print(3)", "a = b = 1"])
def test_a_parameters_cell_of_other_things_is_named(tmp_path, text):
    book = write_notebook(tmp_path / "demo.ipynb", parameters=text)
    with pytest.raises(ValueError, match="demo.ipynb: its parameters cell must be"):
        notebooks.parameters(book)


@pytest.mark.parametrize("text", ["no json", "[]", '{"cells": [{}]}'])
def test_a_file_that_is_no_notebook_is_named(tmp_path, text):
    (tmp_path / "demo.ipynb").write_text(text)
    with pytest.raises(ValueError, match="demo.ipynb is no notebook"):
        notebooks.parameters(tmp_path / "demo.ipynb")


@pytest.mark.parametrize("rest", [["--help"], ["-p", "stepz", "3"]])
def test_help_and_bad_requests_wait_for_no_notebook_library(book, tmp_path, rest):
    arguments = [str(book), str(tmp_path / "out.ipynb"), *rest]
    module = "pivotlab.experiments.notebooks"
    assert loads_none_of({"papermill", "nbformat"}, module, arguments)


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


def test_a_misspelt_notebook_gets_the_nearest_ones(book, tmp_path, capsys, monkeypatch):
    out = str(tmp_path / "out.ipynb")
    assert notebooks.main([str(tmp_path / "demp.ipynb"), out]) == 2
    assert capsys.readouterr().err == (
        f"error: no notebook {tmp_path / 'demp.ipynb'}; did you mean {book}?\n"
    )
    monkeypatch.chdir(tmp_path)
    for name in ("05_pivotlr.ipynb", "notebook/05_pivotrl.ipynb", "05_pivotrl"):
        assert notebooks.main([name, out]) == 2
        said = capsys.readouterr().err
        assert f"did you mean {paths.NOTEBOOKS / '05_pivotrl.ipynb'}" in said
    assert notebooks.main(["zzz.ipynb", out]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert f"there are {paths.NOTEBOOKS / '00_start_here.ipynb'}, " in line


def test_misspelt_parameter_is_one_line_and_nothing_runs(book, tmp_path):
    output = tmp_path / "out.ipynb"
    with pytest.raises(ValueError) as error:
        notebooks.execute(book, output, {"stepz": 3})
    text = str(error.value)
    assert text == "demo.ipynb has no parameter 'stepz'; did you mean steps?"
    assert not output.exists()


@pytest.mark.parametrize("value", ["quik", 7, ["quick"]])
def test_an_unknown_preset_stops_before_any_kernel(book, tmp_path, capsys, value):
    output = tmp_path / "out.ipynb"
    assert notebooks.main([str(book), str(output), "--preset", f"{value}"]) == 2
    assert notebooks.main([str(book), str(output), "-p", "preset", f"{value!r}"]) == 2
    first, second = capsys.readouterr().err.splitlines()
    assert first == second and first.startswith("error: unknown preset")
    assert "choose one of smoke, quick, cpu" in first
    assert [p.name for p in tmp_path.iterdir()] == ["demo.ipynb"]


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
    [
        ("3", 3),
        ("1e-4", 1e-4),
        ("[0, 1]", [0, 1]),
        ("None", None),
        ("tiny", "tiny"),
        ("0,1,2", "0,1,2"),
        ("(0, 1)", (0, 1)),
    ],
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


def test_ctrl_c_is_one_line(book, tmp_path, capsys, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(notebooks, "execute", interrupted)
    assert notebooks.main([str(book), str(tmp_path / "out.ipynb")]) == 130
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("interrupted")
