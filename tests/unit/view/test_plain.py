"""A log that a person reads afterwards: one line an event, with the time, and where it hung."""

from __future__ import annotations

from dsctl.view.plain import plain_sink
from dsctl.view.words import clean
from tests.story import event, failed, measuring, opened, serving, starting, step, tearing
from tests.terminals import Terminal


def _log(events: list[object]) -> list[str]:
    stream = Terminal(tty=False)
    see = plain_sink(stream)
    for one in events:
        see(one)  # type: ignore[arg-type]
    return stream.getvalue().splitlines()


def test_a_run() -> None:
    way = [*opened(), *starting()[:5], *serving(), *measuring()[4:6]]
    assert _log([*way, failed(), *tearing(remains=["port 8000"])]) == [
        "09:00:00 run lab (mnpqrs), profile local-1p2d on local",
        "09:00:01 -- bootstrap",
        "09:00:01 .. Do engine-env",
        "09:00:21 ok Do engine-env (20s)",
        "09:00:21 -- launch",
        "09:01:10 ready: http://127.0.0.1:8000/v1, model lab",
        "09:02:00 1 req/s: delivered 0.99, TTFT P50 120 ms P95 180 ms, errors 0",
        "09:02:20 4 req/s: delivered 2.50, TTFT P50 120 ms P95 180 ms, errors 3",
        "09:00:50 failed: launch/decode0/ready: not done within 300 s",
        "09:03:20 -- teardown (asked)",
        "09:03:20 -- teardown",
        "09:03:20 .. Do stop",
        "09:03:23 ok Do stop (3.0s)",
        "09:03:24 NOT GONE: port 8000",
    ]  # fmt: skip


def test_simulated_is_said_first() -> None:
    assert _log([*opened(simulated=True)])[0].endswith(", SIMULATED")


def test_files_put_in_no_time_are_left_out() -> None:
    put = event(0, "step.started", step="a/b/c", phase="a", role="", title="Put it", argv=["put", "/x"])
    ended = event(0, "step.ended", step="a/b/c", phase="a", status="ran", seconds=0.01)
    slow = event(0, "step.ended", step="a/b/c", phase="a", status="ran", seconds=5.0)
    assert _log([put, ended]) == []
    assert _log([put, slow]) == ["09:00:00 ok Put it (5.0s)"]


def test_a_quick_step_that_failed_is_shown() -> None:
    assert _log([*step(0, 0.1, "launch/a/start", status="failed")])[-1] == "09:00:00 !! Do start (0.10s)"


def test_progress_comes_every_five_seconds() -> None:
    def progress(at: float) -> object:
        return event(at, "bench.progress", rate=1, sent=int(at), done=0, errors=0)

    lines = _log([progress(at / 2) for at in range(25)])
    assert [line.split("sent ")[1].split(",")[0] for line in lines] == ["0", "5", "10"]


def test_clean() -> None:
    assert clean("\x1b[1;31mred\x1b[0m\tword\x07\r\n") == "red\tword"
    assert clean("10%\r50%\r100%\r") == "100%"
    assert clean("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\ \x9b31m") == "link 31m"
    assert clean("a\nb") == "a\nb"
    assert clean("tail\x1b") == "tail"
    assert clean("") == ""


def test_what_was_said_to_begin_is_said_to_end() -> None:
    log = _log([*step(0, 0.01, "launch/a/start"), *step(1, 0.01, "launch/b/start", status="unchanged")])
    assert log == [
        "09:00:00 .. Do start",
        "09:00:00 ok Do start (0.01s)",
        "09:00:01 .. Do start",
        "09:00:01 == Do start (0.01s)",
    ]
