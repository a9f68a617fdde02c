"""Arguments of one call against those of another, typed by the tool's JSON schema.

`difference(gold, said, schema)` is None when the calls do the same, else it says where
and how they differ. The direction is fixed: gold first, sample second.

1. Keys: a key of only one side is free when its value is the schema's default, or null
   and optional, or null and unknown to the tool (padding of columnar stores); else it
   is a `missing_argument` or an `unexpected_argument`.
2. Values: 5 equals 5.0, True equals neither 1 nor "true". Arrays keep their order
   unless the schema says `uniqueItems`. JSON inside a string is unwrapped where the
   schema asks for an array or an object, never where it asks for a string.
3. Strings: a rule given for the argument's name; else `text.same_value` for identifiers
   and names; else, for prose only, `text.same_prose`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pivotlab import tool_schemas
from pivotlab.trajectories import fields
from pivotlab.verifiers import text
from pivotlab.verifiers.matching import perfect

#: Deeper values are not compared: they come from broken output, never from a tool.
DEEPEST = 32
Schema = Mapping[str, Any]
StringRule = Callable[[str, str], bool]


@dataclass(frozen=True)
class Rules:
    """What is tolerated when two calls are compared.

    Args:
        ignore: argument names that are bookkeeping (top level only).
        prose: least similarity of two prose strings, in [0, 1]; 1.0 asks for all
            content words.
        strings: argument name -> own test of two strings, e.g. for shell commands.
        values: False compares keys and kinds only (first items stand for arrays).
    """

    ignore: frozenset[str] = frozenset()
    prose: float = 0.6
    strings: Mapping[str, StringRule] = field(default_factory=dict)
    values: bool = True


#: What holds where nothing else is said.
DEFAULT = Rules(ignore=frozenset({"security_risk"}))


@dataclass(frozen=True)
class Difference:
    """One difference: its category, the path of the value, and what was found."""

    category: str
    path: str
    detail: str

    def __str__(self) -> str:
        return f"{self.path}: {self.detail}"[:500]


def decoded(given: Any, schema: Schema) -> dict[str, Any] | None:
    """Arguments as an object, or None when they are none.

    Text is decoded as JSON (twice if needed), then as a Python literal. Empty text is
    the empty object only where the schema requires nothing.
    """
    if isinstance(given, str):
        given = tool_schemas.arguments(given)
    if isinstance(given, str):
        if not given.strip():
            return None if schema.get("required") else {}
        try:
            given = tool_schemas.json_or_literal(given)
        except ValueError:
            return None
    if not isinstance(given, dict):
        return None
    return {str(key): value for key, value in given.items()}


def difference(
    gold: Mapping[str, Any],
    said: Mapping[str, Any],
    schema: Schema | None = None,
    rules: Rules = DEFAULT,
) -> Difference | None:
    """First difference of two argument objects, None when they do the same."""
    kept = [
        {key: value for key, value in side.items() if key not in rules.ignore}
        for side in (gold, said)
    ]
    compare = _Comparison(schema or {}, rules)
    return compare.objects(*kept, schema or {}, "", 0)


class _Comparison:
    """One comparison; `root` resolves the schema's own references."""

    def __init__(self, root: Schema, rules: Rules):
        self.root, self.rules = root, rules

    def objects(
        self, gold: Mapping, said: Mapping, schema: Schema, path: str, depth: int
    ) -> Difference | None:
        known = _mapping(schema.get("properties"))
        required = schema.get("required")
        required = required if isinstance(required, list) else []
        for key in sorted(set(gold) | set(said), key=str):
            inner = self.resolve(known.get(key))
            where = f"{path}.{key}" if path else str(key)
            if key in gold and key in said:
                found = self.values(gold[key], said[key], inner, where, depth + 1)
            else:
                value = gold[key] if key in gold else said[key]
                if self.is_free(value, inner, key in required):
                    continue
                side = "missing" if key in gold else "unexpected"
                found = Difference(f"{side}_argument", where, _shown(value))
            if found is not None:
                return found
        return None

    def values(
        self, gold: Any, said: Any, schema: Schema, path: str, depth: int
    ) -> Difference | None:
        if depth > DEEPEST:
            return Difference("bad_arguments", path, f"nested deeper than {DEEPEST}")
        gold, said = unwrapped(gold, schema), unwrapped(said, schema)
        kinds = _kind(gold), _kind(said)
        if kinds[0] != kinds[1]:
            detail = f"expected a {kinds[0]}, got {_shown(said)}"
            return Difference("wrong_type", path, detail)
        if kinds[0] == "object":
            return self.objects(gold, said, schema, path, depth)
        if kinds[0] == "array":
            return self.arrays(gold, said, schema, path, depth)
        if not self.rules.values:
            return None
        if kinds[0] == "string":
            equal = self.strings(gold, said, schema, path)
        else:
            equal = same_number(gold, said) if kinds[0] == "number" else gold == said
        if equal:
            return None
        detail = f"expected {_shown(gold)}, got {_shown(said)}"
        return Difference("wrong_value", path, detail)

    def arrays(
        self, gold: list, said: list, schema: Schema, path: str, depth: int
    ) -> Difference | None:
        if not self.rules.values:
            gold, said = gold[: len(said)][:1], said[: len(gold)][:1]
        if len(gold) != len(said):
            detail = f"expected {len(gold)} items, got {len(said)}"
            return Difference("wrong_length", path, detail)
        item = self.resolve(schema.get("items"))

        def compare(i: int, j: int) -> Difference | None:
            return self.values(gold[i], said[j], item, f"{path}[{i}]", depth + 1)

        if schema.get("uniqueItems") is True and len(gold) <= 30:
            table = [
                [compare(i, j) is None for j in range(len(said))]
                for i in range(len(gold))
            ]
            if perfect(table):
                return None
            return Difference("wrong_value", path, "another set of items")
        found = (compare(i, i) for i in range(len(gold)))
        return next((f for f in found if f is not None), None)

    def strings(self, gold: str, said: str, schema: Schema, path: str) -> bool:
        rule = self.rules.strings.get(path)
        if rule is not None:
            return rule(gold, said)
        if text.same_value(gold, said):
            return True
        fixed = any(key in schema for key in ("enum", "const", "format", "pattern"))
        if fixed or not (text.is_prose(gold) and text.is_prose(said)):
            return False
        return text.same_prose(gold, said, self.rules.prose)

    def resolve(self, schema: Any) -> Schema:
        """The schema behind a local reference; empty for anything unreadable."""
        for _ in range(8):
            reference = _mapping(schema).get("$ref")
            if not isinstance(reference, str) or not reference.startswith("#/"):
                break
            schema = self.root
            for part in reference[2:].split("/"):
                schema = _mapping(schema).get(part)
        return _mapping(schema)

    def is_free(self, value: Any, schema: Schema, required: bool) -> bool:
        """May a key of one side only be left out?"""
        if required:
            return False
        if value is None:
            return schema.get("default") is None
        if "default" not in schema:
            return False
        exact = _Comparison(self.root, Rules())
        return exact.values(schema["default"], value, schema, "", 1) is None


