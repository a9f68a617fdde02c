"""Orders of a `find` expression that mean the same, and those that do not."""

import pytest

from pivotlab.verifiers import shell_find


def form(line: str):
    return shell_find.normalise(line.split()[1:])


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("find . -type f -name *.c", "find -name *.c -type f"),
        ("find a -print", "find a"),
        ("find a/ -name x -and -type f", "find ./a -type f -name x"),
        ("find a -name x -maxdepth 1", "find a -maxdepth 1 -name x"),
        ("find a -not -name x -type d", "find a -type d ! -name x"),
        ("find a -type f -type f", "find a -type f"),
        ("find a -name x -type f -delete", "find a -type f -name x -delete"),
    ],
)
def test_the_same_search(first, second):
    assert form(first) == form(second)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("find a -name x -delete", "find a -delete -name x"),
        ("find a -name x -o -type f", "find a -type f -o -name x"),
        ("find a -name x -exec rm {} ; -print", "find a -name x -exec rm {} ;"),
        ("find a b", "find b a"),
        ("find a -name x", "find a -iname x"),
        ("find a -mtime +7", "find a -mtime 7"),
        ("find a ! -name x", "find a -name x"),
        ("find a -exec grep y {} ; -name x", "find a -name x -exec grep y {} ;"),
    ],
)
def test_another_search(first, second):
    assert form(first) != form(second)


@pytest.mark.parametrize(
    "line", ["find", "find !", "find ! !", "find -name", "find -o"]
)
def test_cut_off_expressions_have_a_form(line):
    assert form(line)
