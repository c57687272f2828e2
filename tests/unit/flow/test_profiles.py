from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from dsctl.core.errors import ProfileInvalid, UsageFault
from dsctl.flow import profiles
from dsctl.flow.profiles import check_all, find, load, names, new, schema, write_new
from dsctl.flow.yaml_lines import parse
from dsctl.model.profile import Profile
from tests.profiles import FOLDER, SHIPPED, shipped

BASE = """schema: dsctl.profile/1
name: x
model: {kind: synthetic}
topology: {prefill: 1, decode: 1}
kv: {mover: lmcache_mp}
"""


def problems(text: str | bytes, tmp_path: Path, *overrides: str) -> list[tuple[str, str, str, str]]:
    """(where without the folder, path, message, suggestion) of each mistake."""
    path = tmp_path / "p.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ProfileInvalid) as error:
        load(str(path), overrides)
    return [(p.where.replace(f"{path}", "p.yaml"), p.path, p.message, p.suggestion) for p in error.value.problems]


@pytest.mark.parametrize(
    ("text", "where", "path", "message", "suggestion"),
    [
        (BASE + "hardwear: {}\n", "p.yaml:6", "hardwear", "unknown key", "did you mean hardware?"),
        (BASE.replace("mover: ", "moover: x, mover: "), "p.yaml:5", "kv.moover", "unknown key", "did you mean mover?"),
        (BASE.replace("lmcache_mp", "lmcache"), "p.yaml:5", "kv.mover", "not allowed", "did you mean lmcache_mp?"),
        (BASE.replace("synthetic", "synthetc"), "p.yaml:3", "model.kind", "not allowed", "did you mean synthetic?"),
        (BASE.replace("kind: synthetic", "seed: 1"), "p.yaml:3", "model.kind", "missing", "one of: synthetic, hub"),
        (
            BASE.replace("{kind: synthetic}", "{kind: hub, repo: nope}"),
            "p.yaml:3",
            "model.repo",
            "look right",
            "owner/name",
        ),
        (BASE.replace("prefill: 1", "prefill: two"), "p.yaml:4", "topology.prefill", "whole number", ""),
        (BASE.replace("prefill: 1", "prefill: -1"), "p.yaml:4", "topology.prefill", "at least 0, not -1", ""),
        (BASE.replace("prefill: 1, ", ""), "p.yaml:4", "topology", "give prefill and decode", ""),
        (BASE.replace("decode: 1", "decode: 1, replicas: 1"), "p.yaml:4", "topology", "not both", ""),
        (BASE + "limits: {ttl: soon}\n", "p.yaml:6", "limits.ttl", "write it like 90s", ""),
        (BASE + "kv2:\n", "p.yaml:6", "kv2", "unknown key", "did you mean kv?"),
        (BASE.replace("mover: lmcache_mp", "mover: lmcache_mp, l1_size: big"), "p.yaml:5", "kv.l1_size", "2GiB", ""),
        (BASE.replace("mover: lmcache_mp", "mover: none"), "p.yaml:4", "topology", "need a KV mover", ""),
        (
            BASE.replace("mover: lmcache_mp", "mover: sim_store"),
            "p.yaml:5",
            "kv.mover",
            "does not work with engine",
            "",
        ),
        (BASE + "gateway: {port: 8100}\n", "p.yaml:6", "gateway.port", "both bind port 8100", ""),
        (BASE + "gateway: {port: 99999}\n", "p.yaml:6", "gateway.port", "at most 65535", ""),
        (BASE + "bench: {rates: []}\n", "p.yaml:6", "bench.rates", "at least one", ""),
        (BASE + "bench:\n  rates: [1, 0]\n", "p.yaml:7", "bench.rates.1", "more than 0", ""),
        (BASE + "bench: {workload: {prompt_tokens: 9000}}\n", "p.yaml:6", "bench.workload", "max_model_len", ""),
        (
            BASE.replace("synthetic}", "synthetic, architecture: deepseek_v2}"),
            "p.yaml:5",
            "kv.mover",
            "wrong tokens",
            "",
        ),
        (BASE.replace("name: x", "name: Big Name"), "p.yaml:2", "name", "does not look right", "lower-case"),
        (BASE.replace("schema: dsctl.profile/1\n", ""), "p.yaml:1", "schema", "missing", "dsctl.profile/1"),
        (BASE.replace("profile/1", "profile/9"), "p.yaml:1", "schema", "not allowed", "dsctl.profile/1"),
        (BASE + "kv: {}\n", "p.yaml:6", "kv", "given twice, first on line 5", ""),
        (BASE + "engine: [1]\n", "p.yaml:6", "engine", "must be a mapping", ""),
        ("", "p.yaml:1", "(top level)", "the file is empty", "schema: dsctl.profile/1"),
        ("- a\n- b\n", "p.yaml:1", "(top level)", "not a mapping", ""),
        ("a: [1\nb: 2\n", "p.yaml:2:", "(syntax)", "", "YAML"),
        ("a:\n\tb: 1\n", "p.yaml:2:", "(syntax)", "", "spaces, not tabs"),
        (b"\xff\xfe\x00", "p.yaml:1", "(encoding)", "not UTF-8", ""),
    ],
)
def test_each_mistake_has_its_line_and_says_what_to_write(
    text: str | bytes, where: str, path: str, message: str, suggestion: str, tmp_path: Path
) -> None:
    found = problems(text, tmp_path)
    assert len(found) == 1, found
    assert found[0][0].startswith(where)
    assert found[0][1] == path
    assert message in found[0][2]
    assert suggestion in found[0][3]


