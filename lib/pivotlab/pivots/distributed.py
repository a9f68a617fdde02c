"""Profiling on many machines through datatrove's `InferenceRunner`; needs `scale`.

Three steps that may lie days apart: `submit` writes the samples a store still lacks as
requests, one file per task, and hands the tasks to an executor (this machine, Slurm or
Ray); `gather` moves what has come back into the store; `profiling.reverify` makes
profiles of it. Turns of one trajectory stay in one task in order of depth, so a server
with prefix caching finds every prefix.

One document is one turn and one request is one sample. A request that fails becomes a
record with its reason, because datatrove drops a rollout that returns nothing and K
would shrink. A server that dies (HTTP 500) ends its task; the same `submit` again goes
on from the task's own checkpoint.

Departures from `engines.protocol.Sampler`:
1. datatrove hands on text, not token ids: it is encoded again, which can differ from
   the sampled ids where a tokenizer spells one text in several ways. There are no
   log-probs for the same reason.
2. The server draws its own noise; samples repeat for a seed as far as it does.
3. An endpoint must be on loopback: datatrove 0.10.1 looks for a remote one's health at
   an address that servers do not have. Across machines let every task start its own
   server, or use `engines.endpoint`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlparse

from pivotlab.engines.noise import derive_seed
from pivotlab.engines.protocol import Sample, Sampling
from pivotlab.pivots.profiling import BATCH, seed_of, turn_sampler
from pivotlab.pivots.store import ProfileStore, digest, turn_key, write_atomically
from pivotlab.records import Candidate
from pivotlab.rendering import Renderer

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


@dataclass(frozen=True)
class Server:
    """What answers the requests.

    Attributes:
        kind: "vllm" and "sglang" are started by every task, an "endpoint" runs already.
        model: local path or hub id, or the name under which an endpoint serves it.
        url: of an endpoint, up to the version, e.g. "http://127.0.0.1:8000/v1".
        in_flight: most requests of one task at a time.
        options: further fields of datatrove's `InferenceConfig`, e.g. `tp`,
            `model_max_context`, `model_kwargs`.
    """

    kind: Literal["vllm", "sglang", "endpoint"]
    model: str
    url: str | None = None
    in_flight: int = 256
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuses an endpoint that cannot work.

        Raises:
            ValueError: an endpoint without a URL or away from loopback.
        """
        host = urlparse(self.url or "").hostname
        if self.kind == "endpoint" and host not in LOOPBACK:
            raise ValueError(
                f"url={self.url!r}: an endpoint must be on loopback; use kind='vllm' "
                "to start a server per task, or engines.endpoint.EndpointSampler"
            )


@dataclass(frozen=True)
class Executor:
    """Where tasks run: one task is one process with its own server.

    Attributes:
        kind: which of datatrove's executors.
        tasks: parts of the work.
        options: further arguments of that executor, e.g. for Slurm `partition`, `time`,
            `gpus_per_task`, `cpus_per_task`; for "local" and "ray" `workers`.
    """

    kind: Literal["local", "slurm", "ray"] = "local"
    tasks: int = 1
    options: Mapping[str, Any] = field(default_factory=dict)


