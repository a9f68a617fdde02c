"""Tool schemas and the arguments of calls, in one shape.

Canonical schema: `{"type": "function", "function": {name, description, parameters}}`.
Canonical arguments: the decoded object, or the raw text when it is no JSON object, so
that an unreadable call can never pass for an empty one.
"""

from __future__ import annotations

import ast
import json
import warnings
from collections.abc import Sequence
from typing import Any

Schema = dict[str, Any]
#: Python literals longer than this are not worth a parser run.
_LONGEST_LITERAL = 100_000


def arguments(value: Any) -> dict[str, Any] | str:
    """Arguments of a call as logged: object, JSON text, or JSON text encoded twice.

    Null becomes the empty text, which stands for "nothing was given".
    """
    if isinstance(value, dict):
        return value
    if value is None:
        return ""
    if not isinstance(value, str):
        return json.dumps(value, ensure_ascii=False, default=repr)
    decoded = value
    for _ in range(2):
        try:
            decoded = json.loads(decoded)
        except (ValueError, RecursionError):
            return value
        if isinstance(decoded, dict):
            return decoded
        if not isinstance(decoded, str):
            return value
    return value


def json_or_literal(text: str) -> Any:
    """A value written as JSON, else as a Python literal (single quotes, True, None).

    Raises:
        ValueError: it is neither.
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    if len(text) > _LONGEST_LITERAL:
        raise ValueError("too long for a literal")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError) as error:
        raise ValueError(f"neither JSON nor a literal ({error})") from None


def parameters(tools: Sequence[Schema], name: str) -> Schema | None:
    """Parameter schema of the named tool, None when there is no such tool."""
    for tool in tools:
        function = tool.get("function") or {}
        if function.get("name") == name:
            found = function.get("parameters")
            return found if isinstance(found, dict) else {}
    return None


def properties(tools: Sequence[Schema], name: str) -> dict[str, Any] | None:
    """Property schemas of the named tool, None when there is no such tool."""
    found = parameters(tools, name)
    if found is None:
        return None
    inner = found.get("properties")
    return inner if isinstance(inner, dict) else {}


def without_padding(
    given: dict[str, Any], tools: Sequence[Schema], name: str
) -> dict[str, Any]:
    """Arguments without the null keys that a columnar store adds for other tools."""
    known = properties(tools, name)
    if known is None:
        return given
    return {k: v for k, v in given.items() if v is not None or k in known}


def typed(value: str, schema: Any) -> Any:
    """An untyped parameter value in the type its schema asks for, else as it stands."""
    kinds = schema.get("type") if isinstance(schema, dict) else None
    for wanted in kinds if isinstance(kinds, list) else [kinds]:
        if wanted == "string":
            return value
        if wanted in ("integer", "number", "boolean", "object", "array", "null"):
            try:
                found = json_or_literal(value.strip())
            except ValueError:
                found = {"true": True, "false": False}.get(value.strip().lower(), value)
            if _has_type(found, wanted):
                return found
    return value


def _has_type(value: Any, wanted: str) -> bool:
    if wanted in ("integer", "number"):
        allowed = (int,) if wanted == "integer" else (int, float)
        return isinstance(value, allowed) and not isinstance(value, bool)
    types = {"boolean": bool, "object": dict, "array": list, "null": type(None)}
    return isinstance(value, types[wanted])
