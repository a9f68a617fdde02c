"""Headless execution of one notebook by papermill, without papermill's silent failures.

papermill accepts misspelt parameters with a warning, needs a display for its progress
bar, and leaves a half-run notebook under the name of the result. Here an unknown
parameter or preset stops before anything runs, and `output` exists only if every cell
passed; the notebook of a failed run is kept as `<output>.failed.ipynb` and named in the
error.
"""

from __future__ import annotations

import ast
import difflib
import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pivotlab import paths
from pivotlab.experiments.command_line import Parser
from pivotlab.experiments.presets import get_preset


class NotebookError(RuntimeError):
    """A cell failed; the message says which, why, and where the notebook lies."""


def code_cells(notebook: Path | str) -> list[tuple[str, Sequence[str]]]:
    """(source, tags) of every code cell; nbformat would take a second to import.

    Raises:
        FileNotFoundError: there is no such notebook.
        ValueError: the file is no notebook.
    """
    if not Path(notebook).is_file():
        raise FileNotFoundError(f"no notebook {notebook}; {_nearest(Path(notebook))}")
    try:
        cells = json.loads(Path(notebook).read_text("utf-8"))["cells"]
        return [
            ("".join(cell["source"]), cell["metadata"].get("tags", []))
            for cell in cells
            if cell["cell_type"] == "code"
        ]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{notebook} is no notebook of format 4 ({error!r})") from None


def _nearest(missing: Path) -> str:
    """The notebooks of that folder and of the repository that are called nearly so."""
    folders = (paths.NOTEBOOKS, missing.parent)
    known = {p.stem: p for folder in folders for p in sorted(folder.glob("*.ipynb"))}
    near = difflib.get_close_matches(missing.stem, known, n=3)
    if near:
        return f"did you mean {', '.join(str(known[stem]) for stem in near)}?"
    return f"there are {', '.join(map(str, known.values()))}"


def parameters(notebook: Path | str) -> dict[str, Any]:
    """Name -> default of the notebook's parameters cell.

    Raises:
        FileNotFoundError: there is no such notebook.
        ValueError: it has no parameters, or one whose default is no literal.
    """
    tagged = [text for text, tags in code_cells(notebook) if "parameters" in tags]
    if not tagged:
        raise ValueError(f"{notebook} has no cell tagged 'parameters'")
    try:
        return dict(map(_assigned, ast.parse(tagged[0]).body))
    except (SyntaxError, ValueError) as error:
        raise ValueError(
            f"{notebook}: its parameters cell must be lines of NAME = LITERAL ({error})"
        ) from None


def _assigned(line: ast.stmt) -> tuple[str, Any]:
    """Name and value of an assignment, annotated or not."""
    match line:
        case ast.AnnAssign(ast.Name(name), _, value) | ast.Assign(
            [ast.Name(name)], value
        ):
            return name, ast.literal_eval(value)
    raise ValueError(ast.unparse(line))


def check_parameters(notebook: Path | str, given: Mapping[str, Any]) -> None:
    """Refuse names the notebook doesn't have, and a preset that nobody has.

    Raises:
        FileNotFoundError: there is no such notebook.
        ValueError: names the parameter or preset and what is valid.
    """
    known = parameters(notebook)
    for name in given:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=3) or sorted(known)
            raise ValueError(
                f"{Path(notebook).name} has no parameter {name!r}; "
                f"did you mean {', '.join(near)}?"
            )
    if "preset" in given:
        get_preset(str(given["preset"]))


def execute(
    notebook: Path | str,
    output: Path | str,
    params: Mapping[str, Any] | None = None,
    *,
    timeout: int | None = None,
) -> Path:
    """Run every cell of a notebook with some parameters replaced.

    The kernel starts in the caller's working directory; notebooks find their files
    through `pivotlab.paths`, so any directory does.

    Args:
        output: the executed notebook; its folder is made if missing.
        params: values by parameter name.
        timeout: seconds per cell, None for no limit.

    Returns:
        `output`, resolved.

    Raises:
        FileNotFoundError: there is no such notebook.
        ValueError: unknown parameter or preset, or nothing can be written to the home.
        NotebookError: a cell failed or the kernel died.
    """
    notebook, output = Path(notebook).resolve(), Path(output).resolve()
    check_parameters(notebook, params or {})
    paths.check_home()
    output.parent.mkdir(parents=True, exist_ok=True)
    part = output.with_suffix(".part.ipynb")
    failed = output.with_suffix(".failed.ipynb")
    # Bars fill an executed notebook with junk; a user's own setting wins.
    os.environ.setdefault("TQDM_DISABLE", "1")
    # Spinning threads slow everything down as soon as another process runs.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    # Imported last: papermill takes seconds, and a mistyped name shall not.
    from pivotlab.experiments import kernel

    try:
        kernel.run(notebook, part, params or {}, timeout)
    except kernel.Failed as error:
        os.replace(part, failed)
        where = f"{notebook.name} failed in {error}"
        raise NotebookError(f"{where}; see {failed}") from error
    failed.unlink(missing_ok=True)
    os.replace(part, output)
    return output


def parse_value(text: str) -> Any:
    """A command-line value: a Python literal where it is one, else the text itself.

    `0,1,2` stays text: lists in notebook parameters are words with commas between.
    """
    try:
        value = ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return text
    bare = isinstance(value, tuple) and not text.lstrip().startswith("(")
    return text if bare else value


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line; 0 on success, 1 for a failed cell, 2 a bad request, 130 Ctrl-C."""
    parser = Parser(
        prog="python -m pivotlab.experiments.notebooks", description=__doc__
    )
    parser.add_argument("notebook", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument(
        "-p", nargs=2, action="append", default=[], metavar=("NAME", "VALUE")
    )
    parser.add_argument("--preset", help="short for -p preset PRESET")
    options = parser.parse_args(arguments)
    params = {name: parse_value(value) for name, value in options.p}
    if options.preset is not None:
        params["preset"] = options.preset
    try:
        print(execute(options.notebook, options.output, params))
    except KeyboardInterrupt:
        print("interrupted: finished cells of a run stay finished", file=sys.stderr)
        return 130
    except NotebookError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except (FileNotFoundError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
