"""Reported numbers: complete, valid, and traced to the lines they come from."""

import pandas as pd
import pytest

from pivotlab import paths
from pivotlab.evaluation.recovery import INTERVENTIONS
from pivotlab.experiments.reported import (
    FILES,
    PIVOTOPD,
    PIVOTRL,
    Cell,
    block,
    image_only,
    load_reported,
    number,
    reference_folder,
    untraced,
    wide,
)


@pytest.fixture(scope="module")
def reported():
    return load_reported()


def write(folder, **changes):
    """A folder of reported numbers that holds one row, with some cells changed."""
    row = {"paper": "P", "table": "T", "row": "r", "column": "c", "value": "1.5"}
    row |= {"provenance": "paper", "note": "", "source_line": "a.md:2"} | changes
    for name in FILES:
        rows = [row] if name == "pivotrl" else []
        table = pd.DataFrame(rows, columns=list(row))
        table.to_csv(folder / f"{name}.csv", index=False)
    return folder


def test_every_table_of_both_papers_is_there(reported):
    def tables(paper):
        return set(reported[reported["paper"] == paper]["table"])

    printed = {f"Table {n}" for n in range(1, 7)} | {f"Figure {n}" for n in (1, 2, 3)}
    assert printed <= tables(PIVOTRL)
    printed = {"Table 1, Qwen3-1.7B", "Table 1, Qwen3-8B", "Table 2", "Table S.1"}
    printed |= {"Figure 3", "Figure 5", "Figure 6", "Figure 7", "Table S.5"}
    assert printed | {"App. D.6, SWE-Bench Verified"} <= tables(PIVOTOPD)
    for student in ("Qwen3-1.7B", "Qwen3-8B"):
        main = wide(reported, PIVOTOPD, f"Table 1, {student}")
        assert main.shape == (15, 17) and main.notna().all().all()


def test_every_intervention_of_the_replay_has_its_printed_success(reported):
    """Notebook 06 looks the paper's values up by the names of our interventions."""
    printed = wide(reported, PIVOTOPD, "Counterfactual replay", ["success"])
    values = printed["success"][list(INTERVENTIONS)]
    assert list(values) == [8.2, 6.9, 17.2, 59.0, 58.3, 62.2]


def test_spot_values(reported):
    cells = {
        (PIVOTRL, "Table 1", "SWE-Bench Verified", "delta vs SFT"): -4.73,
        (PIVOTRL, "Table 2", "AIME25", "delta SFT"): -19.72,
        (PIVOTOPD, "Table 1, Qwen3-1.7B", "PivotRL", "NQ"): 35.6,
        (PIVOTOPD, "Counterfactual replay", "oracle at the pivot", "hi"): 69.8,
        (PIVOTOPD, "Hyperparameters", "ALFWorld", "learning rate"): 1e-6,
    }
    for cell, value in cells.items():
        assert number(reported, Cell(*cell)) == value


def test_half_a_unit_follows_the_printed_digits(reported):
    own = reported.set_index(list(Cell._fields))["half_unit"]
    assert own[PIVOTRL, "Table 5", "τ²-Bench", "gain"] == 0.005  # printed 16.00
    assert own[PIVOTOPD, "Table S.1", "mean", "accuracy within 1 turn"] == 0.05
    assert own[PIVOTRL, "Figure 1", "PivotRL", "step"] == 0.5
    assert own[PIVOTOPD, "Hyperparameters", "WebShop", "learning rate"] == 0.0


def test_points_of_images_have_no_number_but_a_note(reported):
    found = image_only(reported)
    assert {"Figure 2", "Figure 3", "Figure 5", "Figure 6"} <= set(found["table"])
    assert found["note"].str.contains("image|unknown|not known").all()
    assert (reported["value"] == "").sum() == len(found)


def test_conflicts_are_noted_at_the_number(reported):
    noted = reported[reported["note"].str.startswith("conflict")]
    assert set(noted["table"]) >= {"Table 2", "Table 4", "Settings"}


