"""Stored samples: atomic parts, keys, and kills at random moments."""

import multiprocessing
import random
import signal
import time

import pyarrow.parquet as pq
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from pivotlab.engines.protocol import Sample, Sampling
from pivotlab.pivots.store import (
    ProfileStore,
    SampleTable,
    generation_key,
    turn_key,
    weights_digest,
    write_atomically,
)

A, B = turn_key("t#0", [1, 2]), turn_key("t#1", [1, 2, 3])
SAMPLES = [
    Sample((5, 6), False, (-0.5, -0.25)),
    Sample((7,), True),
    Sample((), False, failure="HTTP 500"),
]


@pytest.mark.parametrize("on_disk", [False, True])
def test_what_was_added_comes_back(tmp_path, on_disk):
    table = SampleTable(tmp_path if on_disk else None)
    assert table.count(A) == 0
    table.add([A, B], 0, [SAMPLES, SAMPLES[::-1]])
    table.add([A], 3, [SAMPLES[:1]])
    for again in (table, SampleTable(tmp_path)) if on_disk else (table,):
        assert (again.count(A), again.count(B)) == (4, 3)
        assert again.samples(A, 4) == [*SAMPLES, SAMPLES[0]]
        assert again.samples(B, 2) == SAMPLES[::-1][:2]
        with pytest.raises(KeyError, match="has 3 samples, not 4"):
            again.samples(B, 4)


def test_a_gap_hides_what_follows(tmp_path):
    table = SampleTable(tmp_path)
    table.add([A], 2, [SAMPLES])
    assert table.count(A) == 0
    table.add([A], 0, [SAMPLES[:2]])
    assert SampleTable(tmp_path).count(A) == 5


def test_the_same_batch_again_replaces_its_file(tmp_path):
    for _ in range(2):
        SampleTable(tmp_path).add([A], 0, [SAMPLES])
    assert len(list(tmp_path.iterdir())) == 1


def test_many_parts_are_read_on_demand(tmp_path):
    table = SampleTable(tmp_path)
    turns = [turn_key(f"t#{i}", [i]) for i in range(30)]
    for i, turn in enumerate(turns):
        table.add([turn], 0, [[Sample((i,), False)]])
    again = SampleTable(tmp_path)
    order = random.Random(0).sample(range(30), 30)
    assert [again.samples(turns[i], 1)[0].token_ids[0] for i in order] == order


def test_a_torn_file_is_named_with_the_way_out(tmp_path):
    SampleTable(tmp_path).add([A], 0, [SAMPLES])
    path = next(tmp_path.iterdir())
    path.write_bytes(path.read_bytes()[:40])
    with pytest.raises(ValueError, match=f"{path.name}.*delete this file"):
        SampleTable(tmp_path)


def test_keys_separate_what_decides_a_sample_and_nothing_else(tmp_path):
    template = {"template": "abc", "options": {}, "history": None}
    base = generation_key("m", template, Sampling(), 0)
    for other in (
        generation_key("n", template, Sampling(), 0),
        generation_key("m", {**template, "history": 3}, Sampling(), 0),
        generation_key("m", template, Sampling(temperature=0.5), 0),
        generation_key("m", template, Sampling(stop_ids=(1,)), 0),
        generation_key("m", template, Sampling(), 1),
    ):
        assert other != base
    assert generation_key("m", template, Sampling(first_sample=9), 0) == base
    store = ProfileStore(tmp_path, "m")
    store.open(template, Sampling(), 0).add([A], 0, [SAMPLES])
    assert store.open(template, Sampling(), 0).count(A) == 3
    assert store.open(template, Sampling(), 1).count(A) == 0


def test_a_changed_prompt_is_another_turn():
    assert turn_key("t#0", [1, 2]) != turn_key("t#0", [1, 3])
    assert turn_key("t#0", [1, 2]) == turn_key("t#0", (1, 2))


def test_weights_digest_sees_every_bit():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
    before = weights_digest(model)
    assert weights_digest(model) == before
    with torch.no_grad():
        model[0].bias[1] = torch.nextafter(model[0].bias[1], torch.tensor(9.0))
    assert weights_digest(model) != before
    assert weights_digest(model.to(torch.bfloat16)) != before


@given(st.binary(), st.binary())
def test_write_atomically(tmp_path_factory, old, new):
    path = tmp_path_factory.mktemp("atomic") / "file"
    for data in (old, new):
        write_atomically(path, data)
        assert path.read_bytes() == data
    assert [p.name for p in path.parent.iterdir()] == ["file"]


def fill(folder, turns, pause, parts=None):
    """What a profiling run does to the table, batch by batch, resumable.

    After `parts` written parts it hangs, so that somebody has to kill it.
    """
    table, written = SampleTable(folder), 0
    for start in range(0, turns, 4):
        batch = [turn_key(f"t#{i}", [i]) for i in range(start, start + 4)]
        for first in sorted({table.count(t) for t in batch} - {6}):
            short = [t for t in batch if table.count(t) == first]
            time.sleep(pause)
            drawn = [
                [Sample((int(t[0][2:]), j), False) for j in range(first, 6)]
                for t in short
            ]
            table.add(short, first, drawn)
            written += 1
            if written == parts:
                time.sleep(3600)


def rows(folder):
    """Every stored row, parts in order."""
    tables = [pq.read_table(p).to_pylist() for p in sorted(folder.glob("*.parquet"))]
    return [row for table in tables for row in table]


@pytest.mark.parametrize(
    "turns, least", [(48, 3), pytest.param(400, 20, marks=pytest.mark.slow)]
)
def test_kills_at_random_moments_lose_one_batch_at_most(tmp_path, turns, least):
    calm, stormy = tmp_path / "calm", tmp_path / "stormy"
    calm.mkdir()
    stormy.mkdir()
    fill(calm, turns, 0)
    context, rng = multiprocessing.get_context("fork"), random.Random(0)
    kills, before = 0, 0
    while len(rows(stormy)) < turns * 6:
        child = context.Process(target=fill, args=(stormy, turns, 0.001, 3))
        child.start()
        wanted = len(list(stormy.iterdir())) + rng.randint(0, 3)
        while child.is_alive() and len(list(stormy.iterdir())) < wanted:
            time.sleep(0.001)
        time.sleep(rng.uniform(0, 0.01))
        child.kill()
        child.join()
        kills += child.exitcode == -signal.SIGKILL
        after = len(rows(stormy))
        assert after >= before, "a kill lost a finished batch"
        before = after
    assert kills >= least
    assert sorted(map(str, rows(stormy))) == sorted(map(str, rows(calm)))