class DistributedProfiling:
    """Samples of many turns, drawn elsewhere, in a `ProfileStore`.

    Example:
        work = DistributedProfiling(renderer, store, Sampling(512), 16, folder)
        work.submit(candidates, Server("vllm", model), Executor("slurm", 64, {...}))
        work.gather()     # when the jobs are done, or while they run
    """

    def __init__(
        self,
        renderer: Renderer,
        store: ProfileStore,
        sampling: Sampling,
        k: int,
        folder: Path,
        seed: int = 0,
    ):
        """
        Args:
            renderer: of the served model's tokenizer.
            store: where samples end; opened with the same settings by `reverify`.
            sampling: keep the temperature of training.
            k: samples per turn [K].
            folder: requests, answers, checkpoints and logs; every machine sees it.
            seed: of the run.

        Raises:
            ValueError: log-probs are asked for.
        """
        if sampling.log_probs:
            raise ValueError("datatrove hands on no log-probs; set log_probs=False")
        self.renderer, self.k, self.seed, self.folder = renderer, k, seed, Path(folder)
        turns = turn_sampler(None, renderer, sampling, seed, store)
        self.sampling, self.table = turns.sampling, turns.table

    def submit(
        self, candidates: Sequence[Candidate], server: Server, executor: Executor
    ) -> int:
        """Request what the store lacks; returns the number of turns requested.

        Waits for the tasks on this machine and on Ray; on Slurm it returns when they
        are queued.

        Raises:
            ImportError: datatrove is not installed; the message names the extra.
        """
        tasks = _tasks(self._requests(candidates), executor.tasks)
        requested = sum(map(len, tasks))
        if requested:
            place = self.folder / digest([[r["id"] for r in t] for t in tasks])
            for number, requests in enumerate(tasks):
                text = "".join(json.dumps(request) + "\n" for request in requests)
                path = place / "requests" / f"{number:05d}.jsonl"
                path.parent.mkdir(parents=True, exist_ok=True)
                write_atomically(path, text.encode())
            _executor(place, server, executor, self._payload()).run()
        return requested

    def gather(self) -> Counter[str]:
        """Move answers into the store, each once; safe while tasks still run.

        Returns:
            `turns` and `samples` that are new, `failed` among these samples, and
            `unfinished` lines that a task is still writing or was killed at.
        """
        counts: Counter[str] = Counter()
        answers = list(self._answers(counts))
        answers.sort(key=lambda a: a["metadata"]["first"])
        for first, same in groupby(answers, key=lambda a: a["metadata"]["first"]):
            group = list(same)
            for start in range(0, len(group), BATCH):
                self._put(group[start : start + BATCH], first, counts)
        return counts

    def _requests(self, candidates: Sequence[Candidate]) -> Iterator[dict[str, Any]]:
        for candidate in candidates:
            prompt = self.renderer.prompt_ids(candidate.prefix, candidate.tools)
            turn = turn_key(candidate.uid, prompt)
            first = self.table.count(turn)
            if first >= self.k:
                continue
            seed = seed_of(candidate.uid, self.seed)
            seeds = [derive_seed(seed, j) % 2**31 for j in range(first, self.k)]
            facts = {"turn": turn, "trajectory": candidate.trajectory_uid}
            facts |= {"first": first, "prompt": prompt, "seeds": seeds}
            name = digest([turn, first, self.k])
            yield {"id": name, "text": candidate.uid, "metadata": facts}

    def _payload(self) -> dict[str, Any]:
        return {
            "max_tokens": self.sampling.max_new_tokens,
            "temperature": self.sampling.temperature,
            "top_p": 1.0,
            "stop_token_ids": list(self.sampling.stop_ids),
            "skip_special_tokens": False,
            "spaces_between_special_tokens": False,
        }

    def _answers(self, counts: Counter[str]) -> Iterator[dict[str, Any]]:
        """Answers on disk that the store lacks, every turn once."""
        seen = set()
        for path in sorted(self.folder.glob("*/answers/*.jsonl")):
            for line in path.read_text(encoding="utf-8").splitlines():
                try:
                    answer = json.loads(line)
                except json.JSONDecodeError:
                    counts["unfinished"] += 1
                    continue
                facts = answer["metadata"]
                key = (*facts["turn"], facts["first"])
                if key in seen or self.table.count(tuple(facts["turn"])) > key[-1]:
                    continue
                seen.add(key)
                yield answer

    def _put(
        self, answers: Sequence[dict[str, Any]], first: int, counts: Counter[str]
    ) -> None:
        facts = [answer["metadata"] for answer in answers]
        drawn = [[self._sample(r) for r in f["samples"][0]] for f in facts]
        self.table.add([tuple(f["turn"]) for f in facts], first, drawn)
        counts["turns"] += len(drawn)
        counts["samples"] += sum(map(len, drawn))
        counts["failed"] += sum(bool(s.failure) for samples in drawn for s in samples)

    def _sample(self, record: Mapping[str, Any]) -> Sample:
        if "failure" in record:
            return Sample((), True, failure=record["failure"])
        ids = self.renderer.encode(record["text"])
        truncated = record["finish_reason"] == "length"
        if not truncated and (not ids or ids[-1] not in self.sampling.stop_ids):
            # Servers cut the stop token off the text; a sample of ours keeps it.
            ids = [*ids, self.renderer.end_of_turn]
        return Sample(tuple(ids), truncated)


