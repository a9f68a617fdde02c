"""From agent logs of any known format to a profile, its pivots and training files.

    python -m pivotlab.experiments.logs.profiling runs.jsonl --model ./my-model --k 8 \\
        --limit 200 --out pivots

leaves in `pivots/`: `summary.csv` (one row a domain), `turns.csv` (one row a turn),
`files.csv` and `skips.csv` (why turns are no candidates), `pivots.trl.parquet` and
`pivots.gym.jsonl` (the pivots for TRL and NeMo Gym), `explorer.html` (every turn with
its samples) and `samples/` (what was generated; a second run goes on from there).

Turns of `turns.csv` whose kind is `all_fail` are hard, or their demonstration is wrong:
look at them in `explorer.html`, and leave out by `--exclude` what is wrong.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from pivotlab.engines.endpoint import EndpointError, EndpointSampler
from pivotlab.engines.local import LocalSampler
from pivotlab.engines.protocol import Sampler, Sampling
from pivotlab.experiments import explorer, runs
from pivotlab.experiments.figures.pivots import shares_line, turn_table
from pivotlab.experiments.logs import verifier_choice
from pivotlab.experiments.logs.summary import depth_note, summary
from pivotlab.experiments.logs.turns import (
    EMBEDDED,
    REGISTERED,
    Turns,
    find,
    read_turns,
)
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

    Without a pivot there is nothing to train on and no training file is written.
    """
    ordered = [profiles[c.uid] for c in turns.candidates]
    table = turn_table(turns.candidates, ordered, lambda_diff)
    skips = pd.DataFrame(sorted(turns.skips.items()), columns=["reason", "turns"])
    tables = {"skips": skips, "files": turns.files(), "turns": table}
    tables["summary"] = summary(turns.candidates, profiles, lambda_diff)
    for name, rows in tables.items():
        text = rows.to_csv(index=False, float_format="%.6g", lineterminator="\n")
        runs.write_text(folder / f"{name}.csv", text)
    pivots = select(turns.candidates, profiles, "pivots", lambda_diff)
    if pivots:
        exchange.to_trl(pivots, profiles).to_parquet(folder / "pivots.trl.parquet")
        wrapped = [nemo_gym.wrap(c, profiles[c.uid]) for c in pivots]
        nemo_gym.write_rows(map(nemo_gym.to_row, wrapped), folder / "pivots.gym.jsonl")
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


def run(given: argparse.Namespace) -> None:
    """Everything the command line asks for; prints what was found.

    Raises:
        ValueError, OSError, RuntimeError: a bad request, told in one line.
    """
    verifier = verifier_choice.choose(given.verifier)
    files = [path for name in given.logs for path in find(name)]
    policy = (
        endpoint_policy(given.endpoint, given.model, given.tokenizer)
        if given.endpoint
        else local_policy(given.model, given.device)
    )
    turns = read_turns(
        files,
        verifier,
        policy.renderer,
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
    sampling = Sampling(given.max_new_tokens, given.temperature)
    common = {"k": given.k, "sampling": sampling, "seed": given.seed}
    common["store"] = sample_store(given.out, policy)
    profiles = profile_turns(turns, policy, verifier, **common)
    pivots = export(given.out, turns, profiles, given.lambda_diff)
    samples = explorer.read_samples(
        turns.candidates, policy.renderer, verifier, strict=ExactVerifier(), **common
    )
    page = given.out / "explorer.html"
    export_explorer(page, turns, profiles, samples, policy, given.lambda_diff)
    notes = warnings(turns, samples, profiles)
    print(shares_line(list(profiles.values()), given.lambda_diff))
    print(summary(turns.candidates, profiles, given.lambda_diff).round(3).to_string())
    print("".join(f"note: {text}\n" for text in notes), end="")
    print(f"{len(pivots)} pivots of {len(profiles)} turns; open {page.resolve()}")


def at_least(low: int) -> Callable[[str], int]:
    """A type for argparse: a whole number not below `low`."""

    def whole(text: str) -> int:
        if not text.lstrip("-").isdigit() or int(text) < low:
            raise argparse.ArgumentTypeError(
                f"{text!r} is not a whole number of {low} or more"
            )
        return int(text)

    return whole


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


def parser() -> argparse.ArgumentParser:
    """Options of the command line."""
    made = argparse.ArgumentParser(
        prog="python -m pivotlab.experiments.logs.profiling",
        description="Profile agent logs and export their pivots.",
    )
    add = made.add_argument
    names = ", ".join((EMBEDDED, *REGISTERED))
    add("logs", nargs="+", help=f"files of any known format, or {names}")
    add("--model", default="tiny", help="name, folder, hub id, or the served name")
    add("--endpoint", help="OpenAI-compatible address, e.g. http://localhost:8000/v1")
    add("--tokenizer", help="of the served model, if not its name")
    add("--device", default="cpu", help="cpu or cuda")
    add("--verifier", default="by domain", help="see experiments/verifier_choice.py")
    add("--k", type=at_least(2), default=8, help="samples per turn, 2 or more")
    add("--limit", type=at_least(1), help="most turns a file")
    add("--min-reward", type=float, help="only episodes that earned at least this")
    add("--action-checks", action="store_true", help="whose checks of actions passed")
    add("--exclude", nargs="+", default=[], help="uids of trajectories or turns")
    add("--clean", action="store_true", help="take control codes out of observations")
    add("--system", help="rules put before conversations that have none")
    add("--max-prompt-tokens", type=int, default=4096, help="longer turns are skipped")
    add("--max-new-tokens", type=int, default=256, help="longer samples are cut off")
    add("--temperature", type=float, default=1.0, help="keep that of training")
    add("--lambda-diff", type=float, default=LAMBDA_DIFF, help="pivots have a lower mu")
    add("--seed", type=int, default=0)
    add("--out", type=Path, default=Path("pivots"), help="folder to write")
    return made


def main(arguments: list[str] | None = None) -> int:
    """Command line; 0 on success, 2 on a bad request."""
    try:
        run(parser().parse_args(arguments))
    except (ValueError, OSError, EndpointError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
