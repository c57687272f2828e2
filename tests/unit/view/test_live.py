"""The moving terminal: what stands, what scrolls, and what a program's output cannot do to it."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from rich.console import Console

from dsctl.model.event import Event
from dsctl.view.live import Live
from tests.story import event, measuring, opened, serving, starting, step, tearing
from tests.terminals import Terminal


class _Time:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def _live(stream: Terminal, monotonic: Callable[[], float]) -> Live:
    console = Console(file=stream, width=80, force_terminal=True, color_system=None, legacy_windows=False)
    return Live(stream, styled=False, console=console, monotonic=monotonic)


def _moving(live: Live) -> list[str]:
    """What stands below at this moment, as an 80 columns wide terminal shows it."""
    console = Console(file=Terminal(), width=80, color_system=None)
    with console.capture() as capture:
        console.print(live._render())
    return [line.rstrip() for line in capture.get().splitlines() if line.strip()]


def _begun(name: str) -> Event:
    return event(0, "step.started", step=name, phase="launch", role="", title=f"Start {name}", argv=["x"])


def test_running_steps_stand_with_their_time_and_last_words() -> None:
    stream, now = Terminal(), _Time()
    live = _live(stream, now)
    live.see(_begun("a"))
    assert _moving(live) == []
    now.now += 65
    live.see(event(0, "step.output", step="a", line="loading\n"))
    live.see(event(0, "step.output", step="a", line="  \n"))
    live.see(event(0, "step.output", step="unknown", line="x"))
    assert _moving(live) == ["  • Start a 1m05s  loading"]


def test_a_program_cannot_draw_on_the_terminal() -> None:
    stream, now = Terminal(), _Time()
    live = _live(stream, now)
    live.see(_begun("a"))
    now.now += 2
    hostile = "10%\r\x1b[2J\x1b[31m[bold]50%[/] \x1b]0;title\x07done\\\x08"
    live.see(event(0, "step.output", step="a", line=hostile))
    assert _moving(live) == ["  • Start a 2.0s  [bold]50%[/] done\\"]


def test_long_lines_are_cut_not_wrapped() -> None:
    stream, now = Terminal(), _Time()
    live = _live(stream, now)
    live.see(_begun("a"))
    now.now += 2
    live.see(event(0, "step.output", step="a", line="x" * 500))
    (line,) = _moving(live)
    assert len(line) == 80
    assert line.endswith("…")


def test_many_running_steps_are_counted() -> None:
    stream, now = Terminal(), _Time()
    live = _live(stream, now)
    for number in range(12):
        live.see(_begun(f"s{number}"))
    now.now += 2
    assert len(_moving(live)) == 9
    assert _moving(live)[-1].strip() == "and 4 more"


def test_bench_progress_stands_until_its_rate_is_done() -> None:
    stream = Terminal()
    live = _live(stream, _Time())
    live.see(event(0, "bench.progress", rate=2.0, sent=10, done=7, errors=1, inflight=3))
    assert _moving(live) == ["    2 req/s: sent 10, done 7, in flight 3, errors 1"]
    live.see(measuring()[4])
    assert _moving(live) == []
    assert "1 req/s: delivered 0.99, TTFT P50 120 ms P95 180 ms, errors 0" in stream.getvalue()


def test_what_is_over_scrolls_up() -> None:
    stream = Terminal()
    live = _live(stream, _Time())
    for one in [*opened(), *starting(), *serving(), *tearing(remains=["port 8000"])]:
        live.see(one)
    assert stream.getvalue().splitlines() == [
        "bootstrap",
        "  ✓ Do engine-env 20s",
        "launch",
        "  ✓ Do ready 30s",
        "  ✓ Do ready 45s",
        "  ✓ Do ready 2.0s",
        "ready",
        "  ✓ Do chat 1.5s",
        "teardown (asked)",
        "  ✓ Do stop 3.0s",
        "  ✗ still there: port 8000",
    ]


def test_quick_steps_leave_no_line_unless_they_failed() -> None:
    stream = Terminal()
    live = _live(stream, _Time())
    for one in [*step(0, 0.1, "launch/a/put"), *step(0, 0.1, "launch/b/put", status="failed")]:
        live.see(one)
    assert stream.getvalue() == "  ✗ Do put 0.10s\n"


@pytest.mark.parametrize(("styles", "codes"), [(False, False), (True, True)])
def test_no_style_at_all_when_styles_are_off(styles: bool, codes: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    stream = Terminal()
    live = Live(stream, styled=styles)
    for one in [*starting(), *tearing()]:
        live.see(one)
    assert ("\x1b[" in stream.getvalue()) is codes


def test_a_terminal_without_unicode_gets_ascii() -> None:
    stream = Terminal(encoding="ascii")
    live = Live(stream, styled=False)
    for one in step(0, 3, "launch/a/start"):
        live.see(one)
    assert stream.getvalue() == "  ok Do start 3.0s\n"


def test_events_from_many_threads() -> None:
    stream = Terminal()

    def work(live: Live, name: str) -> None:
        for number in range(50):
            for one in step(0, 1, f"launch/{name}{number}/start"):
                live.see(one)

    with _live(stream, _Time()) as live:
        threads = [threading.Thread(target=work, args=(live, name)) for name in "abcd"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
    assert not any(thread.is_alive() for thread in threads)
    assert stream.getvalue().count("✓ Do start 1.0s") == 200
