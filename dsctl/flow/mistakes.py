"""Knows how a validation error reads to a person: plain words, the line, and what to write instead."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from typing import Any, cast, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from dsctl.core.errors import Problem
from dsctl.flow.yaml_lines import Lined, Path, shown
from dsctl.model.profile import Profile

_TAGS = {"synthetic", "hub"}
"""Pydantic puts the chosen kind of model into an error's path; it is not a key of the file."""
_PLAIN = {
    "missing": "missing",
    "extra_forbidden": "unknown key",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "string_type": "must be text",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "model_type": "must be a mapping of keys",
    "model_attributes_type": "must be a mapping of keys",
    "dict_type": "must be a mapping of keys",
    "tuple_type": "must be a list",
    "list_type": "must be a list",
    "union_tag_not_found": "missing",
}


def problems_of(
    error: ValidationError,
    document: Mapping[str, Any],
    lined: Lined,
    file: str,
    overrides: Mapping[tuple[str, ...], str],
) -> tuple[Problem, ...]:
    """One problem a mistake, in the order of the file; several errors on one key become one."""
    found: dict[Path, Problem] = {}
    for details in error.errors():
        path, message = _located(details)
        where = _where(path, lined, file, overrides)
        problem = Problem(where, shown(path) or "(top level)", message, _suggestion(details, path, document))
        found.setdefault(path, problem)
    return tuple(sorted(found.values(), key=lambda problem: _sort_key(problem.where)))


def _located(details: ErrorDetails) -> tuple[Path, str]:
    """The key that is wrong and the words; a rule across keys names its key at the start of its text."""
    path = tuple(part for part in details["loc"] if part not in _TAGS)
    kind = details["type"]
    if kind == "union_tag_not_found":
        return (*path, "kind"), "missing"
    if kind == "union_tag_invalid":
        return (*path, "kind"), f"{_context(details).get('tag')!r} is not allowed"
    message = _words(details)
    named = re.match(r"^([a-z_0-9]+(?:\.[a-z_0-9]+)*): (.+)$", message)
    if kind == "value_error" and not path and named:
        return tuple(named.group(1).split(".")), named.group(2)
    return path, message


def _words(details: ErrorDetails) -> str:
    kind, context = details["type"], _context(details)
    if kind in _PLAIN:
        return _PLAIN[kind]
    limits = {
        "greater_than_equal": ("at least", "ge"),
        "greater_than": ("more than", "gt"),
        "less_than_equal": ("at most", "le"),
        "less_than": ("less than", "lt"),
        "multiple_of": ("a multiple of", "multiple_of"),
    }
    if kind in limits:
        words, key = limits[kind]
        return f"must be {words} {context[key]}, not {details['input']!r}"
    if kind == "literal_error":
        return f"{details['input']!r} is not allowed"
    if kind == "string_pattern_mismatch":
        return f"{details['input']!r} does not look right"
    if kind == "too_short":
        return "needs at least one value"
    return details["msg"].removeprefix("Value error, ")


def _context(details: ErrorDetails) -> Mapping[str, Any]:
    return details.get("ctx", {})


def _suggestion(details: ErrorDetails, path: Path, document: Mapping[str, Any]) -> str:
    kind, context = details["type"], _context(details)
    if kind == "extra_forbidden":
        known = keys_at(path[:-1], document)
        close = difflib.get_close_matches(str(path[-1]), known, n=1)
        return f"did you mean {close[0]}?" if close else f"known keys: {', '.join(known)}"
    if kind in ("literal_error", "union_tag_invalid"):
        allowed = re.findall(r"'([^']+)'", str(context.get("expected") or context.get("expected_tags")))
        given = context.get("tag", details["input"])
        close = difflib.get_close_matches(str(given), allowed, n=1)
        return f"did you mean {close[0]}?" if close else f"one of: {', '.join(allowed)}"
    if kind == "union_tag_not_found":
        return "one of: synthetic, hub"
    if kind == "string_pattern_mismatch":
        return _EXAMPLES.get(str(path[-1]), f"must match {context.get('pattern', '')}")
    if kind == "missing":
        return _EXAMPLES.get(shown(path), "")
    return ""


_EXAMPLES = {
    "name": "lower-case letters, digits, dots and dashes, like local-1p2d",
    "repo": "owner/name, like deepseek-ai/DeepSeek-V2-Lite",
    "served_name": "letters, digits and . / : _ -",
    "schema": "schema: dsctl.profile/1",
    "topology": "topology: {prefill: 1, decode: 2}",
    "model": "model: {kind: synthetic}",
}


def keys_at(path: Path, document: Mapping[str, Any]) -> list[str]:
    """The keys a profile knows at ``path``, following the kind of model that ``document`` chose."""
    model: type[BaseModel] | None = Profile
    for part in path:
        field = model.model_fields.get(str(part)) if model else None
        model = _model_of(field.annotation, document.get("model")) if field else None
    return [field.alias or name for name, field in model.model_fields.items()] if model else []


def _model_of(annotation: Any, chosen: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    kind = cast("dict[str, Any]", chosen).get("kind") if isinstance(chosen, dict) else None
    for option in get_args(annotation):
        if isinstance(option, type) and issubclass(option, BaseModel):
            tags = get_args(option.model_fields["kind"].annotation) if "kind" in option.model_fields else ()
            if kind in tags or not tags:
                return option
    return None


def _where(path: Path, lined: Lined, file: str, overrides: Mapping[tuple[str, ...], str]) -> str:
    keys = tuple(str(part) for part in path)
    for changed, override in overrides.items():
        if keys[: len(changed)] == changed or changed[: len(keys)] == keys:
            return override
    return f"{file}:{lined.line(path)}"


def _sort_key(where: str) -> tuple[int, str]:
    line = where.rpartition(":")[2]
    return (int(line), "") if line.isdigit() else (0, where)
