"""Every notebook runs at `smoke`, and the count of those that ran is asserted."""

import contextlib
import io
import re
from functools import cache

import nbformat
import pytest

from pivotlab import paths
from pivotlab.experiments import notebooks

BOOKS = sorted(paths.NOTEBOOKS.glob("*.ipynb"))
#: Run a second time from another directory: it reads no data and needs no model.
TRAVELLER = "01_reward_variance"
SECONDS_PER_CELL = 300
#: Numbers of the notebooks that come with exercises.
LESSONS = [f"{number:02}" for number in range(1, 10)]


def run_at_smoke(stem, folder):
    output = notebooks.execute(
        paths.NOTEBOOKS / f"{stem}.ipynb",
        folder / f"{stem}.ipynb",
        {"preset": "smoke"},
        timeout=SECONDS_PER_CELL,
    )
    return nbformat.read(output, as_version=4)


def executed_cells(book):
    return sum(
        cell.execution_count is not None
        for cell in book.cells
        if cell.cell_type == "code"
    )


def written_cells(stem):
    book = nbformat.read(paths.NOTEBOOKS / f"{stem}.ipynb", as_version=4)
    return sum(cell.cell_type == "code" and bool(cell.source) for cell in book.cells)


@pytest.mark.parametrize("stem", [path.stem for path in BOOKS])
def test_notebook_runs_at_smoke(stem, tmp_path, monkeypatch):
    monkeypatch.chdir(paths.ROOT)
    book = run_at_smoke(stem, tmp_path)
    # papermill adds one cell, the injected parameters.
    assert executed_cells(book) == written_cells(stem) + 1
    files = {p.suffix for p in (tmp_path / "home").rglob("*") if p.is_file()}
    assert files, "a notebook leaves records or figures under PIVOTLAB_HOME"


def test_every_notebook_is_among_those_that_run(request):
    """Counted from the folder, not from the glob that makes the tests."""
    stems = {
        p.name.removesuffix(".ipynb")
        for p in paths.NOTEBOOKS.iterdir()
        if p.name.endswith(".ipynb")
    }
    (mark,) = test_notebook_runs_at_smoke.pytestmark
    assert sorted(mark.args[1]) == sorted(stems) and len(stems) >= 2
    collected = {
        item.callspec.params["stem"]
        for item in request.session.items
        if getattr(item, "originalname", "") == "test_notebook_runs_at_smoke"
    }
    if collected:  # empty when this test is selected alone
        assert collected == stems, f"{len(collected)} of {len(stems)} notebooks ran"


def test_a_notebook_does_not_care_where_it_is_started(tmp_path, monkeypatch):
    """The tests above start it in the repository; here in an empty folder."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    book = run_at_smoke(TRAVELLER, tmp_path / "out")
    assert executed_cells(book) == written_cells(TRAVELLER) + 1
    assert not list(elsewhere.iterdir()), "it wrote into the working directory"


def exercises():
    """(notebook, number) of every exercise."""
    for path in BOOKS:
        book = nbformat.read(path, as_version=4)
        count = sum("exercise" in c.metadata.get("tags", []) for c in book.cells)
        yield from ((path.stem, number) for number in range(count))


def sources(stem, tag):
    book = nbformat.read(paths.NOTEBOOKS / f"{stem}.ipynb", as_version=4)
    return [c.source for c in book.cells if tag in c.metadata.get("tags", [])]


@cache
def setup_namespace(stem):
    """What the setup cells define; seconds, so once a notebook."""
    namespace = {}
    for tag in ("parameters", "setup"):
        for source in sources(stem, tag):
            exec(source, namespace)
    return namespace


def run_quietly(source, namespace):
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(source, namespace)
    return printed.getvalue()


def test_every_lesson_has_two_to_four_exercises():
    lessons = [path.stem for path in BOOKS if path.stem[:2] in LESSONS]
    counts = {stem: 0 for stem in lessons}
    for stem, _ in exercises():
        counts[stem] += 1
    assert lessons and all(2 <= n <= 4 for n in counts.values()), counts


@pytest.mark.parametrize("stem, number", list(exercises()))
def test_solution_passes_its_checker_and_the_stub_does_not(stem, number):
    stub = sources(stem, "exercise")[number]
    solutions = sources(stem, "solution")
    assert number < len(solutions), "tag the folded solution's cell `solution`"
    (answer,) = re.findall(r"```python\n(.+?)\n```", solutions[number], re.S)
    checker = stub.split("raise NotImplementedError")[1]
    assert checker.strip(), "the exercise's own cell calls its checker below the stub"
    namespace = dict(setup_namespace(stem))
    assert "not attempted yet" in run_quietly(stub, namespace)
    empty = stub.replace("raise NotImplementedError", "pass")
    with pytest.raises(AssertionError, match="you return None, expected"):
        run_quietly(empty, namespace)
    assert ": solved, " in run_quietly(f"{answer}\n{checker}", namespace)
