"""Every notebook has the same anatomy, is committed clean, and stays readable."""

import ast
import re

import nbformat
import pytest

from pivotlab import paths
from pivotlab.experiments import notebooks

BOOKS = sorted(paths.NOTEBOOKS.glob("*.ipynb"))
MAX_CELLS, MAX_LINES, MAX_CELL_LINES = 40, 200, 40


@pytest.fixture(params=BOOKS, ids=lambda path: path.stem)
def path(request):
    return request.param


@pytest.fixture
def book(path):
    return nbformat.read(path, as_version=4)


def code(book):
    return [cell for cell in book.cells if cell.cell_type == "code"]


def tagged(book, tag):
    return [cell for cell in book.cells if tag in cell.metadata.get("tags", [])]


def test_there_are_notebooks():
    assert len(BOOKS) >= 2


def test_it_is_valid_and_has_stable_cell_ids(book):
    nbformat.validate(book)
    assert (book.nbformat, book.nbformat_minor) == (4, 5)
    ids = [cell.id for cell in book.cells]
    assert len(ids) == len(set(ids))


def test_kernel_is_python3_whatever_environment_wrote_it(book):
    assert book.metadata.kernelspec.name == "python3"
    assert book.metadata.kernelspec.language == "python"
    assert "papermill" not in book.metadata


def test_it_opens_with_its_only_title(book):
    titles = [
        (position, line)
        for position, cell in enumerate(book.cells)
        if cell.cell_type == "markdown"
        for line in re.sub(r"```.*?```", "", cell.source, flags=re.S).splitlines()
        if line.startswith("# ")
    ]
    assert [position for position, _ in titles] == [0]
    assert book.cells[0].source.startswith("# ")


def test_numbered_notebooks_carry_their_number_and_say_what_they_touch(path, book):
    number = path.stem[:2]
    if number.isdigit():
        assert re.match(rf"# {number} · \S", book.cells[0].source)
    text = "\n".join(c.source for c in book.cells if c.cell_type == "markdown")
    for word in ("Reads", "Writes", "Takes"):
        assert f"**{word}**" in text, f"the table at the top lacks {word}"


def test_one_literal_parameters_cell_that_starts_with_the_preset(path, book):
    (cell,) = tagged(book, "parameters")
    assert cell.cell_type == "code"
    names = []
    for statement in ast.parse(cell.source).body:
        assert isinstance(statement, ast.AnnAssign), (
            "write `name: type = value  # text`"
        )
        ast.literal_eval(statement.value)
        names.append(statement.target.id)
    assert names[0] == "preset"
    assert all("#" in line for line in cell.source.splitlines())
    # The guard against misspelt parameters sees exactly these.
    assert list(notebooks.parameters(path)) == names


def test_no_outputs_and_no_execution_counts_are_committed(book):
    for cell in code(book):
        assert not cell.outputs and cell.execution_count is None, cell.id


def test_no_shell_installs_magics_or_absolute_paths(book):
    for cell in code(book):
        for line in cell.source.splitlines():
            assert not line.lstrip().startswith(("!", "%")), line
            assert not re.search(r"""["'](/|~|[A-Z]:\\)\w""", line), line


def test_size_limits(book):
    assert len(book.cells) <= MAX_CELLS
    lines = [[x for x in c.source.splitlines() if x.strip()] for c in code(book)]
    assert sum(map(len, lines)) <= MAX_LINES
    assert max(map(len, lines)) <= MAX_CELL_LINES
    assert sum(cell.cell_type == "markdown" for cell in book.cells) * 2 >= len(lines)


def test_it_checks_its_numbers(book):
    headings = [
        c.source for c in book.cells if re.search(r"(?m)^## .*Checks\s*$", c.source)
    ]
    assert len(headings) == 1
    start = book.cells.index(next(c for c in book.cells if c.source == headings[0]))
    asserts = [
        node
        for cell in book.cells[start:]
        if cell.cell_type == "code"
        for node in ast.walk(ast.parse(cell.source))
        if isinstance(node, ast.Assert)
    ]
    assert len(asserts) >= 3


def test_every_exercise_has_a_folded_solution(book):
    stubs, solutions = tagged(book, "exercise"), tagged(book, "solution")
    assert len(stubs) == len(solutions)
    assert all("NotImplementedError" in cell.source for cell in stubs)
    for cell in solutions:
        assert cell.source.startswith("<details><summary>")
        assert re.search(r"```python\n.+?\n```", cell.source, re.S)


def test_links_to_other_notebooks_lead_somewhere(book):
    known = {path.name for path in BOOKS} | PLANNED
    for cell in book.cells:
        if cell.cell_type == "markdown":
            for target in re.findall(r"\]\(([\w./]+\.ipynb)\)", cell.source):
                assert target in known, target


#: Notebooks of the plan; a link may be written before its target.
PLANNED = {
    "00_start_here.ipynb",
    "03_trajectories_and_verifiers.ipynb",
    "04_pivot_profiling.ipynb",
    "05_pivotrl.ipynb",
    "06_pivotal_mistakes.ipynb",
    "07_pivotopd.ipynb",
    "08_baselines.ipynb",
    "09_recovery_and_retention.ipynb",
    "10_figures_and_tables.ipynb",
    "90_benchmarks.ipynb",
    "pretraining.ipynb",
}
