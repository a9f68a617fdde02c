"""Record tables: merged by key, and nothing of others lost."""

import multiprocessing

import pandas as pd
import pytest

from pivotlab.experiments import record_tables


def test_the_default_folder_follows_the_home(tmp_path, monkeypatch):
    monkeypatch.setenv("PIVOTLAB_HOME", str(tmp_path))
    path = record_tables.merge_records("t", [{"a": 1}], ["a"])
    assert path == tmp_path / "data" / "results" / "t.csv"


def test_merging_replaces_equal_keys_and_keeps_the_rest(tmp_path):
    keys = ["arm", "seed"]
    first = [{"arm": "sft", "seed": s, "success": 0.1 * s} for s in (10, 2, 1)]
    path = record_tables.merge_records("arms", first, keys, tmp_path)
    assert path.read_text() == "arm,seed,success\nsft,1,0.1\nsft,2,0.2\nsft,10,1\n"
    again = pd.DataFrame({"arm": ["sft", "base"], "seed": [2, 0], "note": ["x", "y"]})
    record_tables.merge_records("arms", again, keys, tmp_path)
    assert path.read_text() == (
        "arm,seed,success,note\nbase,0,,y\nsft,1,0.1,\nsft,2,,x\nsft,10,1,\n"
    )
    before = path.read_bytes()
    record_tables.merge_records("arms", again, keys, tmp_path)
    assert path.read_bytes() == before


def test_untouched_rows_keep_their_text(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n007,0.30\nnull,NaN\n")
    record_tables.merge_records("t", [{"a": "x", "b": 1.0}], ["a"], tmp_path)
    assert path.read_text() == "a,b\n007,0.30\nnull,NaN\nx,1\n"


@pytest.mark.parametrize(
    "rows, message",
    [
        ([{"seed": 1}], "t: rows lack the key columns arm"),
        ([{"arm": "a", "seed": 1}] * 2, "t: 1 repeated keys, first: arm=a, seed=1"),
    ],
)
def test_bad_records_are_named_and_nothing_is_written(tmp_path, rows, message):
    with pytest.raises(ValueError, match=message):
        record_tables.merge_records("t", rows, ["arm", "seed"], tmp_path)
    assert not (tmp_path / "t.csv").exists()


def _merge_one(folder, seed):
    record_tables.merge_records("t", [{"seed": seed, "value": seed}], ["seed"], folder)


def test_concurrent_writers_lose_nothing(tmp_path):
    context = multiprocessing.get_context("fork")
    workers = [
        context.Process(target=_merge_one, args=(tmp_path, seed)) for seed in range(12)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    table = record_tables.read_records("t", tmp_path)
    assert table["seed"].tolist() == [str(seed) for seed in range(12)]


def test_missing_table_lists_those_that_exist(tmp_path):
    record_tables.merge_records("arms", [{"a": 1}], ["a"], tmp_path)
    with pytest.raises(FileNotFoundError, match="no records 'armz' .* are: arms"):
        record_tables.read_records("armz", tmp_path)


def test_rows_of_several_cells_go_to_their_tables(tmp_path):
    cells = [{"x": [{"a": 1}], "y": []}, {"x": [{"a": 2}], "y": [{"b": 3}]}]
    keys = {"x": ("a",), "y": ("b",), "z": ("c",)}
    record_tables.merge_tables(cells, keys, tmp_path)
    assert (tmp_path / "x.csv").read_text() == "a\n1\n2\n"
    assert (tmp_path / "y.csv").read_text() == "b\n3\n"
    assert not (tmp_path / "z.csv").exists()


def test_columns_of_rows_are_their_union():
    assert record_tables.rows_to_csv([{"a": 1}, {"b": 2}]) == "a,b\n1,\n,2\n"
