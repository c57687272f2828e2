"""Programs to a supervisord configuration: every process kept, restarted when it dies, logged, and marked as the run's.

Socket and temporary files get a short folder of their own: a Unix socket's path may hold only some 100 characters.
"""

from __future__ import annotations

import shlex

from dsctl.model.program import Program

_HEAD = """\
; Written by dsctl for run {run.id}. `supervisorctl -c THIS status` shows what runs.
[unix_http_server]
file={run.socket}
chmod=0700

[supervisord]
logfile={run.dir}/logs/supervisord.log
pidfile={run.dir}/supervisord.pid
childlogdir={run.dir}/logs
directory={run.dir}
environment=DSCTL_RUN="{run.id}",TMPDIR="{run.tmp}"
nodaemon=false
minfds=1024

[rpcinterface:supervisor]
supervisor.rpcinterface_factory=supervisor.rpcinterface:make_main_rpcinterface

[supervisorctl]
serverurl=unix://{run.socket}
"""


_START = ("{box.python}", "{run.dir}/bin/start.py")


def configuration(programs: tuple[Program, ...]) -> str:
    """The whole file as a template; slots are filled when it is put on the box."""
    return "\n".join((_HEAD, *(_section(program) for program in programs)))


def control(*words: str) -> tuple[str, ...]:
    """A supervisorctl command line."""
    return ("{dsctl.python}", "-m", "supervisor.supervisorctl", "-c", "{run.dir}/supervisord.conf", *words)


def _section(program: Program) -> str:
    env = ",".join(f'{name}="{_escape(value)}"' for name, value in sorted(program.env.items()))
    return "\n".join(
        (
            f"[program:{program.role}]",
            f"command={' '.join(_word(word) for word in (*_START, program.role, *program.argv))}",
            *((f"environment={env}",) if env else ()),
            "directory={run.dir}",
            "autostart=false",
            "autorestart=true",
            "startsecs=1",
            "startretries=3",
            f"stopwaitsecs={program.stop_s:g}",
            "stopasgroup=true",
            "killasgroup=true",
            f"stdout_logfile={{run.dir}}/logs/{program.role}.log",
            "stdout_logfile_maxbytes=64MB",
            "stdout_logfile_backups=1",
            "redirect_stderr=true",
            "",
        )
    )


def _word(word: str) -> str:
    """Quoted for supervisord, which splits like a shell; slots too, for a path may hold spaces."""
    return _escape(shlex.quote(word))


def _escape(text: str) -> str:
    return text.replace("%", "%%")
