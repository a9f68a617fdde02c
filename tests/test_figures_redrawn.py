"""Every figure beside the papers, drawn twice from the same tables: the same bytes."""

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
from paper_records import write_records

from pivotlab.experiments import plotting
from pivotlab.experiments.figures import papers, papers_pivotopd, papers_pivotrl
from pivotlab.experiments.own_records import OwnRecords
from pivotlab.experiments.reported import load_reported


def draw_all(folder, records, monkeypatch):
    """Names of all figures; coarse, since bytes differ at any resolution or at none."""
    monkeypatch.setitem(plotting._STYLE, "savefig.dpi", 40)
    reported, own = load_reported(), OwnRecords(records)
    names = []
    for module in (papers_pivotrl, papers_pivotopd):
        for pair in module.pairs(reported, own):
            plt.close(papers.save(pair, folder))
            names.append(pair.name)
    return names


def test_every_figure_is_the_same_bytes_twice(tmp_path, monkeypatch):
    records = tmp_path / "records"
    records.mkdir()
    write_records(records)
    names = draw_all(tmp_path / "one", records, monkeypatch)
    assert names == draw_all(tmp_path / "two", records, monkeypatch)
    assert len(names) == 19
    for name in names:
        for end in (".png", ".pdf", ".md", ".csv"):
            first, second = (tmp_path / f / f"{name}{end}" for f in ("one", "two"))
            assert first.read_bytes() == second.read_bytes(), f"{name}{end}"
