"""Knows what a profile may say. One YAML file, strict: an unknown key is a mistake, not a wish.

Sizes are bytes (``2GiB``), times are seconds (``90s``, ``4h``), money is US dollars.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema, model_validator

from dsctl.core.units import parse_duration, parse_size

SCHEMA = "dsctl.profile/1"

Size = Annotated[
    int,
    BeforeValidator(parse_size),
    Field(ge=0),
    WithJsonSchema({"anyOf": [{"type": "integer"}, {"type": "string", "pattern": r"^\d+(\.\d+)?\s*([KMGT]i?B?|B)?$"}]}),
]
Seconds = Annotated[
    float,
    BeforeValidator(parse_duration),
    Field(ge=0),
    WithJsonSchema({"anyOf": [{"type": "number"}, {"type": "string", "pattern": r"^(\d+(\.\d+)?(ms|s|m|h|d))+$"}]}),
]
Port = Annotated[int, Field(ge=1, le=65535)]
Scalar = str | int | float | bool
EngineKind = Literal["vllm", "sim"]
MoverKind = Literal["lmcache_mp", "sim_store", "none"]
ProviderKind = Literal["local"]


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class SyntheticModel(Strict):
    """Random weights made on the box from a seed: no download, no licence, real arithmetic."""

    kind: Literal["synthetic"]
    architecture: Literal["qwen2", "deepseek_v2"] = "qwen2"
    """``qwen2`` is the architecture of DeepSeek-R1-Distill-Qwen; ``deepseek_v2`` (MLA) needs a GPU to share KV."""
    seed: Annotated[int, Field(ge=0)] = 0
    layers: Annotated[int, Field(ge=1, le=64)] = 4
    hidden: Annotated[int, Field(ge=64, le=8192, multiple_of=64)] = 256
    heads: Annotated[int, Field(ge=1, le=64)] = 8
    kv_heads: Annotated[int, Field(ge=1, le=64)] = 2
    vocab: Annotated[int, Field(ge=512, le=65536)] = 1024
    max_positions: Annotated[int, Field(ge=256)] = 16384
    initializer_range: Annotated[float, Field(gt=0, le=1)] = 0.12
    """Standard deviation of the weights; 0.12 gives varied greedy answers, the usual 0.02 nearly constant ones."""


class HubModel(Strict):
    """Weights from a model hub."""

    kind: Literal["hub"]
    repo: Annotated[str, Field(pattern=r"^[\w.-]+/[\w.-]+$")]
    revision: Annotated[str, Field(min_length=1)] = "main"
    """A commit hash makes the run repeatable; a branch does not."""


class Topology(Strict):
    """Either ``prefill`` and ``decode`` counts (disaggregated), or ``replicas`` of plain engines."""

    prefill: Annotated[int, Field(ge=0, le=64)] = 0
    decode: Annotated[int, Field(ge=0, le=64)] = 0
    replicas: Annotated[int, Field(ge=0, le=64)] = 0
    tp: Annotated[int, Field(ge=1)] = 1
    """Tensor parallelism of each engine."""
    pp: Annotated[int, Field(ge=1)] = 1
    """Pipeline parallelism of each engine."""
    dp: Annotated[int, Field(ge=1)] = 1
    """Data parallelism of each engine."""
    ep: bool = False
    """Expert parallelism (MoE models)."""

    @model_validator(mode="after")
    def _one_shape(self) -> Self:
        if self.replicas and (self.prefill or self.decode):
            raise ValueError("give either prefill and decode, or replicas, not both")
        if not self.replicas and not (self.prefill and self.decode):
            raise ValueError("give prefill and decode (each at least 1), or replicas (at least 1)")
        return self

    @property
    def disaggregated(self) -> bool:
        return self.replicas == 0

    @property
    def roles(self) -> tuple[str, ...]:
        """``prefill0 decode0 decode1`` or ``engine0 engine1``."""
        named = (("prefill", self.prefill), ("decode", self.decode), ("engine", self.replicas))
        return tuple(f"{name}{index}" for name, count in named for index in range(count))


class Kv(Strict):
    """How KV moves between engines, and the shared store in host memory."""

    mover: MoverKind = "none"
    port: Port = 6000
    """ZMQ port of the LMCache MP server. It carries pickled data: never beyond loopback or a private network."""
    http_port: Port = 6080
    """LMCache's HTTP port: health and metrics."""
    l1_size: Size = 2 * 2**30
    """Size of the shared L1 store in host memory."""
    chunk_tokens: Annotated[int, Field(ge=16, le=4096)] = 256
    """Tokens per chunk; only whole chunks of a prompt are shared."""
    shared_memory: bool = False
    """Engines and store exchange KV through ``/dev/shm``: faster on a CPU, but the store's death ends engines too."""
    eviction: Literal["LRU"] = "LRU"
    request_timeout: Seconds = 5
    """How long an engine waits for the store before it recomputes (LMCache's own default is 300 s: a hang)."""
    heartbeat: Seconds = 2
    """How often an engine checks that the store is alive."""