def unwrapped(value: Any, schema: Schema) -> Any:
    """The array or object that a string holds, where the schema asks for one."""
    if not isinstance(value, str) or value.lstrip()[:1] not in ("[", "{"):
        return value
    wanted = schema.get("type")
    wanted = set(wanted) if isinstance(wanted, list) else {wanted}
    if "string" in wanted or not wanted & {"array", "object"}:
        return value
    try:
        found = json.loads(value)
    except (ValueError, RecursionError):
        return value
    kind = "array" if isinstance(found, list) else "object"
    return found if kind in wanted else value


def same_number(gold: int | float, said: int | float) -> bool:
    """Equal numbers, whole or not, up to rounding at the ninth digit."""
    if gold == said:
        return True
    if isinstance(gold, int) and isinstance(said, int):
        return False
    try:
        if math.isnan(gold) and math.isnan(said):
            return True
        return math.isclose(gold, said, rel_tol=1e-9, abs_tol=1e-9)
    except OverflowError:
        return False


def problem(value: Any, schema: Schema, path: str = "", depth: int = 0) -> str | None:
    """First reason why a value does not fit its schema, None if it fits.

    Checks type, enum, required, additionalProperties, properties and items, which is
    what tool schemas consist of; references and combinations pass.
    """
    if depth > DEEPEST:
        return f"{path}: nested deeper than {DEEPEST}"
    wanted = schema.get("type")
    wanted = wanted if isinstance(wanted, list) else [wanted]
    if isinstance(wanted[0] if wanted else None, str) and not any(
        _fits(value, kind) for kind in wanted
    ):
        return f"{path or 'arguments'}: {_shown(value)} is not of type {wanted}"
    options = schema.get("enum")
    if isinstance(options, list) and value not in options:
        return f"{path}: {_shown(value)} is not one of {_shown(options)}"
    if isinstance(value, dict):
        return _object_problem(value, schema, path, depth)
    if isinstance(value, list):
        item = _mapping(schema.get("items"))
        inner = (problem(v, item, f"{path}[]", depth + 1) for v in value)
        return next((p for p in inner if p), None)
    return None


def _object_problem(value: dict, schema: Schema, path: str, depth: int) -> str | None:
    known = _mapping(schema.get("properties"))
    required = schema.get("required")
    for key in required if isinstance(required, list) else []:
        if key not in value:
            return f"{path}.{key}: is required"
    for key, inner in value.items():
        if key not in known and inner is not None:
            if schema.get("additionalProperties") is False:
                return f"{path}.{key}: is unknown to the tool"
            continue
        found = problem(inner, _mapping(known.get(key)), f"{path}.{key}", depth + 1)
        if found and not (inner is None and key not in (required or [])):
            return found
    return None


def _fits(value: Any, kind: Any) -> bool:
    if kind == "integer":
        return _kind(value) == "number" and same_number(value, _whole(value))
    return kind not in _KINDS or _kind(value) == kind


def _whole(value: int | float) -> int | float:
    try:
        return int(value)
    except (ValueError, OverflowError):
        return math.inf


_KINDS = ("object", "array", "string", "number", "boolean", "null")


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    if value is None:
        return "null"
    names = {dict: "object", list: "array", str: "string"}
    return names.get(type(value), type(value).__name__)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _shown(value: Any) -> str:
    return fields.kind(value) if isinstance(value, dict | list) else repr(value)[:120]
