"""A file is the old one or the new one, and one process writes at a time."""

import threading

import pytest

from pivotlab.whole_files import locked, replacing, write_text


def test_a_file_is_replaced_at_the_end_and_not_before(tmp_path):
    path = tmp_path / "deep" / "a.png"
    write_text(path, "old")
    with replacing(path) as part:
        part.write_text("new")
        assert not list(path.parent.glob("*.png"))[1:], "a part has another ending"
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert list(path.parent.iterdir()) == [path]


def test_a_failed_write_leaves_the_old_file_alone(tmp_path):
    path = tmp_path / "a.txt"
    write_text(path, "α")
    with pytest.raises(ZeroDivisionError), replacing(path) as part:
        part.write_text("half")
        1 / 0  # noqa: B018
    assert path.read_text(encoding="utf-8") == "α"
    assert list(tmp_path.iterdir()) == [path]


def test_a_second_writer_waits_and_one_of_another_file_does_not(tmp_path):
    order = []

    def write(name):
        with locked(tmp_path / name):
            order.append(name)

    with locked(tmp_path / "a"):
        waiting = threading.Thread(target=write, args=("a",))
        waiting.start()
        write("b")
        order.append("first")
    waiting.join()
    assert order == ["b", "first", "a"]
