"""A model in a real world: ALFWorld's own engine, or tau2's customer service.

    python -m pivotlab.experiments.real_worlds alfworld profiling evaluation
    python -m pivotlab.experiments.real_worlds tau2-airline gold idle --episodes 50
    python -m pivotlab.experiments.real_worlds tau2-airline profiling evaluation \
        --model smollm2-135m --episodes 5 --k 4

`profiling` samples K actions at every turn of demonstrations and judges them (PivotRL
Eq. 4); `evaluation` plays whole episodes, greedy. In a household world both are done on
the twin as well, on the same tasks with the same seeds, and the difference in success
is paired. `gold` sends a tau2 task's own gold actions, which have to earn the full
reward; `idle` ends every conversation at once, and shows what doing nothing earns.

Rows go to `real_engines.csv`. `n` counts turns (profiling) or episodes; `lo` and `hi`
are the Wilson interval of `zero_signal` (profiling) or `success`; `turns` is the mean
of an episode, `seconds` wall time.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from time import perf_counter
from typing import Any

import pandas as pd
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from pivotlab.engines.local import LocalSampler
from pivotlab.engines.protocol import Sampling
from pivotlab.environments import tau2
from pivotlab.evaluation import success
from pivotlab.experiments.known_worlds import WORLDS, RealWorld
from pivotlab.experiments.record_tables import merge_records
from pivotlab.experiments.runs import commit
from pivotlab.intervals import wilson
from pivotlab.models.registry import load_model
from pivotlab.pivots.candidates import collect
from pivotlab.pivots.profiling import profile
from pivotlab.pivots.selection import class_shares, zero_signal
from pivotlab.rendering import Renderer
from pivotlab.rollouts import CachedPlayer, Settings
from pivotlab.trajectories import service_play
from pivotlab.verifiers.exact import ExactVerifier

TABLE = "real_engines"
KEYS = ("world", "what", "model", "seed")


def profiling(
    world: RealWorld,
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    episodes: int,
    k: int,
    seed: int = 0,
) -> dict[str, Any]:
    """K samples at every demonstrated turn, as one row."""
    began = perf_counter()
    tasks = world.tasks("profiling", episodes)
    trajectories = world.demonstrations(world, tasks, seed)
    candidates = collect(trajectories).candidates
    profiles = profile(
        candidates,
        LocalSampler(model),
        Renderer(tokenizer),
        world.verifier(),
        k=k,
        sampling=Sampling(world.max_new_tokens, 1.0),
        strict=ExactVerifier(),
        seed=seed,
    )
    silent = zero_signal(profiles)
    shares = class_shares(profiles)
    accepted = sum(r >= 1 for p in profiles for r in p.rewards)
    return {
        "what": "profiling",
        "n": len(profiles),
        "k": k,
        "max_new_tokens": world.max_new_tokens,
        "zero_signal": silent.value,
        "lo": silent.lo,
        "hi": silent.hi,
        **shares,
        "accepted": accepted / (k * len(profiles)),
        "turns": len(profiles) / len(trajectories),
        "seconds": perf_counter() - began,
    }


def evaluation(
    world: RealWorld,
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    episodes: int,
    seed: int = 0,
) -> pd.DataFrame:
    """Whole episodes, greedy: one row a game, see `success.play_games`."""
    sampling = Sampling(world.max_new_tokens)
    settings = Settings(world.max_turns, system=world.system(), sampling=sampling)
    return success.play_games(
        CachedPlayer(model),
        Renderer(tokenizer),
        world.environment,
        {"evaluation": world.tasks("evaluation", episodes)},
        settings,
        decodings={"greedy": 0.0},
        seed=seed,
    )


def evaluation_row(world: RealWorld, games: pd.DataFrame) -> dict[str, Any]:
    """Success of games with its Wilson interval."""
    table = success.success_table(games, ["decoding"]).iloc[0]
    kept = ("n", "success", "lo", "hi", "turns", "seconds")
    limits = {"max_turns": world.max_turns, "max_new_tokens": world.max_new_tokens}
    return {"what": "evaluation"} | {name: table[name] for name in kept} | limits


def difference_row(games: pd.DataFrame, other: pd.DataFrame) -> dict[str, Any]:
    """Success here minus success there, paired; `same` counts games of equal course."""
    gap = success.compare(games, other, ["decoding"]).iloc[0]
    course = ["won", "turns", "refused", "tokens"]
    same = (games[course].to_numpy() == other[course].to_numpy()).all(axis=1).sum()
    kept = {"n": gap["n"], "success": gap["difference"], "same": int(same)}
    return {"what": "evaluation minus beside"} | kept | {"lo": gap.lo, "hi": gap.hi}


def scripted(world: RealWorld, what: str, episodes: int) -> dict[str, Any]:
    """What a fixed player earns: `gold` the task's own actions, `idle` none.

    Raises:
        ValueError: the world has no gold actions.
    """
    if not world.name.startswith("tau2-"):
        raise ValueError(f"{what!r} is for the tau2 worlds, not {world.name!r}")
    began = perf_counter()
    actions = {"gold": None, "idle": [tau2.STOP]}[what]
    tasks = world.tasks("evaluation", episodes)
    played = [service_play.play(t, actions, name=what) for t in tasks]
    rate = wilson(sum((p.reward or 0) >= 1 for p in played), len(played))
    return {
        "what": what,
        "n": len(played),
        "success": rate.value,
        "lo": rate.lo,
        "hi": rate.hi,
        "turns": sum(len(p.assistant_turns()) for p in played) / len(played),
        "seconds": perf_counter() - began,
    }


def run(
    world: RealWorld, whats: Sequence[str], model: str, episodes: int, k: int, seed: int
) -> list[dict[str, Any]]:
    """The rows of everything asked for, in one world and the one beside it."""
    beside = WORLDS[world.beside] if world.beside else None
    places = [w for w in (world, beside) if w]
    rows = []
    for what in (w for w in whats if w in ("gold", "idle")):
        rows.append({**_facts(world, "none", seed), **scripted(world, what, episodes)})
    if not set(whats) & {"profiling", "evaluation"}:
        return rows
    policy, tokenizer = load_model(model)
    for place in places if "profiling" in whats else ():
        row = profiling(place, policy, tokenizer, episodes, k, seed)
        rows.append({**_facts(place, model, seed), **row})
    if "evaluation" in whats:
        games = [evaluation(p, policy, tokenizer, episodes, seed) for p in places]
        for place, played in zip(places, games, strict=True):
            rows.append({**_facts(place, model, seed), **evaluation_row(place, played)})
        if beside:
            rows.append({**_facts(world, model, seed), **difference_row(*games)})
    return rows


def _facts(world: RealWorld, model: str, seed: int) -> dict[str, Any]:
    """What every row says of where it comes from."""
    facts = {"world": world.name, "model": model, "seed": seed, "commit": commit()}
    return facts | {"version": world.version()}


def main(arguments: Sequence[str] | None = None) -> None:
    """Command line; see the module."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("world", choices=WORLDS)
    whats = ("profiling", "evaluation", "gold", "idle")
    parser.add_argument("what", nargs="+", choices=whats)
    parser.add_argument("--model", default="tiny", help="a name, folder or hub id")
    parser.add_argument("--episodes", type=int, default=60)
    parser.add_argument("--k", type=int, default=16, help="samples per turn")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    world = WORLDS[given.world]
    rows = run(world, given.what, given.model, given.episodes, given.k, given.seed)
    for row in rows:
        print(", ".join(f"{name} {value}" for name, value in row.items()))
    print(f"wrote {merge_records(TABLE, rows, KEYS)}")


if __name__ == "__main__":
    main()
