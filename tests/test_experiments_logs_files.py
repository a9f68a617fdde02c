"""Names of logs to the files they stand for."""

import pytest

from pivotlab.experiments.logs import files
from pivotlab.trajectories import loading, registry


def test_names_of_registered_files():
    assert len(files.registered("airline")) == 1
    assert len(files.registered("intercode")) >= 10
    (name,) = files.registered("gpt-4o-airline.json")
    assert name == registry.entry("gpt-4o-airline.json").name


def test_a_name_of_nothing_says_what_there_is():
    with pytest.raises(FileNotFoundError, match="embedded, airline"):
        files.find("nowhere.jsonl")


def test_several_names_by_comma(tmp_path):
    path = tmp_path / "a.jsonl"
    path.touch()
    assert files.find(f"{path}, embedded") == [path, *files.find("embedded")]


@pytest.mark.parametrize(
    "text, said",
    [
        ("", "bad.jsonl"),
        ("no json\n", "is not JSON"),
        ('{"a": 1}\n' * 30, "29 more rows cannot be read either"),
    ],
)
def test_files_without_a_trajectory_are_refused(tmp_path, text, said):
    path = tmp_path / "bad.jsonl"
    path.write_text(text)
    with pytest.raises(ValueError, match=said) as error:
        files.check_readable([path])
    assert str(path) in str(error.value) and "\n" not in str(error.value)
    files.check_readable([path, *files.find("embedded")])


def test_no_file_at_all_is_refused():
    with pytest.raises(ValueError, match="no trajectory in"):
        files.check_readable(files.find(","))


def test_reading_stops_at_the_first_trajectory(monkeypatch):
    seen = []

    def counted(path, report):
        for trajectory in loading.stream(path, report):
            seen.append(trajectory.uid)
            yield trajectory

    monkeypatch.setattr(files, "stream", counted)
    files.check_readable(files.find("embedded"))
    assert len(seen) == 1
