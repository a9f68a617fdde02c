"""Own records: absent tables are empty, present ones are strict."""

import pytest

from pivotlab import paths
from pivotlab.experiments.own_records import REQUIRED, OwnRecords


def test_absent_tables_are_empty_with_their_columns(tmp_path):
    own = OwnRecords(tmp_path)
    for name, columns in REQUIRED.items():
        table = own.table(name)
        assert table.empty and tuple(table.columns) == columns
        assert (
            table[
                "seed" if "seed" in columns else "n" if "n" in columns else columns[-1]
            ].dtype
            == float
        )


def test_numbers_are_numbers_and_other_columns_stay_out(tmp_path):
    (tmp_path / "zero_signal.csv").write_text(
        "model,k,n,zero_share,lo,hi,commit\ntiny,16,5,0.5,,0.9,007\n"
    )
    table = OwnRecords(tmp_path).table("zero_signal")
    assert tuple(table.columns) == REQUIRED["zero_signal"]
    row = table.iloc[0]
    assert (row["model"], row["k"], row["zero_share"]) == ("tiny", 16.0, 0.5)
    assert table["lo"].isna().all()


def test_missing_columns_and_bad_numbers_are_named(tmp_path):
    path = tmp_path / "zero_signal.csv"
    path.write_text("model,k,n\ntiny,16,5\n")
    with pytest.raises(ValueError, match="lacks the columns zero_share, lo, hi"):
        OwnRecords(tmp_path).table("zero_signal")
    path.write_text("model,k,n,zero_share,lo,hi\ntiny,16,5,much,0,1\n")
    with pytest.raises(ValueError, match=r"zero_signal.csv:2: zero_share='much'"):
        OwnRecords(tmp_path).table("zero_signal")


def test_a_table_that_no_figure_reads_is_refused(tmp_path):
    with pytest.raises(KeyError):
        OwnRecords(tmp_path).table("loaders")


def test_committed_records_can_be_read():
    own = OwnRecords()
    assert own.folder == paths.RESULTS
    for name in REQUIRED:
        own.table(name)
    assert len(own.table("zero_signal")) >= 4
