"""Profiles, pivots and training files of logs under a policy of known answers."""

import json

import pandas as pd
import pytest
from datasets import Dataset

from pivotlab.engines.protocol import Sample, Sampling
from pivotlab.experiments.logs import files as log_files
from pivotlab.experiments.logs import profiles as real_logs
from pivotlab.experiments.logs import turns as log_turns
from pivotlab.experiments.logs import verifier_choice
from pivotlab.models.registry import load_tokenizer
from pivotlab.pivots import exchange, nemo_gym
from pivotlab.records import Verdict
from pivotlab.rendering import Renderer

BOOKINGS = log_files.EXAMPLES / "bookings.jsonl"
BY_DOMAIN = verifier_choice.choose("by domain")


class EveryOther:
    """A policy that says the demonstrated text and nonsense in turn."""

    def __init__(self, renderer, candidates):
        self.renderer = renderer
        self.known = {
            tuple(renderer.prompt_ids(c.prefix, c.tools)): c for c in candidates
        }
        self.asked = 0

    def sample(self, prompts, n, sampling, seeds):
        self.asked += len(prompts)
        return [[self._one(tuple(p), j) for j in range(n)] for p in prompts]

    def _one(self, prompt, j):
        c = self.known[prompt]
        if j % 2:
            return Sample(
                (*self.renderer.encode("zzz"), self.renderer.end_of_turn), False
            )
        return Sample(
            tuple(self.renderer.completion_ids(c.prefix, c.expert, c.tools)), False
        )


@pytest.fixture(scope="module")
def profiled(tmp_path_factory):
    renderer = Renderer(load_tokenizer("tiny"))
    turns = log_turns.read_turns([BOOKINGS], BY_DOMAIN, renderer)
    sampler = EveryOther(renderer, turns.candidates)
    policy = real_logs.Policy("parrot", sampler, renderer, "w")
    folder = tmp_path_factory.mktemp("out")
    options = {"k": 4, "sampling": Sampling(64)}
    options["store"] = real_logs.sample_store(folder, policy)
    profiles = real_logs.profile_turns(turns, policy, BY_DOMAIN, **options)
    pivots = real_logs.export(folder, turns, profiles, 0.6)
    return folder, turns, policy, profiles, pivots, options


def test_half_of_the_samples_pass_at_every_turn(profiled):
    _, turns, _, profiles, pivots, _ = profiled
    assert {p.mu for p in profiles.values()} == {0.5}
    assert [c.uid for c in pivots] == [c.uid for c in turns.candidates]
    assert {p.provenance["model"] for p in profiles.values()} == {"parrot"}


def test_training_files_give_the_pivots_back(profiled):
    folder, _, _, profiles, pivots, _ = profiled
    rows = Dataset.from_parquet(str(folder / "pivots.trl.parquet"))
    back, known = exchange.from_trl(rows)
    assert back == pivots
    assert known == {c.uid: profiles[c.uid] for c in pivots}
    gym, errors = nemo_gym.read_pivots(folder / "pivots.gym.jsonl")
    assert errors == [] and [g.candidate.uid for g in gym] == [c.uid for c in pivots]
    assert {g.profile.mu for g in gym} == {0.5}
    lines = (folder / "pivots.gym.jsonl").read_text().splitlines()
    assert [p for line in lines for p in nemo_gym.problems(json.loads(line))] == []


def test_tables_tell_turns_and_skips(profiled):
    folder, turns, *_ = profiled
    assert len(pd.read_csv(folder / "turns.csv")) == len(turns.candidates)
    skips = pd.read_csv(folder / "skips.csv")
    assert skips.to_dict("records") == [{"reason": "empty_turn", "turns": 1}]
    assert pd.read_csv(folder / "files.csv")["assistant_turns"].sum() == turns.turns
    assert pd.read_csv(folder / "summary.csv")["pivot"].tolist() == [1.0]


def test_a_second_profile_samples_nothing(profiled):
    _, turns, policy, profiles, _, options = profiled
    before = policy.sampler.asked
    again = real_logs.profile_turns(turns, policy, BY_DOMAIN, **options)
    assert policy.sampler.asked == before
    assert {u: p.rewards for u, p in again.items()} == {
        u: p.rewards for u, p in profiles.items()
    }


def test_without_a_pivot_no_training_file(tmp_path, profiled):
    _, turns, _, profiles, _, _ = profiled
    assert real_logs.export(tmp_path, turns, profiles, 0.0) == []
    assert not list(tmp_path.glob("pivots*")) and (tmp_path / "turns.csv").exists()


def test_training_files_of_an_earlier_profile_do_not_outlive_it(tmp_path, profiled):
    _, turns, _, profiles, _, _ = profiled
    assert real_logs.export(tmp_path, turns, profiles, 0.6)
    assert len(list(tmp_path.glob("pivots.*"))) == 2
    assert real_logs.export(tmp_path, turns, profiles, 0.0) == []
    assert not list(tmp_path.glob("pivots.*"))


def test_an_endpoint_takes_the_place_of_a_model():
    policy = real_logs.endpoint_policy("http://127.0.0.1:9/v1", "served", "tiny")
    assert policy.name == "served" and "127.0.0.1:9" in policy.weights


def test_broken_verdicts_are_reported(profiled):
    """All samples without a call where calls are due: a set-up problem, said so."""
    _, turns, _, profiles, _, _ = profiled
    calls = [c for c in turns.candidates if c.expert.tool_calls]
    only = log_turns.Turns(candidates=calls)
    text = type(calls[0].expert)("assistant", "zzz")
    bad = real_logs.explorer.SeenSample("zzz", BY_DOMAIN.verify(calls[0], text))
    found = real_logs.warnings(only, {c.uid: [bad] * 4 for c in calls}, profiles)
    assert any("configuration problem" in text for text in found)


def test_samples_that_were_cut_off_are_reported(profiled):
    _, turns, _, profiles, *_ = profiled
    cut = real_logs.explorer.SeenSample("zzz", Verdict(0.0, "truncated"))
    seen = {c.uid: [cut] * 2 for c in turns.candidates}
    assert any(
        "were cut off" in text for text in real_logs.warnings(turns, seen, profiles)
    )


def test_the_chance_of_looking_constant_is_told(profiled):
    """All pass rates are 1/2 at K = 4: 2 / 16."""
    _, turns, _, profiles, *_ = profiled
    seen = {c.uid: [] for c in turns.candidates}
    (note,) = real_logs.warnings(turns, seen, profiles)
    assert note == (
        "a turn with pass rate 0.50 looks constant at K = 4 in 12% of cases"
    )
