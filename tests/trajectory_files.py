"""Hand-written trajectory files of every format, and short ways to read them."""

from __future__ import annotations

from pivotlab import paths
from pivotlab.records import Trajectory
from pivotlab.trajectories.assembly import Origin
from pivotlab.trajectories.loading import LoadReport, load, read_record

FOLDER = paths.ROOT / "tests" / "fixtures" / "trajectories"


def fixture(name: str, **kwargs) -> LoadReport:
    """The report of one fixture file."""
    return load(FOLDER / name, **kwargs)


def read(record) -> LoadReport:
    """The report of one decoded record."""
    report = LoadReport("record.json")
    report.trajectories += read_record(record, Origin("record.json"), report)
    return report


def only(record) -> Trajectory:
    """The one trajectory of a record."""
    report = read(record)
    (found,) = report.trajectories
    assert report.errors == []
    return found


def shape(trajectory: Trajectory) -> list[str]:
    """Roles with the names of the calls: "assistant:f,g"."""
    return [
        ":".join(
            [m.role, *[",".join(c.name for c in m.tool_calls)] * bool(m.tool_calls)]
        )
        for m in trajectory.messages
    ]
