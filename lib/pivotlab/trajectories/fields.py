"""Fields of JSON that strangers wrote: read right, or an error that names the field."""

from __future__ import annotations

import json
import re
from typing import Any

#: The escape of a surrogate, half of a character outside the basic plane.
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")

#: Keys under which the parts of a message carry their text.
_TEXT_KEYS = ("text", "refusal", "thinking")


class FormatError(ValueError):
    """What is wrong with a row, where, and what to do about it."""

    def __init__(self, field: str, problem: str, fix: str):
        super().__init__(f"{field}: {problem}; {fix}")
        self.field, self.problem, self.fix = field, problem, fix


def loads(text: str, field: str = "row") -> Any:
    """Decoded JSON text; halves of characters (cut emoji) become U+FFFD.

    Raises:
        FormatError: the text is empty or not JSON (or nested too deeply to decode).
    """
    text = text.rstrip()  # a cut-off line is reported where it ends, not one below
    if not text:
        raise FormatError(
            field, "is empty", "check how it was written, or leave it out"
        )
    try:
        value = json.loads(text)
        return _mended(value) if _SURROGATE.search(text) else value
    except (ValueError, RecursionError) as error:
        repair = "repair the text or remove the row"
        if field == "file":
            repair = "give JSON or JSONL, gzipped or not"
        raise FormatError(field, f"is not JSON ({error})", repair) from None


def mapping(value: Any, field: str) -> dict[str, Any]:
    """`value` if it is an object.

    Raises:
        FormatError: it is anything else.
    """
    if isinstance(value, dict):
        return value
    raise FormatError(field, f"is {kind(value)}", "expected an object")


def sequence(value: Any, field: str) -> list[Any]:
    """`value` if it is a list; null counts as empty.

    Raises:
        FormatError: it is anything else.
    """
    if value is None:
        return []
    if isinstance(value, list):
        return value
    raise FormatError(field, f"is {kind(value)}", "expected a list")


def part(value: Any, key: str, field: str) -> dict[str, Any]:
    """The object under `key`, empty when absent or null."""
    inner = value.get(key)
    return {} if inner is None else mapping(inner, f"{field}.{key}")


def text(value: Any, field: str) -> str:
    """Message content as one string: a string, null, or a list of parts.

    Parts without text (images, audio) leave their type in square brackets, so that
    nothing disappears unseen. Any other JSON (a tool's structured result) is encoded.

    Raises:
        FormatError: a part is neither a string nor an object.
    """
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(_is_part(p) for p in value):
        return "".join(_part_text(p) for p in value)
    return json.dumps(value, ensure_ascii=False)


def string(value: Any) -> str | None:
    """`value` if it is a non-empty string, else None: for ids and names."""
    return value if isinstance(value, str) and value else None


def reward(value: Any) -> float | None:
    """A stored outcome as a number: numbers and booleans pass, all else is unknown."""
    return float(value) if isinstance(value, bool | int | float) else None


def kind(value: Any) -> str:
    """What a JSON value is, in the words of JSON."""
    if value is None:
        return "null"
    names = {dict: "an object", list: "a list", str: "a string", bool: "a boolean"}
    return names.get(type(value), "a number")


def _mended(value: Any) -> Any:
    """The value without lone surrogates, which no tokenizer or file accepts."""
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    elif isinstance(value, list):
        return [_mended(v) for v in value]
    elif isinstance(value, dict):
        return {_mended(k): _mended(v) for k, v in value.items()}
    return value


def _is_part(value: Any) -> bool:
    return isinstance(value, str) or (
        isinstance(value, dict) and ("type" in value or "text" in value)
    )


def _part_text(value: str | dict[str, Any]) -> str:
    if isinstance(value, str):
        return value
    found = [value[key] for key in _TEXT_KEYS if isinstance(value.get(key), str)]
    return found[0] if found else f"[{value.get('type', 'part')}]"
