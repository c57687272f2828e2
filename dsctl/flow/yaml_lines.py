"""Knows YAML with line numbers: a mapping, and the line on which each of its keys stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import yaml

from dsctl.core.errors import Problem, ProfileInvalid

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Lined:
    """``lines``: from the path of a key or item to its line, from 1."""

    value: dict[str, Any]
    lines: Mapping[Path, int]

    def line(self, path: Path) -> int:
        """The line of ``path``, or of the nearest thing above it."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)


def parse(text: str, file: str) -> Lined:
    """Raises ProfileInvalid for what is not YAML, not a mapping, or names a key twice."""
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        value: Any = yaml.safe_load(text)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"{file}:{mark.line + 1}:{mark.column + 1}" if mark else file
        problem = Problem(where, "(syntax)", str(error.problem or error), _syntax_advice(text))
        raise ProfileInvalid((problem,)) from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ProfileInvalid((Problem(f"{file}:1", "(syntax)", str(error)),)) from error
    if not isinstance(value, dict) or node is None:
        what = "the file is empty" if value is None else "the top level is not a mapping"
        raise ProfileInvalid((Problem(f"{file}:1", "(top level)", what, "start with `schema: dsctl.profile/1`"),))
    lines: dict[Path, int] = {}
    twice: list[Problem] = []
    _walk(node, (), lines, twice, file)
    if twice:
        raise ProfileInvalid(tuple(twice))
    return Lined({str(key): item for key, item in cast("dict[Any, Any]", value).items()}, lines)


def _walk(node: yaml.Node, path: Path, lines: dict[Path, int], twice: list[Problem], file: str) -> None:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.tag == "tag:yaml.org,2002:merge" or not isinstance(key, yaml.ScalarNode):
                continue
            inner = (*path, str(key.value))
            if inner in lines:
                first, again = lines[inner], key.start_mark.line + 1
                twice.append(Problem(f"{file}:{again}", shown(inner), f"given twice, first on line {first}"))
            lines[inner] = key.start_mark.line + 1
            _walk(value, inner, lines, twice, file)
    elif isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            lines[(*path, index)] = item.start_mark.line + 1
            _walk(item, (*path, index), lines, twice, file)


def shown(path: Path) -> str:
    """``kv.l1_size``; list items as ``bench.rates.0``."""
    return ".".join(str(part) for part in path)


def _syntax_advice(text: str) -> str:
    return (
        "YAML wants spaces, not tabs" if "\t" in text else "see https://yaml.org/spec or run it through a YAML linter"
    )
