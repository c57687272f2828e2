"""Waits until a program on the box answers 200, and gives up at once when the program dies.

    probe.py URL --timeout S [--socket SUPERVISOR_SOCKET --program NAME]

Exit status: 0 ready, 3 the program died while starting, 4 not ready in time. Prints one JSON line.
"""

from __future__ import annotations

import argparse
import http.client
import json
import socket
import sys
import time
import urllib.error
import urllib.request
import xmlrpc.client
from typing import Any

INTERVAL_S = 0.2
DEAD = {"FATAL", "EXITED", "BACKOFF", "UNKNOWN"}


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=5)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(5)
        self.sock.connect(self._path)


class _UnixTransport(xmlrpc.client.Transport):
    def __init__(self, path: str) -> None:
        super().__init__()
        self._path = path

    def make_connection(self, host: Any) -> _UnixConnection:
        connection = _UnixConnection(self._path)
        self._connection = host, connection  # where the transport looks for what to close
        return connection


def process_info(socket_path: str, program: str) -> dict[str, Any]:
    """Supervisor's own words on a program: ``statename``, ``pid``, ``exitstatus``, ``spawnerr``."""
    with xmlrpc.client.ServerProxy("http://localhost/RPC2", transport=_UnixTransport(socket_path)) as proxy:
        info: Any = proxy.supervisor.getProcessInfo(program)
    return dict(info)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("url")
    parser.add_argument("--timeout", type=float, required=True)
    parser.add_argument("--socket", default="")
    parser.add_argument("--program", default="")
    arguments = parser.parse_args()
    return wait(arguments.url, arguments.timeout, arguments.socket, arguments.program)


def wait(url: str, timeout_s: float, socket_path: str, program: str) -> int:
    started = time.monotonic()
    first_pid, seen = 0, "nothing yet"
    while time.monotonic() - started < timeout_s:
        ready, seen = _ask(url)
        if ready:
            print(json.dumps({"ready": True, "seconds": round(time.monotonic() - started, 2)}))
            return 0
        if socket_path:
            info = process_info(socket_path, program)
            first_pid = first_pid or int(info["pid"])
            if info["statename"] in DEAD or info["pid"] != first_pid:
                why = info["spawnerr"] or f"exit status {info['exitstatus']}"
                print(json.dumps({"ready": False, "error": f"{program} died while starting ({why})"}))
                return 3
        time.sleep(INTERVAL_S)
    print(json.dumps({"ready": False, "error": f"{url} did not answer 200 within {timeout_s:g} s; last: {seen}"}))
    return 4


def _ask(url: str) -> tuple[bool, str]:
    try:
        with urllib.request.urlopen(url, timeout=5) as reply:
            return reply.status == 200, f"HTTP {reply.status}"
    except urllib.error.HTTPError as error:
        return False, f"HTTP {error.code}: {error.read(300).decode(errors='replace')}"
    except (urllib.error.URLError, OSError, http.client.HTTPException) as error:
        return False, str(error)


if __name__ == "__main__":
    sys.exit(main())