def test_all_mistakes_are_said_at_once_in_the_order_of_the_file(tmp_path: Path) -> None:
    text = BASE.replace("prefill: 1", "prefill: x").replace("lmcache_mp", "lmcach") + "nope: 1\n"
    assert [where for where, *_ in problems(text, tmp_path)] == ["p.yaml:4", "p.yaml:5", "p.yaml:6"]


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("kv.porrt=7", "unknown key"),
        ("kv.port", "not KEY=VALUE"),
        ("kv.port=[", "not a YAML value"),
        ("name.a=1", "no keys"),
    ],
)
def test_a_wrong_override_is_named_as_it_was_given(override: str, message: str, tmp_path: Path) -> None:
    ((where, _, said, _),) = problems(BASE, tmp_path, override)
    assert where == f"--set {override}"
    assert message in said


def test_overrides_change_values_lists_and_whole_mappings() -> None:
    loaded = load(
        "local-1p2d",
        ["kv.l1_size=4GiB", "bench.rates=[7]", "engine.args.foo=true", "topology={replicas: 2}", "kv.mover=none"],
    )
    profile = loaded.profile
    assert profile.kv.l1_size == 4 * 2**30
    assert profile.bench.rates == (7,)
    assert profile.engine.args == {"foo": True}
    assert profile.topology.roles == ("engine0", "engine1")
    assert load("local-1p2d").digest != loaded.digest


@given(st.text(max_size=120))
def test_any_text_is_a_profile_or_a_told_mistake(text: str) -> None:
    with suppress(ProfileInvalid, ValueError):
        Profile.model_validate(parse(text, "f").value)


values = st.one_of(st.none(), st.booleans(), st.integers(-5, 99999), st.text(max_size=6), st.just([]), st.just({}))


@given(st.sampled_from(sorted(Profile.model_fields)), values)
def test_no_value_in_any_place_is_a_bug(key: str, value: Any) -> None:
    override = f"{'schema' if key == 'schema_' else key}={json.dumps(value)}"
    with suppress(ProfileInvalid):
        load("local-1p2d", [override])


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_profiles_are_valid_and_survive_being_resolved(name: str) -> None:
    profile = load(name).profile
    assert Profile.model_validate(profile.resolved()) == profile
    assert profile.name == name
    assert profile.description


def test_the_schema_accepts_what_is_shipped_and_refuses_what_is_wrong() -> None:
    validator = Draft202012Validator(schema())
    Draft202012Validator.check_schema(schema())
    for name in SHIPPED:
        validator.validate(yaml.safe_load((FOLDER / f"{name}.yaml").read_text()))
    assert not validator.is_valid({"schema": "dsctl.profile/1", "name": "x", "nope": 1})


def test_a_name_is_looked_up_in_the_project_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert find("local-sim").parent.name in ("profiles", "_profiles")
    write_new("local-sim", "local-mono", Path("profiles/local-sim.yaml"))
    assert find("local-sim") == tmp_path / "profiles" / "local-sim.yaml"
    assert {entry.name: entry.source for entry in names()}["local-sim"] == "project"


@pytest.mark.parametrize(("ref", "words"), [("local-1p3d", "did you mean local-"), ("zzz", "dsctl profile ls")])
def test_an_unknown_name_gets_a_way_on(ref: str, words: str) -> None:
    with pytest.raises(UsageFault, match=ref) as error:
        find(ref)
    assert words in error.value.hint


def test_a_folder_or_absent_file_is_said(tmp_path: Path) -> None:
    for ref in (f"{tmp_path}/", f"{tmp_path}/absent.yaml"):
        with pytest.raises(UsageFault):
            find(ref)


def test_a_new_profile_is_valid_and_never_overwrites(tmp_path: Path) -> None:
    path = write_new("mine", "local-1p1d", tmp_path / "deep" / "mine.yaml")
    assert load(str(path)).profile.name == "mine"
    assert "yaml-language-server" in path.read_text()
    with pytest.raises(UsageFault, match="exists already"):
        write_new("mine", "local-1p1d", path)
    with pytest.raises(ProfileInvalid):
        new("Not A Name", "local-1p1d")


def test_a_broken_file_is_listed_as_broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "profiles").mkdir()
    (tmp_path / "profiles" / "bad.yaml").write_text("name: [")
    monkeypatch.chdir(tmp_path)
    entry = next(entry for entry in names() if entry.name == "bad")
    assert "bad.yaml" in entry.broken


def test_several_files_are_checked_together(tmp_path: Path) -> None:
    bad = tmp_path / "bad.yaml"
    bad.write_text(BASE + "nope: 1\n")
    assert [one.profile.name for one in check_all(["local-sim", "local-mono"], ())] == ["local-sim", "local-mono"]
    with pytest.raises(ProfileInvalid) as error:
        check_all(["local-sim", str(bad)], ())
    assert len(error.value.problems) == 1


def test_the_wheel_carries_the_profiles() -> None:
    assert profiles.builtin_dir().is_dir()
    assert shipped("local-sim").simulated
