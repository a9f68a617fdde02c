"""Which format a decoded record has, by its content and never by its file name.

The table is tried in order; the first match wins. A record that matches nothing may
still be a container (a list or an object of rows), which `rows` opens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from pivotlab.records import Trajectory
from pivotlab.trajectories import (
    anthropic,
    chat,
    fields,
    hf_columns,
    intercode,
    mini_swe_agent,
    openhands,
    react,
    responses,
    sharegpt,
    swe_agent,
    tau2,
    tau_bench,
    terminal,
    toolbench,
)
from pivotlab.trajectories.assembly import Origin

Read = Callable[[Any, Origin], Iterator[Trajectory | fields.FormatError]]


@dataclass(frozen=True)
class Format:
    """A format: its name, how to recognise a record, how to read it.

    `whole_file` says that the lines of a JSONL file form one record together.
    """

    name: str
    matches: Callable[[Any], bool]
    read: Read
    whole_file: bool = False


def _has(key: str, kind: type | tuple[type, ...]) -> Callable[[Any], bool]:
    return lambda record: isinstance(record, dict) and isinstance(record.get(key), kind)


def _is_flat_row(record: Any) -> bool:
    if isinstance(record, str):
        return react.is_game(record) or react.is_log(record)
    if not isinstance(record, dict):
        return False
    if react.is_game(record.get("traj")) or react.is_steps(record.get("traj")):
        return True
    output, prompt = record.get("output"), record.get("prompt")
    asked = isinstance(record.get("input"), str) or "instruction" in record
    answered = react.is_game(output) or react.is_steps(output)
    return (asked and answered) or ("question" in record and react.is_steps(prompt))


def _is_text_list(record: Any) -> bool:
    """An AgentBench prompt: at least three texts that alternate."""
    return (
        isinstance(record, list)
        and len(record) >= 3
        and all(isinstance(t, str) for t in record)
        and "\nYour task is to:" in record[0]
    )


def _is_gym(record: Any) -> bool:
    if not isinstance(record, dict):
        return False
    return isinstance(record.get("responses_create_params"), dict) or (
        responses.is_items(record.get("output"))
    )


FORMATS = (
    Format("tau2", tau2.is_file, tau2.read),
    Format("tau_bench", tau_bench.is_row, tau_bench.read),
    Format("swe_agent", swe_agent.is_file, swe_agent.read),
    Format("mini_swe_agent", mini_swe_agent.is_file, mini_swe_agent.read),
    Format("atif", terminal.is_atif, terminal.read_atif),
    Format("nemo_gym", _is_gym, responses.read),
    Format("openhands", openhands.is_row, openhands.read),
    Format("openhands", openhands.is_events, openhands.read, whole_file=True),
    Format("openhands_sdk", openhands.is_kinds, openhands.read, whole_file=True),
    Format(
        "coding_cli", anthropic.is_line_log, anthropic.read_line_log, whole_file=True
    ),
    Format("sharegpt", sharegpt.is_row, sharegpt.read),
    Format("role_list_column", hf_columns.is_list_row, hf_columns.read_list_row),
    Format("chat", _has("messages", (list, str)), chat.read),
    Format("prompt_completion", hf_columns.is_prompt_row, hf_columns.read_prompt_row),
    Format("intercode", intercode.is_row, intercode.read),
    Format("tau_few_shot", _has("messages_display", str), tau_bench.read_few_shot),
    Format("toolbench_tree", toolbench.is_tree, toolbench.read_tree),
    Format("toolbench_answer", toolbench.is_answer, toolbench.read_answer),
    Format("react_text", _is_flat_row, react.read),
    Format("react_notebook", react.is_notebook, react.read_notebook),
    Format("text_list", _is_text_list, react.read_lines),
    Format("mini_swe_agent", mini_swe_agent.is_list, mini_swe_agent.read),
    Format("chat_list", chat.is_messages, chat.read_list),
    Format("responses_items", responses.is_items, responses.read_items),
)


def detect(record: Any) -> Format | None:
    """The format of one record, None if it is none of the table."""
    return next((f for f in FORMATS if f.matches(record)), None)


def rows(record: Any) -> Iterator[tuple[str | int | None, Any]]:
    """The rows of a record with their keys: itself (None), or a container's entries.

    A container is a list or object of which one of the first entries is recognised.
    """
    entries: list[tuple[str | int | None, Any]] = []
    if isinstance(record, list):
        entries = list(enumerate(record))
    elif isinstance(record, dict):
        entries = list(record.items())
    known = detect(record) is not None
    if not known and any(detect(entry) is not None for _, entry in entries[:20]):
        yield from entries
    else:
        yield None, record


def unknown(record: Any) -> fields.FormatError:
    """The error for a record of no known format; it names the keys found."""
    inner = record
    while isinstance(inner, list) and inner:
        inner = inner[0]
    keys = sorted(map(str, inner))[:12] if isinstance(inner, dict) else None
    found = f"keys {keys}" if keys is not None else fields.kind(inner)
    return fields.FormatError(
        "record", f"unknown format ({found})", "convert it to rows with `messages`"
    )
