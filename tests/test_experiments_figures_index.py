"""The index of figures: names, owners, and the hashes of what is committed."""

import hashlib
from pathlib import Path

import pandas as pd
import pytest

from pivotlab import paths
from pivotlab.experiments.figures.index import COLUMNS, figure_index, write_index

BOOKS = [Path("01_reward_variance.ipynb"), Path("pretraining.ipynb")]


def put(folder, stem, suffixes=(".png", ".pdf", ".md", ".csv")):
    for suffix in suffixes:
        (folder / f"{stem}{suffix}").write_text(stem + suffix)


def test_every_drawn_file_has_a_row(tmp_path):
    put(tmp_path, "pretraining_curve")
    put(tmp_path, "01_two")
    index = figure_index(tmp_path, BOOKS)
    assert tuple(index.columns) == COLUMNS
    digest = hashlib.sha256(b"01_two.pdf").hexdigest()
    first = ["01_two.pdf", "01_reward_variance", "01_two.csv", digest]
    assert index.values.tolist()[0] == first
    assert index["figure"].tolist() == [
        "01_two.pdf",
        "01_two.png",
        "pretraining_curve.pdf",
        "pretraining_curve.png",
    ]
    assert set(index["notebook"]) == {"01_reward_variance", "pretraining"}


@pytest.mark.parametrize("missing", [".csv", ".md"])
def test_a_figure_without_numbers_or_caption_is_refused(tmp_path, missing):
    put(tmp_path, "01_two", {".png", ".csv", ".md"} - {missing})
    with pytest.raises(ValueError, match=rf"01_two.png lacks 01_two\{missing}"):
        figure_index(tmp_path, BOOKS)


def test_a_figure_of_no_notebook_is_refused(tmp_path):
    put(tmp_path, "two")
    with pytest.raises(ValueError, match="two.pdf must start with the number"):
        figure_index(tmp_path, BOOKS)


def test_the_index_is_written_where_figures_are(tmp_path, monkeypatch):
    monkeypatch.setenv("PIVOTLAB_HOME", str(tmp_path))
    (tmp_path / "figures").mkdir()
    put(tmp_path / "figures", "00_classes")
    path = write_index()
    assert path == tmp_path / "figures" / "index.csv"
    assert len(pd.read_csv(path)) == 2


def test_the_committed_index_matches_the_committed_figures():
    """After drawing anew: `python -m pivotlab.experiments.figures.index`."""
    held = pd.read_csv(paths.FIGURES / "index.csv", dtype=str)
    now = figure_index(paths.FIGURES, paths.NOTEBOOKS.glob("*.ipynb"))
    pd.testing.assert_frame_equal(held, now)
    assert len(held) >= 60
