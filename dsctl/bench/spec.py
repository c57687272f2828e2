"""Knows what a bench is asked to do: one JSON file, strict, each mistake named by its key. Times in seconds."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

SCHEMA = "dsctl.bench-spec/1"


@dataclass(frozen=True, slots=True)
class EngineTarget:
    """An engine whose counters are read around each step; ``role`` is prefill, decode or engine."""

    url: str
    role: str


@dataclass(frozen=True, slots=True)
class Chat:
    """``shared_ratio`` of ``prompt_tokens`` is a system prompt that all requests of one step share."""

    prompt_tokens: int
    shared_ratio: float
    output_tokens: int
    kind: Literal["chat"] = "chat"


@dataclass(frozen=True, slots=True)
class Spec:
    """``tokenize_url``: an engine with vLLM's ``/tokenize``, by which prompts get their exact lengths."""

    target: str
    model: str
    tokenize_url: str
    engines: dict[str, EngineTarget]
    workload: Chat
    rates: tuple[float, ...]
    arrivals: Literal["poisson", "constant"] = "poisson"
    duration_s: float = 15.0
    warmup_s: float = 3.0
    seed: int = 0
    timeout_s: float = 60.0
    simulated: bool = False

    def to_json(self) -> dict[str, Any]:
        return {"schema": SCHEMA, **dataclasses.asdict(self)}


def load_spec(path: Path) -> Spec:
    """Raises ValueError, naming the key."""
    document: Any = json.loads(path.read_text())
    if not isinstance(document, dict):
        raise TypeError("the top level must be an object")
    values = cast("dict[str, Any]", document)
    if values.pop("schema", None) != SCHEMA:
        raise ValueError(f"schema: must be {SCHEMA!r}")
    known = {field.name for field in dataclasses.fields(Spec)}
    for key in values.keys() - known:
        raise ValueError(f"{key}: unknown key")
    try:
        values["engines"] = {name: EngineTarget(**engine) for name, engine in values["engines"].items()}
        values["workload"] = Chat(**values["workload"])
        values["rates"] = tuple(float(rate) for rate in values["rates"])
        spec = Spec(**values)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"not a bench specification: {error}") from error
    _check(spec)
    return spec


def _check(spec: Spec) -> None:
    if spec.arrivals not in ("poisson", "constant"):
        raise ValueError(f"arrivals: {spec.arrivals!r} is neither poisson nor constant")
    if not spec.rates or any(rate <= 0 for rate in spec.rates):
        raise ValueError("rates: at least one, each above 0")
    if not 0 <= spec.workload.shared_ratio < 1:
        raise ValueError("workload.shared_ratio: at least 0 and below 1")
    if spec.duration_s <= 0 or spec.warmup_s < 0 or spec.timeout_s <= 0:
        raise ValueError("duration_s and timeout_s: above 0; warmup_s: at least 0")
