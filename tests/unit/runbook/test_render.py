"""The story holds what a reader needs, and nothing they must not get."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dsctl.core.errors import DsctlError
from dsctl.model.event import Event
from dsctl.runbook import folder
from dsctl.runbook.addresses import hide_addresses
from dsctl.runbook.journal import FILE, Journal
from dsctl.runbook.recorded import recorded
from dsctl.runbook.render import readme, write_reports
from tests.story import event, failed, make_run, measuring, opened, serving, starting, summary, tearing, whole


def _told(root: Path, events: list[Event], *, commands: bool = False) -> str:
    return readme(recorded(make_run(root, events)), commands=commands)


def test_reports_are_written_and_repeat(tmp_path: Path) -> None:
    path = make_run(tmp_path, whole())
    assert write_reports(path).status == "torn-down"
    before = (path / "README.md").read_bytes()
    write_reports(path)
    assert (path / "README.md").read_bytes() == before
    assert json.loads((path / "manifest.json").read_text())["status"] == "torn-down"


def test_a_writer_sees_its_own_run_as_alive(tmp_path: Path) -> None:
    path = make_run(tmp_path, [*opened(), *starting()[:2]])
    assert write_reports(path).status == "crashed"
    journal = Journal.open(path)
    assert write_reports(path).status == "running"
    assert "- under way: bootstrap" in (path / "README.md").read_text()
    journal.close()


def test_simulated_is_said_at_the_top_and_at_every_table(tmp_path: Path) -> None:
    events = [*opened(simulated=True), *serving(), *measuring(), *measuring(300, number=2)]
    text = _told(tmp_path, events)
    assert text.count("**SIMULATED.**") == 3
    assert text.index("**SIMULATED.**") < text.index("This run was up")
    assert "(measured):" not in text


def test_a_failure_comes_with_its_log_and_the_next_command(tmp_path: Path) -> None:
    text = _told(tmp_path, [*opened(), *starting()[:3], failed()])
    assert text.startswith("# lab (mnpqrs): failed\n")
    assert "**launch/decode0/ready: not done within 300 s** (exit 7)" in text
    assert "the end of decode0.log" in text
    assert "Hint: dsctl logs lab decode0" in text


def test_no_address_of_a_machine_gets_into_the_story(tmp_path: Path) -> None:
    text = _told(tmp_path, [*opened(), failed()], commands=True)
    assert "203.0.113.7" not in text
    assert "bind to [address]:8101 failed" in text
    assert "127.0.0.1" in text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("ssh root@203.0.113.7 -p 22", "ssh root@[address] -p 22"),
        ("--host=198.51.100.4:80, then 10.0.0.1.", "--host=[address]:80, then [address]."),
        ("http://[2001:db8::1]:8000 and fe80::1", "http://[[address]]:8000 and [address]"),
        ("127.0.0.1 127.0.1.1 0.0.0.0 ::1 ::", "127.0.0.1 127.0.1.1 0.0.0.0 ::1 ::"),
        ("nvidia-cublas==12.8.4.1 lib-1.2.3.4.so v1.2.3.4", "nvidia-cublas==12.8.4.1 lib-1.2.3.4.so v1.2.3.4"),
        ("at 09:15:00, 300.1.1.1, c10::detail, std::vector", "at 09:15:00, 300.1.1.1, c10::detail, std::vector"),
        ("driver 570.133.20", "driver 570.133.20"),
    ],
)
def test_hide_addresses(text: str, shown: str) -> None:
    assert hide_addresses(text) == shown


def test_output_with_fences_and_pipes_stays_inside(tmp_path: Path) -> None:
    odd = event(5, "run.failed", code="x", exit=6, message="m", hint="", context=["```", "````sh", "rm"])
    assert "\n`````\n```\n````sh\nrm\n`````\n" in _told(tmp_path, [*opened(), odd])


def test_a_sweep_with_gaps(tmp_path: Path) -> None:
    text = _told(tmp_path, [*opened(), *serving(), *measuring()])
    assert "| 1 | 1.00 | 0.99 | 120.0 | 180.5 | 210.2 | 11.0 | 15.5 | 78.0 % | 80.0 % | 0 | yes |" in text
    assert "| 4 | 4.00 | 2.50 | 120.0 | 180.5 | 210.2 | - | - | 78.0 % | 80.0 % | 3 | **no** |" in text
    assert "- 4 req/s is not valid: sent 3.1 of 4 req/s\n- 4 req/s: 3 timeout among 60 requests\n" in text
    assert "![TTFT](artifacts/bench-1/ttft.svg)" in text


def test_a_bench_cut_short_promises_no_charts(tmp_path: Path) -> None:
    begun = measuring()[0]
    part = event(120, "bench.step", **summary(1.0, reuse={"measured": None, "ideal": None, "by_role": {}}))
    text = _told(tmp_path, [*opened(), *serving(), begun, part, event(130, "bench.started", **begun.data)])
    assert "Bench 1 (measured): killed" in text
    assert "| - | - | 0 | yes |" in text
    assert "No rate was finished" in text
    assert ".svg" not in text


def test_what_is_not_gone_is_said_first_and_again(tmp_path: Path) -> None:
    text = _told(tmp_path, [*opened(), *serving(), *tearing(remains=["process 7: vllm", "port 8000"])])
    assert text.startswith("# lab (mnpqrs): teardown-unconfirmed\n")
    assert "TEARDOWN NOT CONFIRMED" in text
    assert "**Still there:** process 7: vllm; port 8000" in text


def test_a_damaged_journal_says_so(tmp_path: Path) -> None:
    path = make_run(tmp_path, whole())
    content = (path / FILE).read_bytes()
    (path / FILE).write_bytes(content.replace(b'"seconds": 45.0', b'"seconds": 15.0', 1) + b'{"torn')
    text = readme(recorded(path))
    assert "> **The journal is not sound:** line 16 does not follow the line before it" in text
    assert "the last line is torn" in text


@pytest.mark.parametrize("name", [folder.PLAN, folder.RESOLVED, folder.PROFILE, folder.OVERRIDES])
def test_a_lost_file_costs_its_part_only(tmp_path: Path, name: str) -> None:
    path = make_run(tmp_path, whole())
    (path / name).unlink()
    text = readme(recorded(path))
    assert "## Timeline" in text
    assert ("## By hand" in text) == (name != folder.PLAN)


def test_commands_are_filled_in_with_what_the_box_said(tmp_path: Path) -> None:
    text = _told(tmp_path, whole(), commands=True)
    assert "| `run.dir` | `/srv/mnpqrs` |" in text
    assert "# launch/box/gateway-config: " in text
    assert "mkdir -p /srv/mnpqrs && cat > /srv/mnpqrs/gateway.json <<'DSCTL_END'\n{\n" in text
    assert "{run.dir}" not in text


def test_a_report_that_cannot_be_written_is_a_failure_with_a_hint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = make_run(tmp_path, whole())

    def full(*_: object, **__: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(DsctlError, match="No space left") as raised:
        write_reports(path)
    assert "the journal is whole" in raised.value.hint
