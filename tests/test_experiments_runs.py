"""Run folders: whole or absent, with all that a number depends on."""

import json
import subprocess

import numpy as np
import pytest

from pivotlab import paths
from pivotlab.experiments import record_tables, runs


def test_a_finished_run_is_one_folder_with_four_files(tmp_path):
    with runs.Run("quick/x", {"steps": 3}, seeds=[0, 1], folder=tmp_path) as run:
        run.log(step=1, reward=0.5)
        run.log(step=2, reward=0.75, kl=0.1)
        run.results["success"] = np.float64(0.25)
    names = sorted(p.name for p in (tmp_path / "quick/x").iterdir())
    assert names == ["env.txt", "metrics.csv", "params.json", "results.json"]
    metrics = (run.folder / "metrics.csv").read_text()
    assert metrics == "step,reward,kl\n1,0.5,\n2,0.75,0.1\n"
    assert json.loads((run.folder / "params.json").read_text()) == {"steps": 3}
    assert json.loads((run.folder / "results.json").read_text()) == {"success": 0.25}
    env = dict(
        line.split(": ", 1)
        for line in (run.folder / "env.txt").read_text().splitlines()
        if not line.startswith("version")
    )
    assert env["seeds"] == "0 1" and float(env["seconds"]) >= 0


def test_default_folder_follows_the_home(tmp_path, monkeypatch):
    monkeypatch.setenv("PIVOTLAB_HOME", str(tmp_path))
    run = runs.Run("x", {})
    assert run.finish(value=1) == tmp_path / "runs" / "x"


def test_a_batch_gives_a_run_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.setenv("PIVOTLAB_RUN", str(tmp_path / "cell"))
    run = runs.Run("quick/x", {})
    assert run.finish() == tmp_path / "cell"
    assert run.figures == tmp_path / "cell" / "figures"
    assert runs.Run("quick/x", {}, folder=tmp_path).folder == tmp_path / "quick/x"


def test_a_failing_run_keeps_what_it_computed_and_the_old_result(tmp_path):
    with runs.Run("x", {"steps": 1}, folder=tmp_path) as run:
        run.results["value"] = 1
    with (
        pytest.raises(ZeroDivisionError),
        runs.Run("x", {"steps": 2}, folder=tmp_path) as run,
    ):
        run.log(step=1, loss=0.5)
        1 / 0  # noqa: B018
    assert (run.folder / "metrics.csv.part").read_text() == "step,loss\n1,0.5\n"
    assert "ZeroDivisionError" in (run.folder / "error.txt").read_text()
    assert json.loads((run.folder / "results.json").read_text()) == {"value": 1}
    with runs.Run("x", {"steps": 2}, folder=tmp_path) as run:
        run.results["value"] = 2
    assert not (run.folder / "error.txt").exists()
    assert not list(run.folder.glob("*.part"))


def test_two_runs_of_one_name_both_finish(tmp_path):
    first, second = (runs.Run("x", {"steps": n}, folder=tmp_path) for n in (1, 2))
    for run in (first, second):
        run.log(loss=1.0)
        assert run.finish() == tmp_path / "x"
    assert '"steps": 2' in (tmp_path / "x" / "params.json").read_text()
    assert not list((tmp_path / "x").glob("*.part"))


def test_metrics_are_on_disk_before_the_run_ends(tmp_path, monkeypatch):
    monkeypatch.setattr(runs, "FLUSH_SECONDS", 0.0)
    run = runs.Run("x", {}, folder=tmp_path)
    run.log(step=1)
    assert (run.folder / "metrics.csv.part").read_text() == "step\n1\n"


def test_parameters_that_are_not_data_are_refused(tmp_path):
    with pytest.raises(TypeError):
        runs.Run("x", {"model": object()}, folder=tmp_path)
    assert not (tmp_path / "x").exists()


def test_provenance_names_commit_versions_and_hardware(monkeypatch):
    facts = runs.provenance([3])
    head = subprocess.run(
        ["git", "-C", str(paths.ROOT), "rev-parse", "HEAD"],
        capture_output=True,
        text=True,
    ).stdout.strip()
    assert head.startswith(facts["commit"].rstrip("+")) or facts["commit"] == "unknown"
    assert facts["version: trl"] == "1.16.0"
    assert int(facts["cores"]) >= 1 and facts["memory"].endswith("GiB")
    monkeypatch.setenv("PATH", "")
    assert runs.commit() == "unknown"
    assert runs.hardware()["gpu"] == "none"


def test_checks_are_recorded_by_run_and_join_its_results(tmp_path):
    run = runs.Run("smoke/x", {}, folder=tmp_path)
    for value in (0.5, 1.5e-16):
        path = runs.save_checks(run, {"identity": (value, 50)})
    (row,) = record_tables.read_records("checks", run.records).to_dict("records")
    assert path == tmp_path / "smoke/x/records/checks.csv"
    assert (row["run"], row["check"], row["n"]) == ("smoke/x", "identity", "50")
    assert row["value"] == "1.5e-16" and row["commit"] == runs.commit()
    run.finish()
    assert json.loads((run.folder / "results.json").read_text()) == {
        "identity": 1.5e-16
    }


@pytest.mark.parametrize(
    "name, shown", [("smoke/x", False), ("quick/x", False), ("cpu/x", True)]
)
def test_only_reference_runs_write_what_the_repository_shows(tmp_path, name, shown):
    run = runs.Run(name, {}, folder=tmp_path)
    places = {run.figures, run.records}
    inside = {run.folder / "figures", run.folder / "records"}
    assert places == ({paths.figures(), paths.results()} if shown else inside)


def test_stamp_is_one_line_with_commit_seeds_and_versions():
    line = runs.stamp([3, 4])
    assert line.startswith(f"commit {runs.commit()}, seeds 3 4, python 3.")
    assert "trl 1.16.0" in line and "\n" not in line
    assert "seeds none" in runs.stamp()
