"""Cells are trained, examined, kept and recorded; banks and teachers are made once."""

from dataclasses import replace

import pytest

from pivotlab.distillation.skill_bank import SkillBank
from pivotlab.experiments.cells import planned
from pivotlab.experiments.methods import comparison
from pivotlab.experiments.methods.comparison import (
    METHOD_KEYS,
    MethodCell,
    Stage,
    run_method_cell,
    save_method_records,
    train_method,
)
from pivotlab.experiments.presets import from_params
from pivotlab.experiments.record_tables import read_records

PRESET = from_params("smoke", max_turns=6)
COLUMNS = (
    "environment", "method", "seed", "n", "success", "lo", "hi", "score", "retention",
    "seconds",
)  # fmt: skip


@pytest.fixture
def stage():
    return Stage("textgame", PRESET)


def test_cells_are_examined_kept_and_recorded(stage, tmp_path, monkeypatch):
    cells = [MethodCell("textgame", m, 0, 1) for m in ("base", "sdar")]
    rows = [run_method_cell(c, stage) for c in cells]
    save_method_records(rows, tmp_path)
    table = read_records("methods", tmp_path)
    assert set(COLUMNS) <= set(table.columns) and set(METHOD_KEYS) < set(COLUMNS)
    assert list(table["method"]) == ["base", "sdar"]
    for row in rows:
        assert 0 <= row["lo"] <= row["success"] == row["score"] <= row["hi"] <= 1
        assert row["retention"] > 0.8 and row["n"] == 4
    assert rows[0]["seconds"] == 0 < rows[1]["seconds"]
    assert rows[0]["bank"] == "" and rows[1]["bank"] == stage.bank.digest()
    # A finished cell is read, not repeated; other settings are refused.
    monkeypatch.setattr(comparison, "_row", None)
    assert run_method_cell(cells[1], stage) == rows[1]
    other = Stage("textgame", replace(PRESET, clip=0.1))
    with pytest.raises(ValueError, match=r"other settings \(.*; delete it"):
        run_method_cell(cells[1], other)


def test_the_bank_is_the_students_own_and_stays_the_same(stage):
    assert stage.bank.skills
    again = Stage("textgame", PRESET)
    assert again.bank == stage.bank == SkillBank.load(stage.folder / "bank.json")
    tasks = set(stage.tasks)
    assert not tasks & set(stage.world.tasks("train", 24, comparison.BANK_START))


def test_the_second_model_is_a_row_of_its_own(stage):
    row = run_method_cell(MethodCell("textgame", "second", 0, 1), stage)
    assert row["n"] == 4 and row["seconds"] == 0 and row["reads"] == "none"
    assert planned(("base", "grpo", "second"), (3, 4)) == [
        ("base", 0),
        ("grpo", 3),
        ("second", 0),
        ("grpo", 4),
    ]


def test_the_second_model_is_whole_or_not_there(stage, monkeypatch):
    def killed(place):
        place.mkdir()
        (place / "config.json").write_text("{}")
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(stage, "_teach", killed)
        with pytest.raises(KeyboardInterrupt):
            _ = stage.second
    assert not list(stage.folder.glob("*"))
    assert stage.second.config.vocab_size == stage.base.config.vocab_size


def test_the_second_model_is_another_and_teaches_opd(stage):
    trained = train_method(MethodCell("textgame", "opd", 0, 1), stage)
    assert (stage.folder / "second-model" / "config.json").exists()
    assert "teacher/action_queries" not in trained.history, "no oracle is asked"
    assert trained.history["every/tokens"].gt(0).all()
    assert abs(trained.history["every/advantage"].iloc[0]) > 0


def test_what_trains_nothing_says_so(stage):
    with pytest.raises(ValueError, match="'base' trains nothing"):
        train_method(MethodCell("textgame", "base", 0, 1), stage)
