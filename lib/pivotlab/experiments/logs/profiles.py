"""Turns of agent logs under one policy: profiled, judged as a whole, written.

`run` is what the command `logs.profiling` does with its options; notebooks call the
parts.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from pivotlab.engines.endpoint import EndpointSampler
from pivotlab.engines.local import LocalSampler
from pivotlab.engines.protocol import Sampler, Sampling
from pivotlab.experiments.figures.pivots import shares_line, turn_table
from pivotlab.experiments.logs import explorer
from pivotlab.experiments.logs.summary import depth_note, summary
from pivotlab.experiments.logs.turns import Turns, read_turns
from pivotlab.models.registry import load_model, load_tokenizer
from pivotlab.pivots import exchange, nemo_gym
from pivotlab.pivots.profiling import profile
from pivotlab.pivots.selection import LAMBDA_DIFF, select
from pivotlab.pivots.store import ProfileStore, digest, weights_digest
from pivotlab.records import Candidate, TurnProfile
from pivotlab.rendering import Renderer
from pivotlab.verifiers.exact import ExactVerifier
from pivotlab.verifiers.health import health
from pivotlab.verifiers.protocol import Verifier
from pivotlab.whole_files import write_text


@dataclass(frozen=True)
class Policy:
    """Who is asked: a name for records, a sampler, its renderer, exact weights."""

    name: str
    sampler: Sampler
    renderer: Renderer
    weights: str


def local_policy(model: str, device: str = "cpu", **rendering: Any) -> Policy:
    """A model in this process, by name, folder or hub id; raises like `load_model`."""
    loaded, tokenizer = load_model(model, device)
    renderer = Renderer(tokenizer, **rendering)
    return Policy(model, LocalSampler(loaded), renderer, weights_digest(loaded))


def endpoint_policy(
    url: str, model: str, tokenizer: str | None = None, **rendering: Any
) -> Policy:
    """A model behind an OpenAI-compatible address; `tokenizer` is its own, by name."""
    own = load_tokenizer(tokenizer or model)
    sampler = EndpointSampler(url, model, own)
    weights = f"endpoint {url} {model}"
    return Policy(model, sampler, Renderer(own, **rendering), weights)


def profile_turns(
    turns: Turns,
    policy: Policy,
    verifier: Verifier,
    *,
    k: int,
    sampling: Sampling,
    seed: int = 0,
    store: ProfileStore | None = None,
) -> dict[str, TurnProfile]:
    """Profiles by uid, functional and strict rewards on the same samples (Eq. 4)."""
    profiles = profile(
        turns.candidates,
        policy.sampler,
        policy.renderer,
        verifier,
        k=k,
        sampling=sampling,
        strict=ExactVerifier(),
        seed=seed,
        store=store,
        provenance={"model": policy.name},
    )
    return {p.uid: p for p in profiles}


def export(
    folder: Path,
    turns: Turns,
    profiles: Mapping[str, TurnProfile],
    lambda_diff: float = LAMBDA_DIFF,
) -> list[Candidate]:
    """Write tables and training files (see the module); returns the pivots.

    Without a pivot there is nothing to train on: no training file is written, and those
    of an earlier profile go, since they would contradict the tables.
    """
    ordered = [profiles[c.uid] for c in turns.candidates]
    table = turn_table(turns.candidates, ordered, lambda_diff)
    skips = pd.DataFrame(sorted(turns.skips.items()), columns=["reason", "turns"])
    tables = {"skips": skips, "files": turns.files(), "turns": table}
    tables["summary"] = summary(turns.candidates, profiles, lambda_diff)
    for name, rows in tables.items():
        text = rows.to_csv(index=False, float_format="%.6g", lineterminator="\n")
        write_text(folder / f"{name}.csv", text)
    pivots = select(turns.candidates, profiles, "pivots", lambda_diff)
    rows, gym = folder / "pivots.trl.parquet", folder / "pivots.gym.jsonl"
    if pivots:
        exchange.to_trl(pivots, profiles).to_parquet(rows)
        wrapped = [nemo_gym.wrap(c, profiles[c.uid]) for c in pivots]
        nemo_gym.write_rows(map(nemo_gym.to_row, wrapped), gym)
    else:
        rows.unlink(missing_ok=True)
        gym.unlink(missing_ok=True)
    return pivots


def export_explorer(
    path: Path,
    turns: Turns,
    profiles: Mapping[str, TurnProfile],
    samples: Mapping[str, list[explorer.SeenSample]],
    policy: Policy,
    lambda_diff: float = LAMBDA_DIFF,
) -> Path:
    """Write the trajectories that have candidates as a page to browse."""
    shown = {c.trajectory_uid for c in turns.candidates}
    return explorer.export_html(
        path,
        [t for t in turns.trajectories if t.uid in shown],
        turns.candidates,
        profiles,
        samples,
        lambda_diff=lambda_diff,
        title=f"Turns under {policy.name}",
    )


def warnings(
    turns: Turns,
    samples: Mapping[str, list[explorer.SeenSample]],
    profiles: Mapping[str, TurnProfile],
) -> list[str]:
    """What the verdicts say about the set-up, per domain (see `verifiers.health`)."""
    rows = [(c, seen.verdict) for c in turns.candidates for seen in samples[c.uid]]
    found = [text for row in health(rows).values() for text in row.warnings()]
    cut = sum(verdict.category == "truncated" for _, verdict in rows)
    if 2 * cut > len(rows):
        found.append(
            f"{cut} of {len(rows)} samples were cut off and failed for it: raise the "
            "number of new tokens, or tell the model the form of an answer (--system)"
        )
    depth = depth_note(list(profiles.values()))
    return [*found, depth] if depth else found


def sample_store(folder: Path, policy: Policy) -> ProfileStore:
    """Where the samples of a policy are kept below a folder."""
    return ProfileStore(folder / "samples", digest(policy.weights))


def run(given: argparse.Namespace, files: Sequence[Path], verifier: Verifier) -> None:
    """Everything the command line asks for; prints what was found.

    Args:
        given: the options of `logs.profiling`.
        files: the logs.
        verifier: the functional reward.

    Raises:
        ValueError, OSError, RuntimeError: a bad request, told in one line.
    """
    # Loading a model can take minutes; what is wrong with the logs is told before.
    turns = asked_turns(given, files, verifier)
    policy = (
        endpoint_policy(given.endpoint, given.model, given.tokenizer)
        if given.endpoint
        else local_policy(given.model, given.device)
    )
    cut = LAMBDA_DIFF if given.lambda_diff is None else given.lambda_diff
    sampling = Sampling(given.max_new_tokens, given.temperature)
    common = {"k": given.k, "sampling": sampling, "seed": given.seed}
    common["store"] = sample_store(given.out, policy)
    profiles = profile_turns(turns, policy, verifier, **common)
    pivots = export(given.out, turns, profiles, cut)
    samples = explorer.read_samples(
        turns.candidates, policy.renderer, verifier, strict=ExactVerifier(), **common
    )
    page = given.out / "explorer.html"
    export_explorer(page, turns, profiles, samples, policy, cut)
    notes = warnings(turns, samples, profiles)
    print(shares_line(list(profiles.values()), cut))
    print(summary(turns.candidates, profiles, cut).round(3).to_string())
    print("".join(f"note: {text}\n" for text in notes), end="")
    found = f"{len(pivots)} pivots of {len(profiles)} turns under {policy.name}"
    print(f"{found}; open {page.resolve()}")
    if not pivots:
        print("Nothing to train on, so no training files: see the kinds in turns.csv.")


def asked_turns(
    given: argparse.Namespace, files: Sequence[Path], verifier: Verifier
) -> Turns:
    """The turns that the options ask for; prints their account.

    Raises:
        ValueError: there is none.
    """
    tokenizer = (given.endpoint and given.tokenizer) or given.model
    turns = read_turns(
        files,
        verifier,
        Renderer(load_tokenizer(tokenizer)),
        max_prompt_tokens=given.max_prompt_tokens,
        limit=given.limit,
        min_reward=given.min_reward,
        system=given.system,
        exclude=given.exclude,
        checked=given.action_checks,
        clean=given.clean,
    )
    print(account(turns))
    if not turns.candidates:
        raise ValueError("there is no turn to profile; the skips above say why")
    return turns


def account(turns: Turns) -> str:
    """Where every assistant turn went, file by file, in words."""
    lines = []
    for report in turns.reports:
        lines += [
            f"{report.file}: {report.format}, {report.loaded} trajectories, "
            f"{report.turns} assistant turns, {report.failed} unreadable rows"
        ]
        lines += [f"  {text}" for text in (*report.warnings, *report.errors[:3])]
    lines += [
        f"{path}: --limit is reached, any rest is not read" for path in turns.unread
    ]
    before, after = turns.observed
    if before:
        lines += [f"observations: {before:,} characters, {after:,} after cleaning"]
    lines += [f"  skipped {n}: {why}" for why, n in sorted(turns.skips.items())]
    return "\n".join([*lines, f"{len(turns.candidates)} candidates"])
