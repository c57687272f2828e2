"""Run by the engine environment's Python: parse command lines (JSON on stdin) with vLLM's and LMCache's own parsers."""

import argparse
import json
import re
import sys

from lmcache.cli.commands.server import ServerCommand
from vllm.entrypoints.launchers.cli_args import make_arg_parser, validate_parsed_serve_args
from vllm.utils.argparse_utils import FlexibleArgumentParser

PORT = re.compile(r"\{[a-z0-9]+\.(http_)?port\}")


def main() -> None:
    engines = make_arg_parser(FlexibleArgumentParser())
    stores = argparse.ArgumentParser()
    ServerCommand().register(stores.add_subparsers())
    commands = json.load(sys.stdin)
    for kind, *argv in commands:
        words = [PORT.sub("8100", word) for word in argv]
        if kind == "engine":
            validate_parsed_serve_args(engines.parse_args(words[3:]))
        else:
            stores.parse_args(words[1:])
    print(json.dumps({"parsed": len(commands)}))


main()