def test_wide_keeps_the_printed_order(reported):
    table = wide(reported, PIVOTRL, "Table 6", ("airline", "telecom"))
    assert table.columns.tolist() == ["airline", "telecom"]
    assert table.index[0] == "base" and table.loc["SFT", "telecom"] == 65.79


@pytest.mark.parametrize(
    "change, message",
    [
        ({"provenance": "hearsay"}, "pivotrl.csv:2: unknown provenance 'hearsay'"),
        ({"value": "+1.5"}, "value '\\+1.5' is not a plain number"),
        ({"value": ""}, "an empty value needs a note"),
        ({"source_line": "a.md"}, "source_line 'a.md' must read FILE.md:LINE"),
        ({"row": ""}, "must be filled in"),
        ({"extra": "1"}, "columns must be paper, table"),
    ],
)
def test_bad_rows_are_named(tmp_path, change, message):
    with pytest.raises(ValueError, match=message):
        load_reported(write(tmp_path, **change))


def test_one_number_has_one_row(tmp_path):
    path = write(tmp_path) / "pivotrl.csv"
    path.write_text(path.read_text() + path.read_text().splitlines()[1] + "\n")
    with pytest.raises(ValueError, match="reported twice: Cell"):
        load_reported(tmp_path)


def test_unknown_tables_and_cells_are_named(reported):
    with pytest.raises(KeyError, match="PivotRL has no 'Table 9'; tables: Table 1"):
        block(reported, PIVOTRL, "Table 9")
    with pytest.raises(KeyError, match="not reported: Cell"):
        number(reported, Cell(PIVOTRL, "Table 1", "τ²-Bench", "std"))


@pytest.mark.parametrize(
    "value, tag, line, traced",
    [
        ("1.5", "paper", "text [paper] | 1.5 |", True),
        ("1.5", "paper", "text [paper] | 11.5 | 1.52 |", False),
        ("-1.5", "paper", "[paper] −1.5", True),
        ("1.5", "paper", "[paper] −1.5", False),
        ("1024", "third-party", "| 1,024 = 64 | third-party |", True),
        ("1.5", "article", "[paper] 1.5", False),
        ("8", "untagged", "8–12 of 30", True),
    ],
)
def test_a_row_is_traced_by_value_sign_and_tag(tmp_path, value, tag, line, traced):
    (tmp_path / "a.md").write_text(f"# title\n{line}\n")
    table = load_reported(write(tmp_path, value=value, provenance=tag))
    failures = untraced(table, tmp_path)
    assert (failures == []) is traced, failures
    assert traced or "a.md:2" in failures[0]


def test_every_number_stands_in_its_line_of_the_reference(reported):
    folder = reference_folder()
    if folder is None:
        pytest.skip("PIVOTLAB_REFERENCE does not name the collection of facts")
    assert untraced(reported, folder) == []


def test_the_collection_is_named_by_the_environment(monkeypatch, tmp_path):
    monkeypatch.delenv("PIVOTLAB_REFERENCE", raising=False)
    assert reference_folder() is None
    monkeypatch.setenv("PIVOTLAB_REFERENCE", str(tmp_path))
    assert reference_folder() == tmp_path
    monkeypatch.setenv("PIVOTLAB_REFERENCE", str(tmp_path / "gone"))
    with pytest.raises(FileNotFoundError, match="PIVOTLAB_REFERENCE=.*gone"):
        reference_folder()


def test_a_record_says_that_all_rows_were_traced(reported):
    checks = pd.read_csv(paths.RESULTS / "checks.csv")
    found = checks[checks["check"] == "reported rows traced, share"]
    assert found["n"].tolist() == [len(reported)] and found["value"].tolist() == [1.0]


def test_the_files_are_all_that_is_there():
    assert {p.stem for p in paths.REPORTED.glob("*.csv")} == set(FILES)