async def draw_turn(
    document: Any, generate: Any, *, payload: Mapping[str, Any]
) -> list[dict[str, str]]:
    """All missing samples of one turn, a failed one as a record with its reason.

    The form of datatrove's rollout functions; runs in its tasks.
    """
    import asyncio

    from datatrove.pipeline.inference.types import InferenceError

    async def one(seed: int) -> dict[str, str]:
        request = {**payload, "prompt": document.metadata["prompt"], "seed": seed}
        try:
            answer = await generate(request)
        except InferenceError as error:
            return {"failure": str(error.error)[:300] or "no reason given"}
        return {"text": answer.text, "finish_reason": answer.finish_reason}

    return await asyncio.gather(*map(one, document.metadata["seeds"]))


def _tasks(
    requests: Iterator[dict[str, Any]], count: int
) -> list[list[dict[str, Any]]]:
    """Requests dealt to tasks, a trajectory to one task, the shortest task first."""
    tasks: list[list[dict[str, Any]]] = [[] for _ in range(count)]
    load = [0] * count
    for _, turns in groupby(requests, key=lambda r: r["metadata"]["trajectory"]):
        ordered = sorted(turns, key=lambda r: len(r["metadata"]["prompt"]))
        least = load.index(min(load))
        tasks[least] += ordered
        load[least] += sum(len(r["metadata"]["seeds"]) for r in ordered)
    return tasks


def _executor(
    place: Path, server: Server, executor: Executor, payload: dict[str, Any]
) -> Any:
    """datatrove's executor over: read requests, answer them, write answers."""
    try:
        from datatrove import executor as executors
        from datatrove.pipeline.inference.run_inference import (
            InferenceConfig,
            InferenceRunner,
        )
        from datatrove.pipeline.readers import JsonlReader
        from datatrove.pipeline.writers import JsonlWriter
    except ImportError as error:
        raise ImportError(
            f"profiling on many machines needs datatrove ({error}): "
            "pip install 'pivotlab[scale]'"
        ) from error
    kinds = {"local": "Local", "slurm": "Slurm", "ray": "Ray"}
    config = InferenceConfig(
        server_type=server.kind,
        model_name_or_path=server.model,
        use_chat=False,
        endpoint_url=server.url and server.url.rstrip("/").removesuffix("/v1"),
        max_concurrent_generations=server.in_flight,
        max_concurrent_documents=server.in_flight,
        **server.options,
    )
    name = "${rank}_${chunk_index}.jsonl"
    runner = InferenceRunner(
        rollout_fn=draw_turn,
        config=config,
        output_writer=JsonlWriter(str(place / "answers"), name, compression=None),
        shared_context={"payload": payload},
        checkpoints_local_dir=str(place / "checkpoints"),
        records_per_chunk=BATCH,
        metadata_key="samples",
    )
    reader = JsonlReader(str(place / "requests"), compression=None)
    return getattr(executors, f"{kinds[executor.kind]}PipelineExecutor")(
        [reader, runner],
        tasks=executor.tasks,
        logging_dir=str(place / "logs"),
        **executor.options,
    )
