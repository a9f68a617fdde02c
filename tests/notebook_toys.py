"""Notebooks that cost nothing, written where a test wants them."""

import nbformat

KERNEL = {"name": "python3", "display_name": "Python 3", "language": "python"}


def write_notebook(path, *cells, parameters="preset: str = 'smoke'\nsteps: int = 3\n"):
    """A notebook with a parameters cell and the given code cells."""
    book = nbformat.v4.new_notebook()
    book.metadata.kernelspec = KERNEL
    first = nbformat.v4.new_code_cell(parameters)
    first.metadata.tags = ["parameters"]
    book.cells = [first, *map(nbformat.v4.new_code_cell, cells)]
    nbformat.write(book, path)
    return path