class Engine(Strict):
    """The engines, and the environment they are installed into on the box."""

    kind: EngineKind = "vllm"
    device: Literal["cpu", "cuda"] = "cpu"
    vllm: str = "0.32.0"
    lmcache: str = "0.5.6"
    base_port: Port = 8100
    """Engines listen on base_port, base_port + 1, ... in the order prefill, decode."""
    max_model_len: Annotated[int, Field(ge=128)] = 8192
    boot_timeout: Seconds = 300
    args: dict[str, Scalar] = Field(default_factory=dict[str, Scalar])
    """Further engine flags without leading dashes; ``true`` is a bare flag, ``false`` leaves a default flag out."""
    env: dict[str, Scalar] = Field(default_factory=dict[str, Scalar])


class Hardware(Strict):
    """What the box must have."""

    cpus: Annotated[int, Field(ge=1)] = 2
    memory: Size = 4 * 2**30
    """Free memory when the run starts."""
    disk: Size = 8 * 2**30
    """Free disk for the engine environment, weights and logs."""
    gpus: Annotated[int, Field(ge=0)] = 0


class Provider(Strict):
    prefer: tuple[ProviderKind, ...] = ("local",)
    """Tried in this order."""


class Limits(Strict):
    ttl: Seconds = 4 * 3600
    """How long the run is meant to last; ``dsctl ps`` shows what is left. Nothing ends a local run by itself."""
    idle: Seconds | None = None
    """How long it may stand unused. Not acted on yet: a local run costs nothing."""
    max_spend_usd: Annotated[float, Field(ge=0)] = 0
    """The most it may cost. Not acted on yet: a local run costs nothing."""


class Gateway(Strict):
    """The front door. Everything else listens on loopback only; so does this unless ``host`` says otherwise."""

    host: str = "127.0.0.1"
    port: Port = 8000
    policy: Literal["least-loaded", "round-robin"] = "least-loaded"
    prefill_timeout: Seconds = 30
    first_token_timeout: Seconds = 60
    idle_timeout: Seconds = 60
    """Longest silence between two pieces of an answer."""


class ChatWorkload(Strict):
    """Chat traffic: one shared system prompt and a unique user message in every request."""

    kind: Literal["chat"] = "chat"
    prompt_tokens: Annotated[int, Field(ge=16)] = 1024
    shared_ratio: Annotated[float, Field(ge=0, lt=1)] = 0.8
    """Part of the prompt that every request of one step shares."""
    output_tokens: Annotated[int, Field(ge=1)] = 32


class Bench(Strict):
    workload: ChatWorkload = ChatWorkload()
    arrivals: Literal["poisson", "constant"] = "poisson"
    rates: Annotated[tuple[Annotated[float, Field(gt=0)], ...], Field(min_length=1)] = (1, 2, 4)
    """Requests per second, one step each."""
    duration: Seconds = 15
    warmup: Seconds = 3
    request_timeout: Seconds = 60
    seed: Annotated[int, Field(ge=0)] = 0
    slo: str = ""
    """For example ``ttft_p95=2s,itl_p99=80ms``; a miss ends with exit status 8."""


