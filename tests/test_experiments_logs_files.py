"""Names of logs to the files they stand for."""

import pytest

from pivotlab.experiments.logs import files
from pivotlab.trajectories import registry


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
