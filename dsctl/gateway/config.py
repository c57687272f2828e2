"""Knows the gateway's configuration file: JSON, strict, each mistake named by its key. Times in seconds."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast, get_args
from urllib.parse import urlsplit

SCHEMA = "dsctl.gateway/1"

Mode = Literal["pd", "replicas"]
Policy = Literal["least-loaded", "round-robin"]
MoverName = Literal["lmcache_mp", "none"]


@dataclass(frozen=True, slots=True)
class EngineAddress:
    """``name`` appears in metrics and logs; ``url`` is the base, without ``/v1``."""

    name: str
    url: str


@dataclass(frozen=True, slots=True)
class GatewayConfig:
    """In mode ``pd`` a request goes to a prefiller, then to a decoder; in ``replicas`` to one of ``decode``."""

    model: str
    decode: tuple[EngineAddress, ...]
    prefill: tuple[EngineAddress, ...] = ()
    mode: Mode = "pd"
    policy: Policy = "least-loaded"
    mover: MoverName = "lmcache_mp"
    host: str = "127.0.0.1"
    port: int = 8000
    prefill_timeout_s: float = 30.0
    first_token_timeout_s: float = 60.0
    answer_timeout_s: float = 600.0
    idle_timeout_s: float = 60.0
    connect_timeout_s: float = 2.0
    max_body_bytes: int = 32 * 2**20
    drain_s: float = 10.0


def load_config(path: Path) -> GatewayConfig:
    """Raises ValueError, naming the key, for anything that is not a valid configuration."""
    try:
        document: Any = json.loads(path.read_text())
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise ValueError(f"{path}: not JSON: {error}") from error
    if not isinstance(document, dict):
        raise TypeError(f"{path}: the top level must be an object")
    return parse_config(cast("dict[str, Any]", document))


def parse_config(document: dict[str, Any]) -> GatewayConfig:
    """Raises ValueError, naming the key."""
    values = dict(document)
    schema = values.pop("schema", None)
    if schema != SCHEMA:
        raise ValueError(f"schema: must be {SCHEMA!r}, not {schema!r}")
    _check_keys(values)
    for key in ("decode", "prefill"):
        values[key] = tuple(_address(key, item) for item in _list(key, values.get(key, ())))
    _check_values(values)
    config = GatewayConfig(**values)
    if config.mode == "pd" and not config.prefill:
        raise ValueError("prefill: mode pd needs at least one prefiller")
    if config.mode == "replicas" and config.prefill:
        raise ValueError("prefill: mode replicas has none; list all engines under decode")
    return config


def _list(key: str, value: Any) -> list[Any]:
    if not isinstance(value, list | tuple):
        raise ValueError(f"{key}: must be a list, not {value!r}")  # noqa: TRY004  every mistake is a ValueError
    return list(cast("list[Any]", value))


def _check_keys(values: dict[str, Any]) -> None:
    known = {field.name for field in dataclasses.fields(GatewayConfig)}
    for key in values.keys() - known:
        raise ValueError(f"{key}: unknown key; known are {', '.join(sorted(known))}")
    for key in ("model", "decode"):
        if not values.get(key):
            raise ValueError(f"{key}: missing")


def _check_values(values: dict[str, Any]) -> None:
    for key, allowed in (("mode", Mode), ("policy", Policy), ("mover", MoverName)):
        if key in values and values[key] not in get_args(allowed):
            raise ValueError(f"{key}: {values[key]!r} is not one of {', '.join(get_args(allowed))}")
    for key in (key for key in values if key.endswith("_s") or key in ("port", "max_body_bytes")):
        if isinstance(values[key], bool) or not isinstance(values[key], int | float) or values[key] < 0:
            raise ValueError(f"{key}: must be a number of at least 0, not {values[key]!r}")
        if values[key] == 0 and key.endswith("timeout_s"):
            raise ValueError(f"{key}: must be more than 0")
    if not isinstance(values["model"], str):
        raise ValueError(f"model: must be text, not {values['model']!r}")  # noqa: TRY004  every mistake is a ValueError
    if values.get("port", 0) != int(values.get("port", 0)) or values.get("port", 0) > 65535:
        raise ValueError(f"port: must be a whole number up to 65535, not {values['port']!r}")


def _address(key: str, item: Any) -> EngineAddress:
    fields = cast("dict[str, Any]", item) if isinstance(item, dict) else {}
    name, url = fields.get("name"), fields.get("url")
    if not isinstance(name, str) or not isinstance(url, str) or len(fields) != 2:
        raise ValueError(f'{key}: each entry must be {{"name": ..., "url": ...}}, not {item!r}')
    if not url.startswith("http://"):
        raise ValueError(f"{key}: {url!r} must start with http:// (engines listen on a private network)")
    try:
        urlsplit(url).port  # noqa: B018  reading it is the check
    except ValueError as error:
        raise ValueError(f"{key}: {url!r} has no valid port") from error
    return EngineAddress(name, url.rstrip("/"))
