"""Options in one order and spelling, and only where the program is known."""

import pytest

from pivotlab.verifiers import shell_options


def parsed(line: str):
    program, *words = line.split()
    return shell_options.parse(program, words)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("ls -la", "ls -l -a"),
        ("ls --all -l", "ls -al"),
        ("head -5 f", "head --lines=5 f"),
        ("head -n5 f", "head -n 5 f"),
        ("rm -rf a", "rm -f --recursive a"),
        ("rm -R a", "rm -r a"),
        ("egrep a f", "grep -E a f"),
        ("tar xzf a", "tar -z -x -f a"),
        ("ls a -l", "ls -l a"),
        ("cat -- a", "cat a"),
        ("rm -f -i a", "rm -i a"),
        ("ls ./a//b/", "ls a/b"),
        ("sort -k2 -k1 -r f", "sort -r -k 2 -k 1 f"),
        ("grep --include=*.c -r x d/", "grep -r --include=*.c x d"),
    ],
)
def test_the_same_options(first, second):
    assert parsed(first) == parsed(second) is not None


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("tar -xf a", "tar -cf a"),
        ("rm -i -f a", "rm -f -i a"),
        ("ls -S -t", "ls -t -S"),
        ("sort -k1 -k2 f", "sort -k2 -k1 f"),
        ("head -5 f", "head -6 f"),
        ("cp a b", "cp b a"),
        ("grep ./a f", "grep a f"),
        ("cat -- -n", "cat -n"),
    ],
)
def test_other_options(first, second):
    assert parsed(first) != parsed(second)


@pytest.mark.parametrize(
    "line",
    ["make -j4", "ls --frobnicate", "head -n", "tar cfz a b", "ls --all=yes", "tar xq"],
)
def test_what_the_table_does_not_know_is_left_alone(line):
    assert parsed(line) is None


@pytest.mark.parametrize(
    ("written", "one"),
    [
        ("./a", "a"),
        ("a//b/./c/", "a/b/c"),
        ("/", "/"),
        ("//", "/"),
        ("./", "."),
        ("..", ".."),
        ("a/../b", "a/../b"),
        ("https://x.org//y/", "https://x.org//y/"),
    ],
)
def test_one_spelling_of_a_path(written, one):
    assert shell_options.path(written) == one


def test_every_entry_of_the_table_is_consistent():
    for program, entry in shell_options.table().items():
        if "as" in entry:
            assert entry["as"] in shell_options.table(), program
            continue
        letters = entry.get("flags", "") + entry.get("values", "")
        assert len(set(letters)) == len(letters), program
        assert set(entry.get("long", {}).values()) <= set(letters), program
        assert set("".join(entry.get("last", ()))) <= set(letters), program
