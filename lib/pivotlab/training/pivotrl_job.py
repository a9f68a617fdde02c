"""Entry of a launched PivotRL run: `python -m pivotlab.training.pivotrl_job FOLDER`.

Reads what `launch.prepare` wrote, trains, and leaves checkpoints, `history.csv` and, as
its last word, `done.json`. Every process of a job runs this file; the first one writes.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import torch
from accelerate import PartialState
from datasets import Dataset

from pivotlab.models.registry import load_model
from pivotlab.pivots.exchange import from_trl
from pivotlab.pivots.store import write_atomically
from pivotlab.rendering import Renderer
from pivotlab.training.launch import VerifierSpec
from pivotlab.training.pivotrl import PivotRLSettings, stop_tokens, train_pivotrl


def main(folder: Path) -> None:
    """Run the job of a prepared folder."""
    given = json.loads((folder / "parameters.json").read_text())
    dtype = getattr(torch, given["dtype"])
    model, tokenizer = load_model(given["model"], dtype=dtype)
    pivots, _ = from_trl(Dataset.from_parquet(str(folder / "pivots.parquet")))
    settings = PivotRLSettings(**given["settings"])
    if settings.trl.get("use_vllm"):
        # vLLM stops at the model's own end tokens unless told of the template's.
        stops = list(stop_tokens(tokenizer, Renderer(tokenizer)))
        settings.trl.setdefault("generation_kwargs", {"stop_token_ids": stops})
    strict = given["strict"]
    trained = train_pivotrl(
        model,
        tokenizer,
        pivots,
        VerifierSpec(**given["verifier"]).build(),
        settings,
        strict=VerifierSpec(**strict).build() if strict else None,
        folder=folder,
        resume=True,
    )
    state = PartialState()
    if state.is_main_process:
        write_atomically(folder / "history.csv", trained.history.to_csv().encode())
        facts = {"processes": state.num_processes, "steps": settings.steps}
        write_atomically(folder / "done.json", json.dumps(facts).encode())
    state.destroy_process_group()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
