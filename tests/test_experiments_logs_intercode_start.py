"""Starts for InterCode's commands: from a script, and from the gold commands alone."""

import pytest

from pivotlab.experiments.logs import intercode_start
from pivotlab.verifiers import sandbox

GOLDS = ["cat /testbed/dir1/a.txt | wc -l", "find /system/folder -name '*.c'"]


def test_the_synthetic_tree_holds_what_the_golds_name(tmp_path):
    root = intercode_start.synthetic(GOLDS, tmp_path, 1e9)
    assert (root / "testbed/dir1/a.txt").is_file() and (root / "system/folder").is_dir()
    assert (root / "testbed/dir1/one.c").read_text().startswith("Hello world")
    assert {p.suffix for p in root.rglob("*") if p.is_file()} == {".txt", ".c"}
    assert {p.stat().st_mtime for p in root.rglob("*")} == {1e9}


def test_the_synthetic_tree_is_the_same_every_time(tmp_path):
    trees = []
    for name, golds in (("a", GOLDS), ("b", GOLDS[::-1])):
        root = intercode_start.synthetic(golds, tmp_path / name, 1e9)
        files = sorted(p for p in root.rglob("*") if p.is_file())
        trees.append([(str(p.relative_to(root)), p.read_text()) for p in files])
    assert trees[0] == trees[1]


def test_an_official_tree_is_what_the_script_makes(tmp_path):
    if reason := sandbox.reason_unavailable():
        pytest.skip(reason)
    script = tmp_path / "setup.sh"
    lines = ["rm -rf /testbed", "mkdir -p /testbed/d", "echo hi > /testbed/d/a"]
    dated = ["touch -m -t 202201010000.00 /testbed/d/a", "echo x > /testbed/b"]
    script.write_text("\n".join([*lines, *dated, "chmod 755 /testbed/b"]))
    root = intercode_start.official(script, tmp_path / "root", 1e9)
    assert (root / "testbed/d/a").read_text() == "hi\n"
    assert (root / "testbed/d/a").stat().st_mtime == 1640995200
    assert (root / "testbed/b").stat().st_mtime == 1e9
    assert (root / "testbed/b").stat().st_mode & 0o777 == 0o755


def test_a_script_that_is_missing_or_makes_nothing_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError, match="docker/bash_scripts"):
        intercode_start.official(tmp_path / "none.sh", tmp_path / "root", 1e9)
    if sandbox.reason_unavailable() is None:
        (tmp_path / "idle.sh").write_text("true")
        with pytest.raises(RuntimeError, match="made nothing"):
            intercode_start.official(tmp_path / "idle.sh", tmp_path / "root", 1e9)
