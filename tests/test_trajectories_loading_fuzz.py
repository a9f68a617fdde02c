"""Readers are total: whatever comes in, a report comes out."""

import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trajectory_files import FOLDER
from trajectory_fuzz import garbled, mutated, places, seeds

from pivotlab.trajectories.assembly import Origin
from pivotlab.trajectories.loading import LoadReport, load, read_record

SEEDS = seeds()
PLACES = [[p for p in places(s) if p] or [(0,)] for s in SEEDS]
#: No single small record may take longer than this, in seconds, on a busy machine.
SLOWEST = 2.0


def check(record):
    report = LoadReport("record.json")
    start = time.perf_counter()
    found = list(read_record(record, Origin("record.json"), report))
    assert time.perf_counter() - start < SLOWEST
    turns = [(t, i) for t in found for i in t.assistant_turns()]
    skipped = [i for t, i in turns if i in t.skips]
    assert report.turns == len(turns) == report.candidates + len(skipped)
    assert all(t.skips.keys() <= set(t.assistant_turns()) for t in found)
    assert len({t.uid for t in found}) == len(found)
    assert report.failed == len(report.errors) or len(report.errors) == 100


def run_mutations(count, seed):
    rng = random.Random(seed)
    for _ in range(count):
        index = rng.randrange(len(SEEDS))
        check(mutated(SEEDS[index], PLACES[index], rng))


def run_garbled(count, seed, tmp_path):
    rng = random.Random(seed)
    files = sorted(p for p in FOLDER.iterdir() if p.is_file())
    for _ in range(count):
        source = rng.choice(files)
        path = tmp_path / source.name
        path.write_bytes(garbled(source.read_bytes(), rng))
        report = load(path)
        assert report.turns == report.candidates + sum(report.skips.values())


def test_mutated_records_never_raise():
    run_mutations(1500, seed=0)


def test_garbled_files_never_raise(tmp_path):
    run_garbled(250, 0, tmp_path)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(max_size=10), inner, max_size=4)
    ),
    max_leaves=15,
)


@given(json_values)
@settings(max_examples=150)
def test_any_json_value_is_reported(record):
    check(record)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_a_hundred_thousand_inputs(seed, tmp_path):
    run_mutations(9_500, seed=100 + seed)
    run_garbled(600, 100 + seed, tmp_path)
