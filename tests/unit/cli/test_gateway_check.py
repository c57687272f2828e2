from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dsctl.cli.app import app
from dsctl.core.errors import UsageFault
from dsctl.flow.compile import compile_plan
from dsctl.model.step import Put
from tests.profiles import SHIPPED, shipped


@pytest.mark.parametrize("name", SHIPPED)
def test_the_configuration_of_every_plan_is_one_the_gateway_takes(name: str, tmp_path: Path) -> None:
    step = next(step for step in compile_plan(shipped(name)).steps if step.id == "launch/box/gateway-config")
    assert isinstance(step.action, Put)
    path = tmp_path / "gateway.json"
    path.write_text(step.action.text)
    result = CliRunner().invoke(app, ["gateway", "check", str(path), "--json"])
    assert result.exit_code == 0
    assert json.loads(result.output)["engines"] == len([r for r in shipped(name).topology.roles if "prefill" not in r])


def test_a_wrong_configuration_is_named_with_its_key(tmp_path: Path) -> None:
    path = tmp_path / "gateway.json"
    path.write_text('{"schema": "dsctl.gateway/1", "model": "x", "decode": []}')
    result = CliRunner().invoke(app, ["gateway", "check", str(path)])
    assert isinstance(result.exception, UsageFault)
    assert "decode" in result.exception.message
