"""Logged tool lists as canonical schemas, whatever shape a log uses."""

from __future__ import annotations

from typing import Any

from pivotlab.tool_schemas import Schema
from pivotlab.trajectories import fields


def schemas(value: Any, field: str = "tools") -> tuple[Schema, ...]:
    """Tool list in canonical shape; a JSON string is decoded first.

    Raises:
        FormatError: the value is no list, or an entry has no name.
    """
    if isinstance(value, str):
        value = fields.loads(value, field) if value.strip() else None
    if isinstance(value, dict):
        value = [value]
    return tuple(
        _schema(fields.mapping(entry, f"{field}[{i}]"), f"{field}[{i}]")
        for i, entry in enumerate(fields.sequence(value, field))
    )


def _schema(entry: dict[str, Any], field: str) -> Schema:
    inner = entry.get("function")
    inner = inner if isinstance(inner, dict) else entry
    name = fields.string(inner.get("name")) or fields.string(
        inner.get("name_for_model")
    )
    if name is None:
        raise fields.FormatError(
            field, "has no name", "expected {type, function: {name, parameters}}"
        )
    function: Schema = {"name": name}
    description = inner.get("description") or inner.get("description_for_model")
    if isinstance(description, str):
        function["description"] = description
    shape = inner.get("parameters") or inner.get("input_schema")
    function["parameters"] = _unpadded(shape) if isinstance(shape, dict) else _EMPTY
    if inner.get("strict") is True:
        function["strict"] = True
    return {"type": "function", "function": function}


def _unpadded(shape: Schema) -> Schema:
    inner = shape.get("properties")
    if not isinstance(inner, dict):
        return shape
    return {**shape, "properties": {k: v for k, v in inner.items() if v is not None}}


_EMPTY: Schema = {"type": "object", "properties": {}}
