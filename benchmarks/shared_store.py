"""What the shared store is worth: TTFT through 1P2D with LMCache against the same three engines behind round-robin.

    python benchmarks/shared_store.py [--rounds 3] [--rate 1] [--duration 20] [--json FILE]

Both stacks are started by dsctl from profiles that differ in topology and mover only: ``local-1p2d``, and three plain
replicas with their own prefix caches behind a round-robin front door. Each round measures both, one after the other
(three engines at a time fit the machine), with the same seed, 80 % shared prefix and a fresh salt. Figures are TTFT P50
in milliseconds from send; the ratio is the median over rounds of with / without.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

STACKS: dict[str, tuple[str, ...]] = {
    "shared store, 1P2D": (),
    "no shared store, 3 replicas, round-robin": (
        "--set", "topology={replicas: 3}", "--set", "kv.mover=none", "--set", "gateway.policy=round-robin",
    ),
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rate", type=float, default=1.0)
    parser.add_argument("--duration", type=int, default=20)
    parser.add_argument("--prompt-tokens", type=int, default=4096)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    rounds: list[dict[str, dict[str, Any]]] = []
    for number in range(arguments.rounds):
        figures = {name: measure(overrides, number, arguments) for name, overrides in STACKS.items()}
        rounds.append(figures)
        print(
            f"round {number + 1}: " + "; ".join(f"{n}: {f['ttft_p50_ms']:.0f} ms" for n, f in figures.items()),
            flush=True,
        )
    report(rounds, arguments)


def measure(overrides: tuple[str, ...], seed: int, arguments: argparse.Namespace) -> dict[str, Any]:
    try:
        dsctl("up", "local-1p2d", "--name", "shared-store", "--yes", *overrides)
        result = dsctl(
            "bench", "shared-store", "--rate", f"{arguments.rate:g}", "--duration", f"{arguments.duration}s",
            "--prompt-tokens", str(arguments.prompt_tokens), "--shared-ratio", "0.8", "--seed", str(seed),
        )  # fmt: skip
    finally:
        dsctl("teardown", "shared-store", "--yes")
    (step,) = result["steps"]
    return {
        "ttft_p50_ms": step["ttft_ms"]["p50"],
        "ttft_p95_ms": step["ttft_ms"]["p95"],
        "reuse": step["reuse"]["measured"],
        "requests": step["requests"],
        "errors": step["errors"],
        "valid": step["valid"],
    }


def dsctl(*words: str) -> dict[str, Any]:
    """The last JSON line of a dsctl command; exits when it fails."""
    command = [sys.executable, "-m", "dsctl", *words, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(words)} failed ({done.returncode}):\n{done.stderr[-3000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def report(rounds: list[dict[str, dict[str, Any]]], arguments: argparse.Namespace) -> None:
    with_store, without = STACKS
    ratios = [r[with_store]["ttft_p50_ms"] / r[without]["ttft_p50_ms"] for r in rounds]
    result = {
        "schema": "dsctl.benchmark.shared-store/1",
        "status": "measured",
        "rate": arguments.rate,
        "prompt_tokens": arguments.prompt_tokens,
        "shared_ratio": 0.8,
        "rounds": rounds,
        "ttft_p50_ratio": {"median": statistics.median(ratios), "min": min(ratios), "max": max(ratios)},
    }
    print(json.dumps(result, indent=2))
    if arguments.json:
        arguments.json.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
