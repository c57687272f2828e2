"""Profile to steps: the model on the box, made from a seed or pulled from a hub at a revision."""

from __future__ import annotations

import json

from dsctl.core.digest import digest
from dsctl.model.profile import HubModel, Profile
from dsctl.model.step import Run, Step

SYNTHETIC_S = 300.0
HUB_S = 4 * 3600.0


def model_digest(profile: Profile) -> str:
    """Names the model's folder."""
    return digest(profile.model.model_dump(mode="json"))[:12]


def steps(profile: Profile) -> tuple[Step, ...]:
    if profile.simulated:
        return ()
    hub = isinstance(profile.model, HubModel)
    argv = _pull(profile.model) if isinstance(profile.model, HubModel) else _make(profile)
    model = Step(
        id="weights/box/model",
        phase="weights",
        role="box",
        title="Pull the model from the hub" if hub else "Make the synthetic model",
        action=Run(argv),
        needs=("bootstrap/box/engine-env", "bootstrap/box/synth_model"),
        guard=("test", "-f", "{model.dir}/config.json" if hub else "{model.dir}/.ready"),
        timeout_s=HUB_S if hub else SYNTHETIC_S,
    )
    return (model,)


def _make(profile: Profile) -> tuple[str, ...]:
    spec = json.dumps(profile.model.model_dump(mode="json", exclude={"kind"}), separators=(",", ":"))
    return ("{engine.dir}/bin/python", "{run.dir}/bin/synth_model.py", "--dir", "{model.dir}", "--spec", spec)


def _pull(model: HubModel) -> tuple[str, ...]:
    return ("{engine.dir}/bin/hf", "download", model.repo, "--revision", model.revision, "--local-dir", "{model.dir}")
