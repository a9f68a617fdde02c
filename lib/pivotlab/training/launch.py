"""Training beyond one process: `accelerate launch` of an entry module of this room.

A launch is a folder. It holds the pivots and `parameters.json` before the job starts,
the job's output in `launch.log` while it runs, and checkpoints, `history.csv` and
`done.json` after. A notebook cell, papermill and a shell start the same command, and
the processes share nothing with the kernel that started them: colocated vLLM writes
RANK and WORLD_SIZE into its environment, and CUDA can't be forked.

What is evaluated during a launched run are its checkpoints, afterwards.

With sharded weights (FSDP2, ZeRO-3) the local sampler can't generate; let vLLM do it.
The sharded configurations lie in `configs/`; they follow the documented fields of
accelerate 1.15 and have been parsed here, not run on a node.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

import httpx
import pandas as pd
import torch

from pivotlab.pivots.exchange import to_trl
from pivotlab.pivots.store import write_atomically
from pivotlab.records import Candidate
from pivotlab.training.pivotrl import PivotRLSettings
from pivotlab.verifiers.protocol import Verifier

CONFIGS = {"fsdp2": "accelerate_fsdp2.yaml", "zero3": "deepspeed_zero3.yaml"}
#: Variables of a running distributed job that a new one must not inherit.
INHERITED = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_RANK")
INHERITED += ("MASTER_ADDR", "MASTER_PORT")


@dataclass(frozen=True)
class Launch:
    """How many processes train, what each holds, and who generates.

    Attributes:
        processes: one per device.
        sharding: "none" copies the model to every process.
        vllm: "colocate" generates on the training devices, "server" on others.
        server_url: of the vLLM server, see `server_command`.
        memory_share: of a device's memory, for colocated vLLM.
        mixed_precision: of accelerate; "bf16" on devices that have it.
        options: further arguments of `accelerate launch`, e.g. for several machines.
    """

    processes: int = 1
    sharding: Literal["none", "fsdp2", "zero3"] = "none"
    vllm: Literal["none", "colocate", "server"] = "none"
    server_url: str = "http://localhost:8000"
    memory_share: float = 0.3
    mixed_precision: Literal["no", "bf16"] = "no"
    options: tuple[str, ...] = ()


#: What the presets above two cores need; the sizes of the models decide.
FOR_PRESET = {
    "gpu": Launch(processes=1, vllm="colocate", mixed_precision="bf16"),
    "paper": Launch(
        processes=8, sharding="fsdp2", vllm="server", mixed_precision="bf16"
    ),
}


@dataclass(frozen=True)
class VerifierSpec:
    """A verifier by name, so that another process can build it.

    Example: `VerifierSpec("pivotlab.verifiers.placebo:PlaceboVerifier", {"seed": 1})`.
    """

    path: str
    arguments: Mapping[str, Any] = field(default_factory=dict)

    def build(self) -> Verifier:
        """The verifier.

        Raises:
            ValueError: there is no such class.
        """
        module, _, name = self.path.partition(":")
        try:
            kind = getattr(import_module(module), name)
        except (ImportError, AttributeError) as error:
            raise ValueError(
                f"no verifier {self.path!r} ({error}); write 'package.module:Class'"
            ) from None
        return kind(**self.arguments)


@dataclass(frozen=True)
class LaunchedRun:
    """What a launched run left: `checkpoints` by step, each loadable by its path."""

    folder: Path
    history: pd.DataFrame
    checkpoints: dict[int, Path]


def launch_pivotrl(
    model: str,
    pivots: Sequence[Candidate],
    verifier: VerifierSpec,
    settings: PivotRLSettings,
    launch: Launch,
    folder: Path,
    *,
    strict: VerifierSpec | None = None,
    dtype: str = "float32",
) -> LaunchedRun:
    """`pivotrl.train_pivotrl` in processes of its own; waits for them.

    A finished launch of the same parameters is read, not repeated; a killed one goes on
    from its last whole checkpoint.

    Args:
        model: name or path for `models.registry.load_model`, loaded by every process.
        pivots: the static set D_pivot.
        verifier: its reward trains.
        settings: `save_every` must be set: checkpoints are what is left.
        launch: see `Launch`.
        folder: of this launch alone, on a disk that every process sees.
        strict: scored beside the verifier.
        dtype: of the weights, a name of torch's.

    Raises:
        ValueError: no checkpoints, or the folder holds a launch of other parameters.
        RuntimeError: a process failed; the message ends with the log's last lines.
    """
    if not settings.save_every:
        raise ValueError("save_every=0 would leave nothing; set it, e.g. to `steps`")
    trl = {"save_total_limit": None, **trainer_changes(launch), **settings.trl}
    parameters = {
        "model": model,
        "dtype": dtype,
        "settings": {**vars(settings), "trl": trl},
        "verifier": asdict(verifier),
        "strict": strict and asdict(strict),
    }
    folder = Path(folder).resolve()
    prepare(folder, parameters, pivots)
    if not (folder / "done.json").exists():
        run("pivotrl_job", folder, launch)
    return finished(folder)


def finished(folder: Path) -> LaunchedRun:
    """What a launch that is done left in its folder."""
    checkpoints = {
        int(path.name.partition("-")[2]): path
        for path in folder.glob("checkpoint-*")
        if (path / "trainer_state.json").exists()
    }
    history = pd.read_csv(folder / "history.csv", index_col="step")
    return LaunchedRun(folder, history, dict(sorted(checkpoints.items())))


def prepare(
    folder: Path, parameters: Mapping[str, Any], pivots: Sequence[Candidate]
) -> None:
    """Write what a job reads.

    Raises:
        ValueError: the folder holds other parameters.
    """
    asked = folder / "parameters.json"
    text = json.dumps(parameters, indent=2, sort_keys=True)
    if asked.exists():
        if asked.read_text() != text:
            raise ValueError(
                f"{folder} holds a launch of other parameters; delete it or use "
                "another folder"
            )
        return
    folder.mkdir(parents=True, exist_ok=True)
    to_trl(pivots).to_parquet(folder / "pivots.parquet")
    write_atomically(asked, text.encode())


def run(entry: str, folder: Path, launch: Launch) -> None:
    """Run an entry module on a prepared folder and wait; output goes to `launch.log`.

    An interrupted cell ends the whole process group.

    Raises:
        RuntimeError: see `launch_pivotrl`; also a server that does not answer.
    """
    if launch.vllm == "server":
        _check_server(launch, json.loads((folder / "parameters.json").read_text()))
    log = folder / "launch.log"
    print(f"output: {log}", flush=True)
    with open(log, "a", encoding="utf-8") as out:
        process = subprocess.Popen(
            command(entry, folder, launch),
            stdout=out,
            stderr=subprocess.STDOUT,
            env=environment(),
            start_new_session=True,
        )
        try:
            code = process.wait()
        except BaseException:
            os.killpg(process.pid, signal.SIGTERM)
            process.wait()
            raise
    if code:
        last = "\n".join(log.read_text(encoding="utf-8").splitlines()[-15:])
        raise RuntimeError(f"{entry} ended with {code}; end of {log}:\n{last}")


def command(entry: str, folder: Path, launch: Launch) -> list[str]:
    """The `accelerate launch` command line of a prepared folder.

    Raises:
        RuntimeError: ZeRO-3 without deepspeed.
    """
    words = [sys.executable, "-m", "accelerate.commands.launch"]
    words += ["--num_machines", "1", "--num_processes", str(launch.processes)]
    words += ["--mixed_precision", launch.mixed_precision, "--dynamo_backend", "no"]
    if launch.sharding == "zero3" and importlib.util.find_spec("deepspeed") is None:
        raise RuntimeError("sharding='zero3' needs deepspeed: pip install deepspeed")
    if launch.sharding != "none":
        config = Path(__file__).parent / "configs" / CONFIGS[launch.sharding]
        words += ["--config_file", str(config)]
    elif launch.processes > 1:
        # Also without a GPU: accelerate's other launchers want MPI.
        words += ["--multi_gpu"]
    words += [*launch.options, "-m", f"pivotlab.training.{entry}", str(folder)]
    return words


def environment() -> dict[str, str]:
    """The job's environment: this one without a running job's variables."""
    kept = {k: v for k, v in os.environ.items() if k not in INHERITED}
    cpu = {} if torch.cuda.is_available() else {"ACCELERATE_USE_CPU": "true"}
    return {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "passive", **kept, **cpu}


def trainer_changes(launch: Launch) -> dict[str, Any]:
    """Fields of TRL's configuration that the launch decides.

    The importance weights are truncated per token: TRL's default masks whole sequences,
    which leaves long ones without a gradient.
    """
    precision = {"bf16": launch.mixed_precision == "bf16"}
    if launch.vllm == "none":
        return precision
    fields: dict[str, Any] = {
        **precision,
        "use_vllm": True,
        "vllm_mode": launch.vllm,
        "vllm_importance_sampling_mode": "token_truncate",
    }
    if launch.vllm == "server":
        return {**fields, "vllm_server_base_url": launch.server_url}
    return {**fields, "vllm_gpu_memory_utilization": launch.memory_share}


def server_command(model: str, port: int = 8000) -> str:
    """Shell line that starts the vLLM server a `Launch(vllm="server")` talks to."""
    words = ["vllm", "serve", model, "--port", str(port)]
    words += ["--weight-transfer-config", json.dumps({"backend": "nccl"})]
    words += ["--logprobs-mode", "processed_logprobs", "--max-logprobs", "-1"]
    return f"VLLM_SERVER_DEV_MODE=1 {shlex.join(words)}"


def _check_server(launch: Launch, parameters: Mapping[str, Any]) -> None:
    try:
        httpx.get(f"{launch.server_url.rstrip('/')}/health", timeout=10)
    except httpx.HTTPError as error:
        raise RuntimeError(
            f"no vLLM server answers at {launch.server_url} ({error}); start one on "
            f"devices of its own: {server_command(parameters['model'])}"
        ) from None
