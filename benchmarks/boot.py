"""How long three engines and the store take to be ready: through dsctl, lean by hand, and default by hand.

    python benchmarks/boot.py [--repeat 3] [--json FILE]

One run measures all three in turn, repeated, so that a slow minute of the machine hits all alike. Figures are seconds
from the first process started to the last engine answering /health; dsctl's include its supervisor and its gates.
The ratios are medians of ratios within a round. The engine environment and model must be installed (dsctl up once).
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

from byhand import DEFAULT_ENV, DEFAULT_FLAGS, LEAN_ENV, LEAN_FLAGS, engine_command, running, store_command, wait_ready

PORTS = (8100, 8101, 8102)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    engine_dir, model_dir = through_dsctl_once()
    rounds: list[dict[str, float]] = []
    for number in range(arguments.repeat):
        figures = {
            "dsctl": through_dsctl(),
            "lean": by_hand(engine_dir, model_dir, LEAN_FLAGS, LEAN_ENV),
            "default": by_hand(engine_dir, model_dir, DEFAULT_FLAGS, DEFAULT_ENV),
        }
        rounds.append(figures)
        print(
            f"round {number + 1}: " + "  ".join(f"{name} {value:.1f} s" for name, value in figures.items()), flush=True
        )
    report(rounds, arguments.json)


def through_dsctl_once() -> tuple[Path, Path]:
    """Install what is missing, so that no round pays for it; returns the engine and model folders."""
    events, _ = _up_and_down()
    slots = next(event["data"]["slots"] for event in events if event["kind"] == "host.reached")
    return Path(slots["engine.dir"]), Path(slots["model.dir"])


def through_dsctl() -> float:
    """From the start of supervisord to the last engine ready, by the run's own events."""
    events, _ = _up_and_down()
    starts = [e["mono"] for e in events if e["kind"] == "step.started" and e["data"]["step"] == "launch/lmcache/start"]
    ready = [
        event["mono"]
        for event in events
        if event["kind"] == "step.ended"
        and event["data"]["step"].endswith("/ready")
        and event["data"]["step"].startswith(("launch/prefill", "launch/decode"))
    ]
    return max(ready) - starts[0]


def _up_and_down() -> tuple[list[dict], str]:
    dsctl = [sys.executable, "-m", "dsctl"]
    up = subprocess.run([*dsctl, "up", "local-1p2d", "--yes", "--json"], capture_output=True, text=True, check=False)
    try:
        if up.returncode:
            sys.exit(f"dsctl up failed ({up.returncode}):\n{up.stderr[-3000:]}")
        events = [json.loads(line) for line in up.stdout.splitlines()]
        return [event for event in events if "kind" in event], up.stderr
    finally:
        subprocess.run([*dsctl, "teardown", "local-1p2d", "--yes"], capture_output=True, check=True)


def by_hand(engine_dir: Path, model_dir: Path, flags: tuple[str, ...], env: dict[str, str]) -> float:
    engines = [engine_command(engine_dir, model_dir, port, flags, shared=True) for port in PORTS]
    urls = ["http://127.0.0.1:6080/healthcheck", *(f"http://127.0.0.1:{port}/health" for port in PORTS)]
    started = time.monotonic()
    with running([store_command(engine_dir), *engines], env) as processes:
        wait_ready(urls, processes)
        return time.monotonic() - started


def report(rounds: list[dict[str, float]], path: Path | None) -> None:
    result = {
        "schema": "dsctl.benchmark.boot/1",
        "status": "measured",
        "rounds": rounds,
        "median_s": {name: statistics.median(r[name] for r in rounds) for name in rounds[0]},
        "spread_s": {name: [min(r[name] for r in rounds), max(r[name] for r in rounds)] for name in rounds[0]},
        "dsctl_to_lean": statistics.median(r["dsctl"] / r["lean"] for r in rounds),
        "dsctl_to_default": statistics.median(r["dsctl"] / r["default"] for r in rounds),
    }
    print(json.dumps(result, indent=2))
    if path:
        path.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
