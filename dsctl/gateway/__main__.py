"""``python -m dsctl.gateway CONFIG.json``"""

import sys
from pathlib import Path

from dsctl.gateway.serve import run

if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m dsctl.gateway CONFIG.json")
    sys.exit(run(Path(sys.argv[1])))
