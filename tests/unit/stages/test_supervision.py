from __future__ import annotations

import configparser
import shlex

from dsctl.flow.compile import compile_plan
from dsctl.model.step import render
from dsctl.stages.supervision import configuration
from tests.profiles import shipped


def test_every_word_arrives_as_it_was_meant_whatever_the_paths() -> None:
    """Read as supervisord reads it: an ini file, expressions expanded, commands split like a shell."""
    programs = compile_plan(shipped("local-1p2d")).programs
    slots = {
        "run.dir": "/home/some one/50% done/run", "dsctl.python": "/opt/my venv/bin/python",
        "box.python": "/usr/bin/python3",
        "engine.dir": "/cache/the engine", "model.dir": "/cache/m", "prefill0.port": "8100",
    }  # fmt: skip
    parser = configparser.RawConfigParser(inline_comment_prefixes=(" ;",), delimiters=("=",))
    parser.read_string(render(configuration(programs), {k: v.replace("%", "%%") for k, v in slots.items()}))
    for program in programs:
        command = parser.get(f"program:{program.role}", "command").replace("%%", "%")
        start = ["/usr/bin/python3", "/home/some one/50% done/run/bin/start.py", program.role]
        assert shlex.split(command) == [*start, *(render(word, slots) for word in program.argv)]
        assert parser.get(f"program:{program.role}", "autostart") == "false"
        assert parser.get(f"program:{program.role}", "autorestart") == "true"
