"""Find, read, change and check profiles; every mistake is said at once, with its line and what to write instead."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import yaml
from pydantic import ValidationError

from dsctl.core.digest import digest
from dsctl.core.errors import Problem, ProfileInvalid, UsageFault
from dsctl.core.paths import user_profiles_dir
from dsctl.flow.mistakes import problems_of
from dsctl.flow.yaml_lines import Lined, parse
from dsctl.model.profile import Profile

_HALF_CHARACTER = re.compile("[\ud800-\udfff]")
"""JSON writes some characters as two escapes; in YAML each of them is half a character, which no file can hold."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """``digest``: SHA-256 of the resolved profile, whatever the way it was written."""

    profile: Profile
    path: Path
    text: str
    overrides: tuple[str, ...]
    digest: str


@dataclass(frozen=True, slots=True)
class Entry:
    """One profile that can be named. ``broken`` says what is wrong with it, for a file that cannot be used."""

    name: str
    source: str
    path: Path
    description: str = ""
    roles: tuple[str, ...] = ()
    simulated: bool = False
    broken: str = field(default="")


def load(ref: str, overrides: Sequence[str] = ()) -> Loaded:
    """Raises UsageFault when there is no such profile, ProfileInvalid with every mistake in it."""
    path = find(ref)
    text = _read(path)
    lined = parse(text, str(path))
    sets = [_override(override) for override in overrides]
    document = lined.value
    for keys, value, override in sets:
        document = _changed(document, keys, value, override)
    profile = _validated(document, lined, path, {keys: override for keys, _, override in sets})
    return Loaded(profile, path, text, tuple(overrides), digest(profile.resolved()))


def find(ref: str) -> Path:
    """A file, or a name in ``./profiles``, the user's folder, or the shipped ones, in this order."""
    path = Path(ref)
    if path.suffix in (".yaml", ".yml") or "/" in ref:
        if path.is_file():
            return path
        raise UsageFault(f"{ref} is {'a folder' if path.is_dir() else 'not there'}", hint="dsctl profile ls")
    for folder in _folders().values():
        candidate = folder / f"{ref}.yaml"
        if candidate.is_file():
            return candidate
    known = [entry.name for entry in names()]
    close = difflib.get_close_matches(ref, known, n=1)
    hint = f"did you mean {close[0]}?" if close else "dsctl profile ls"
    raise UsageFault(f"no profile is called {ref}", hint=hint)


def names() -> tuple[Entry, ...]:
    """Every profile that can be named, each once, as ``find`` would choose it."""
    entries: dict[str, Entry] = {}
    for source, folder in _folders().items():
        for path in sorted(folder.glob("*.yaml")) if folder.is_dir() else ():
            entries.setdefault(path.stem, _entry(path, source))
    return tuple(entries[name] for name in sorted(entries))


def schema() -> dict[str, Any]:
    """JSON schema (draft 2020-12) for editors; the meaning of every key is in it."""
    document = Profile.model_json_schema(by_alias=True)
    document["title"] = "dsctl profile"
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "dsctl.profile/1", **document}


def new(name: str, like: str) -> str:
    """The text of a profile to begin from: a copy of ``like`` under another name, comments kept."""
    path = find(like)
    original = load(str(path)).profile.name
    text = _read(path).replace(f"\nname: {original}\n", f"\nname: {name}\n")
    parsed = parse(text, name)
    _validated(parsed.value, parsed, Path(name), {})
    return f"# yaml-language-server: $schema=profile.schema.json   (dsctl profile schema > profile.schema.json)\n{text}"


def write_new(name: str, like: str, path: Path) -> Path:
    """Write a new profile; never over an existing file."""
    text = new(name, like)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x") as file:
            file.write(text)
    except FileExistsError as error:
        raise UsageFault(f"{path} exists already", hint="choose another name, or -o another file") from error
    except OSError as error:
        raise UsageFault(f"{path} cannot be written: {error.strerror}", hint="choose another place with -o") from error
    return path


def check_all(refs: Sequence[str], overrides: Sequence[str]) -> tuple[Loaded, ...]:
    """Load all; raises ProfileInvalid with the mistakes of all."""
    loaded: list[Loaded] = []
    problems: list[Problem] = []
    for ref in refs:
        try:
            loaded.append(load(ref, overrides))
        except ProfileInvalid as error:
            problems += error.problems
    if problems:
        raise ProfileInvalid(tuple(problems))
    return tuple(loaded)


def resolved_text(profile: Profile) -> str:
    """Every value as YAML."""
    return str(yaml.safe_dump(profile.resolved(), sort_keys=False))  # pyright: ignore[reportUnknownMemberType]


def builtin_dir() -> Path:
    """The shipped profiles: in the wheel beside the package, in a checkout at the top."""
    package = Path(__file__).resolve().parent.parent
    inside = package / "_profiles"
    return inside if inside.is_dir() else package.parent / "profiles"


def _folders() -> dict[str, Path]:
    return {"project": Path("profiles").absolute(), "user": user_profiles_dir(), "built-in": builtin_dir()}


def _entry(path: Path, source: str) -> Entry:
    try:
        profile = load(str(path)).profile
    except (ProfileInvalid, UsageFault) as error:
        broken = str(error.problems[0]) if isinstance(error, ProfileInvalid) else error.message
        return Entry(path.stem, source, path, broken=broken)
    where = "built-in" if path.parent.resolve() == builtin_dir().resolve() else source
    return Entry(path.stem, where, path, profile.description, profile.topology.roles, profile.simulated)


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise ProfileInvalid((Problem(f"{path}:1", "(encoding)", "not UTF-8 text"),)) from error
    except OSError as error:
        raise UsageFault(f"{path} cannot be read: {error.strerror}", hint="dsctl profile ls") from error


def _override(text: str) -> tuple[tuple[str, ...], Any, str]:
    key, equals, value = text.partition("=")
    where = f"--set {text}"
    if not equals or not key:
        raise ProfileInvalid((Problem(where, key or "(key)", "not KEY=VALUE", "--set kv.l1_size=4GiB"),))
    try:
        return tuple(key.strip().split(".")), yaml.safe_load(value), where
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ProfileInvalid((Problem(where, key, f"{value!r} is not a YAML value"),)) from error


def _changed(document: Mapping[str, Any], keys: tuple[str, ...], value: Any, where: str) -> dict[str, Any]:
    """A copy of ``document`` with one value changed; only the way to it is copied."""
    first, *rest = keys
    if not rest:
        return {**document, first: value}
    inner: Any = document.get(first) or {}
    if not isinstance(inner, dict):
        raise ProfileInvalid((Problem(where, ".".join(keys), f"{first} has no keys inside it"),))
    return {**document, first: _changed(cast("dict[str, Any]", inner), tuple(rest), value, where)}


def _validated(
    document: Mapping[str, Any], lined: Lined, path: Path, overrides: Mapping[tuple[str, ...], str]
) -> Profile:
    if _HALF_CHARACTER.search(json.dumps(document, ensure_ascii=False, default=str)):
        advice = "write the character itself, or \\U and eight digits"
        raise ProfileInvalid((Problem(str(path), "(encoding)", "an escape stands for half a character", advice),))
    try:
        return Profile.model_validate(document)
    except ValidationError as error:
        problems = problems_of(error, document, lined, str(path), overrides)
        raise ProfileInvalid(problems, hint=f"dsctl profile check {path}") from error
