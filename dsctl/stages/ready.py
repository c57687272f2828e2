"""Profile to steps: proof that the stack serves, and that decoders retrieve KV rather than recompute it."""

from __future__ import annotations

from dsctl.model.profile import Profile
from dsctl.model.step import Expect, Run, Step

SHARED_AT_LEAST = 0.9
"""Part of a fresh prompt's tokens that a decoder must have retrieved. Prompts here are whole chunks plus one token."""

_GATEWAY = "http://127.0.0.1:{gateway.port}"


def steps(profile: Profile) -> tuple[Step, ...]:
    verify = ("{box.python}", "{run.dir}/bin/verify.py")
    target = ("--gateway", _GATEWAY, "--model", profile.served_name)
    chat = Step(
        id="ready/gateway/chat",
        phase="ready",
        role="gateway",
        title="Chat once through the front door",
        action=Run((*verify, "chat", *target), log="{run.dir}/logs/gateway.log"),
        needs=("launch/gateway/ready", "bootstrap/box/verify"),
        expect=(Expect("model", "==", profile.served_name), Expect("completion_tokens", ">=", 1)),
        timeout_s=120,
        not_ready=True,
    )
    note = Step(
        id="ready/box/held",
        phase="ready",
        role="box",
        title="Note the shared memory the run holds",
        action=Run((*sweep_argv(profile), "--note")),
        needs=("ready/gateway/chat", "bootstrap/box/sweep"),
    )
    return (chat, *_sharing(profile, (*verify, "sharing", *target)), note)


def sweep_argv(profile: Profile) -> tuple[str, ...]:
    ports = ",".join(str(port) for port in profile.ports.values())
    return (
        "{box.python}", "{run.dir}/bin/sweep.py", "--run-id", "{run.id}", "--run-dir", "{run.dir}",
        "--shm", "{run.shm}", "--ports", ports,
    )  # fmt: skip


def _sharing(profile: Profile, verify: tuple[str, ...]) -> tuple[Step, ...]:
    if not profile.topology.disaggregated:
        return ()
    decoders = [role for role in profile.topology.roles if role.startswith("decode")]
    urls = tuple(part for role in decoders for part in ("--decode", f"http://127.0.0.1:{{{role}.port}}"))
    sizes = ("--chunk", str(profile.kv.chunk_tokens), "--max-len", str(profile.engine.max_model_len))
    sharing = Step(
        id="ready/decode/sharing",
        phase="ready",
        role="decode",
        title="Prove that decoders retrieve what the prefiller stored",
        action=Run((*verify, *urls, *sizes), log="{run.dir}/logs/lmcache.log"),
        needs=("ready/gateway/chat",),
        expect=(
            Expect("decoders_used", "==", len(decoders)),
            Expect("external_ratio", ">=", SHARED_AT_LEAST),
        ),
        timeout_s=180,
    )
    return (sharing,)
