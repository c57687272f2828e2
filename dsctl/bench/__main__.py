"""``python -m dsctl.bench SPEC.json --out DIR``: run one sweep and say how it goes, in JSON lines on stdout."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from dsctl.bench.run import run, say
from dsctl.bench.spec import load_spec


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m dsctl.bench", description=__doc__)
    parser.add_argument("spec", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    try:
        spec = load_spec(arguments.spec)
    except (ValueError, TypeError, OSError) as error:
        say("bench.failed", message=f"{arguments.spec}: {error}", hint="dsctl bench writes this file itself")
        return 2
    return run(spec, arguments.out)


if __name__ == "__main__":
    sys.exit(main())
