"""A grid file becomes cells, or one line that says what is wrong with it."""

import pytest
from notebook_toys import write_notebook

from pivotlab import paths
from pivotlab.experiments.grid import read_grid


@pytest.fixture(autouse=True)
def books(tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "NOTEBOOKS", tmp_path)
    write_notebook(tmp_path / "01_first.ipynb", "print(steps)")
    write_notebook(tmp_path / "02_second.ipynb", "print(steps)")


def grid(tmp_path, text):
    path = tmp_path / "study.toml"
    path.write_text(text)
    return read_grid(path)


def test_lists_are_crossed_and_every_cell_has_a_folder_of_its_own(tmp_path):
    found = grid(
        tmp_path,
        """
        cores = 3
        [[grid]]
        notebook = ["01_first", "02_second.ipynb"]
        preset = ["smoke", "quick"]
        [[grid]]
        notebook = "01_first"
        steps = [1, 2]
        """,
    )
    assert found.cores == 3 and found.folder == paths.runs() / "batch" / "study"
    assert [cell.label for cell in found.cells] == [
        "01_first preset=smoke",
        "01_first preset=quick",
        "02_second preset=smoke",
        "02_second preset=quick",
        "01_first steps=1",
        "01_first steps=2",
    ]
    folders = {cell.folder for cell in found.cells}
    assert len(folders) == 6 and {f.parent for f in folders} == {found.folder}
    first = found.cells[0]
    assert first.output == found.folder / "01_first-preset=smoke" / "01_first.ipynb"
    assert first.params == {"preset": "smoke"}


def test_a_list_of_lists_is_a_parameter_that_is_a_list(tmp_path):
    text = '[[grid]]\nnotebook = "01_first"\nsteps = [[1, 2], [3]]'
    assert [c.params["steps"] for c in grid(tmp_path, text).cells] == [[1, 2], [3]]


def test_folder_names_stay_short_plain_and_apart(tmp_path):
    values = ["a/b", "a b", "x" * 200, "x" * 201]
    text = f'[[grid]]\nnotebook = "01_first"\nsteps = {values}'
    names = [cell.folder.name for cell in grid(tmp_path, text).cells]
    assert len(set(names)) == 4
    assert all("/" not in n and " " not in n and len(n) < 120 for n in names)


@pytest.mark.parametrize(
    "text, hint",
    [
        ('[[grid]]\nnotebook = "01_frist"', "no notebook '01_frist'; did you mean 01_"),
        (
            '[[grid]]\nnotebook = "01_first"\nstepz = 3',
            "01_first.ipynb has no parameter 'stepz'; did you mean steps?",
        ),
        (
            '[[grid]]\nnotebook = "01_first"\npreset = "quik"',
            "unknown preset 'quik'; choose one of smoke, quick",
        ),
        ('[[grid]]\nnotebook = "01_first"\nsteps = []', "steps is an empty list"),
        (
            '[[grid]]\nnotebook = "01_first"\nsteps = [1, 1]',
            "'01_first steps=1' is given 2 times",
        ),
        ("[[grid]]\nsteps = 1", "needs a notebook"),
        ("cores = 1", r"no \[\[grid\]\] table"),
        ('cores = 0\n[[grid]]\nnotebook = "01_first"', "cores=0 must be"),
        ('core = 2\n[[grid]]\nnotebook = "01_first"', "unknown key 'core'"),
        ("[[grid]\n", "line 1"),
    ],
)
def test_a_mistake_is_one_line_that_names_file_and_value(tmp_path, text, hint):
    with pytest.raises(ValueError, match=hint) as error:
        grid(tmp_path, text)
    assert str(error.value).startswith(f"{tmp_path / 'study.toml'}: ")
    assert "\n" not in str(error.value)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="no grid file .*none.toml"):
        read_grid(tmp_path / "none.toml")


def test_the_example_in_the_repository_is_valid(monkeypatch):
    monkeypatch.undo()
    found = read_grid(paths.DATA / "examples" / "grid.toml")
    assert len(found.cells) == 10