class Profile(Strict):
    """One deployment, from the model to the load it is measured with."""

    schema_: Annotated[Literal["dsctl.profile/1"], Field(alias="schema")]
    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9.-]{0,62}$")]
    description: str = ""
    model: Annotated[SyntheticModel | HubModel, Field(discriminator="kind")]
    served_name: Annotated[str, Field(pattern=r"^[\w./:-]+$")] = "lab"
    """The model name clients send."""
    topology: Topology
    kv: Kv = Kv()
    engine: Engine = Engine()
    hardware: Hardware = Hardware()
    provider: Provider = Provider()
    limits: Limits = Limits()
    gateway: Gateway = Gateway()
    bench: Bench = Bench()

    @property
    def simulated(self) -> bool:
        return self.engine.kind == "sim"

    @property
    def engine_ports(self) -> dict[str, int]:
        return {role: self.engine.base_port + index for index, role in enumerate(self.topology.roles)}

    @property
    def ports(self) -> dict[str, int]:
        """Every TCP port the run binds, by role."""
        store = {} if self.kv.mover == "none" else {"lmcache": self.kv.port, "lmcache http": self.kv.http_port}
        return {**store, **self.engine_ports, "gateway": self.gateway.port}

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        for problem in (_mover_problem(self), _mla_problem(self), _port_problem(self), _length_problem(self)):
            if problem:
                raise ValueError(problem)
        return self

    def resolved(self) -> dict[str, Any]:
        """Every value, defaults included, as plain JSON data: what is digested and stored."""
        return self.model_dump(mode="json", by_alias=True)


def _mover_problem(profile: Profile) -> str:
    mover, engine = profile.kv.mover, profile.engine.kind
    if profile.topology.disaggregated and mover == "none":
        return "topology: prefill and decode need a KV mover: set kv.mover, or use topology.replicas"
    wanted: dict[EngineKind, tuple[MoverKind, ...]] = {"sim": ("sim_store", "none"), "vllm": ("lmcache_mp", "none")}
    if mover not in wanted[engine]:
        return f"kv.mover: {mover} does not work with engine.kind {engine}; use {' or '.join(wanted[engine])}"
    return ""


def _mla_problem(profile: Profile) -> str:
    synthetic = profile.model if isinstance(profile.model, SyntheticModel) else None
    mla = synthetic is not None and synthetic.architecture == "deepseek_v2"
    if mla and profile.engine.device == "cpu" and profile.kv.mover != "none":
        return (
            "kv.mover: KV retrieved through LMCache gives wrong tokens with MLA on vLLM 0.32's CPU backend; "
            "use kv.mover none with topology.replicas, or model.architecture qwen2"
        )
    return ""


def _port_problem(profile: Profile) -> str:
    seen: dict[int, str] = {}
    for role, port in profile.ports.items():
        if port > 65535:
            return f"engine.base_port: {role} would need port {port}, beyond 65535"
        if port in seen:
            return f"gateway.port: {role} and {seen[port]} would both bind port {port}"
        seen[port] = role
    return ""


def _length_problem(profile: Profile) -> str:
    workload = profile.bench.workload
    needed = workload.prompt_tokens + workload.output_tokens
    if needed > profile.engine.max_model_len:
        return (
            f"bench.workload: {workload.prompt_tokens} prompt and {workload.output_tokens} output tokens "
            f"exceed engine.max_model_len {profile.engine.max_model_len}"
        )
    model = profile.model
    if isinstance(model, SyntheticModel) and model.max_positions < profile.engine.max_model_len:
        return f"engine.max_model_len: {profile.engine.max_model_len} exceeds model.max_positions {model.max_positions}"
    return ""
