"""Proves that a started stack really serves, and really shares.

    verify.py chat --gateway URL --model NAME
    verify.py sharing --gateway URL --model NAME --decode URL [--decode URL ...] --chunk N --max-len N

``sharing`` sends fresh prompts (token ids no one has sent before) through the front door and reads from the
decoders' own counters how many of their prompt tokens were retrieved and how many they computed themselves.
Prints one JSON line; whether the figures are good enough is the plan's expectation, not this script's.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from typing import Any

TIMEOUT_S = 60.0
SOURCE = re.compile(r'^vllm:prompt_tokens_by_source_total\{[^}]*source="(\w+)"[^}]*\}\s+(\S+)', re.MULTILINE)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("chat", "sharing"))
    parser.add_argument("--gateway", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--decode", action="append", default=[])
    parser.add_argument("--chunk", type=int, default=256)
    parser.add_argument("--max-len", type=int, default=8192)
    arguments = parser.parse_args()
    try:
        result = chat(arguments) if arguments.what == "chat" else sharing(arguments)
    except urllib.error.HTTPError as error:
        print(json.dumps({"error": f"HTTP {error.code}: {error.read(2000).decode(errors='replace')}"}))
        return 1
    except (urllib.error.URLError, OSError) as error:
        print(json.dumps({"error": str(error)}))
        return 1
    print(json.dumps(result))
    return 0


def chat(arguments: argparse.Namespace) -> dict[str, Any]:
    body = {
        "model": arguments.model, "max_tokens": 8, "temperature": 0,
        "messages": [{"role": "user", "content": "Say something."}],
    }  # fmt: skip
    reply = post(arguments.gateway + "/v1/chat/completions", body)
    choice = reply["choices"][0]
    return {
        "model": reply["model"],
        "content": choice["message"]["content"],
        "completion_tokens": reply["usage"]["completion_tokens"],
        "fingerprint": reply.get("system_fingerprint") or "",
    }


def sharing(arguments: argparse.Namespace) -> dict[str, Any]:
    """Two fresh prompts a decoder, at once, so that the front door spreads them over all decoders."""
    chunks = max(1, min(12, (arguments.max_len - 64) // arguments.chunk))
    length = chunks * arguments.chunk + 1
    rng = random.SystemRandom()
    prompts = [[rng.randint(16, 500) for _ in range(length)] for _ in range(2 * len(arguments.decode))]
    before = [sources(url) for url in arguments.decode]

    def ask(prompt: list[int]) -> None:
        body = {"model": arguments.model, "prompt": prompt, "max_tokens": 2, "temperature": 0}
        post(arguments.gateway + "/v1/completions", body)

    with ThreadPoolExecutor(len(arguments.decode)) as pool:
        list(pool.map(ask, prompts))
    after = [sources(url) for url in arguments.decode]
    used = [{k: a[k] - b.get(k, 0.0) for k in a} for a, b in zip(after, before)]
    totals = [sum(u.values()) for u in used]
    shares = [u.get("external_kv_transfer", 0.0) / t for u, t in zip(used, totals) if t]
    return {
        "prompt_tokens": length,
        "decoders_used": len(shares),
        "external_ratio": round(min(shares), 4) if shares else 0.0,
        "by_decoder": used,
    }


def sources(url: str) -> dict[str, float]:
    """Prompt tokens so far by where their KV came from, summed over an engine's label sets."""
    with urllib.request.urlopen(url + "/metrics", timeout=TIMEOUT_S) as reply:
        text = reply.read().decode()
    totals: dict[str, float] = {}
    for source, value in SOURCE.findall(text):
        totals[source] = totals.get(source, 0.0) + float(value)
    return totals


def post(url: str, body: dict[str, Any]) -> dict[str, Any]:
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=TIMEOUT_S) as reply:
        return json.load(reply)


if __name__ == "__main__":
    sys.exit(main())
