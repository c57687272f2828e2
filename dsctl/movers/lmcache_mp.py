"""Knows LMCache's multiprocess mode: one server with a shared L1 store in host memory, one connector in every engine.

Versions and behaviour: LMCache 0.5.6 with vLLM 0.32. The ZMQ port carries pickled data, so it binds loopback only.
On a CPU, KV goes through messages unless ``kv.shared_memory`` asks for a pool in ``/dev/shm``: with it LMCache 0.5.6
raises in an engine whose store stopped answering, which ends that engine; without it the engine recomputes. The pool
carries the run's mark in its name, so teardown finds it.
"""

from __future__ import annotations

import json

from dsctl.model.profile import Profile
from dsctl.model.program import Program
from dsctl.ports.plug import EngineOptions, GatewayMode

_GIB = 2**30


class LMCacheMP:
    gateway_mode: GatewayMode = "pd"

    def programs(self, profile: Profile) -> tuple[Program, ...]:
        kv = profile.kv
        argv = (
            "{engine.dir}/bin/lmcache", "server",
            "--host", "127.0.0.1", "--port", "{lmcache.port}",
            "--http-host", "127.0.0.1", "--http-port", "{lmcache.http_port}",
            "--chunk-size", str(kv.chunk_tokens),
            "--l1-size-gb", f"{kv.l1_size / _GIB:g}",
            "--eviction-policy", kv.eviction,
            "--supported-transfer-mode", "auto",
            *(("--no-l1-use-lazy", "--shm-name", "{run.shm}_l1") if kv.shared_memory else ()),
        )  # fmt: skip
        server = Program(
            role="lmcache",
            kind="store",
            argv=argv,
            ports=(kv.port, kv.http_port),
            health="http://127.0.0.1:{lmcache.http_port}/healthcheck",
            env={"LMCACHE_TRACK_USAGE": "false", "LMCACHE_DISABLE_BANNER": "1", "OMP_NUM_THREADS": "1"},
            boot_s=profile.engine.boot_timeout,
        )
        return (server,)

    def engine_options(self, profile: Profile, role: str) -> EngineOptions:  # noqa: ARG002  same for both roles
        connector = {
            "kv_connector": "LMCacheMPConnector",
            "kv_role": "kv_both",
            "kv_connector_extra_config": {
                "lmcache.mp.host": "tcp://127.0.0.1",
                "lmcache.mp.port": profile.kv.port,
                "lmcache.mp.mq_timeout": profile.kv.request_timeout,
                "lmcache.mp.heartbeat_interval": profile.kv.heartbeat,
            },
        }
        args = ("--kv-transfer-config", json.dumps(connector, separators=(",", ":")))
        return EngineOptions(args=args, env={"LMCACHE_TRACK_USAGE": "false", "LMCACHE_DISABLE_BANNER": "1"})
