"""Knows every way dsctl can fail on purpose, and the exit status of each.

    DsctlError                       code               exit
    ├── UsageFault                   usage                 2   wrong arguments, unknown run, confirmation impossible
    │   └── ProfileInvalid           profile-invalid       2   carries one Problem per mistake, with file:line
    ├── CredentialsFault             credentials           3
    ├── NoOffer                      no-offer              4   nothing fits: hardware, ports, disk, memory
    ├── LeaseFault                   lease                 5   the lease failed or was lost
    ├── StepFailed                   step-failed           6   a command on the box failed
    ├── NotReady                     not-ready             7   a probe did not answer in time
    ├── ExpectationFailed            expectation           8   an expectation, SLO or replay did not hold
    ├── BudgetExceeded               budget                9   budget or time-to-live refused or used up
    ├── TeardownUnconfirmed          teardown             10   something may still run or bill; wins over all others
    └── Interrupted                  interrupted     129/130/143   SIGHUP, SIGINT, SIGTERM, after the handler ran

Only this family is rendered for people. Everything else is a bug: traceback to a file, a short notice, exit 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


class DsctlError(Exception):
    """A failure with a message a person can act on.

    ``hint`` is a command to run or a sentence saying what to change; ``context`` holds further lines
    (log tails, what was seen); ``still_running`` names what goes on living, and maybe billing, after the failure.
    """

    code: ClassVar[str] = "error"
    exit: int = 1

    def __init__(
        self,
        message: str,
        *,
        hint: str = "",
        context: tuple[str, ...] = (),
        still_running: tuple[str, ...] = (),
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.context = context
        self.still_running = still_running


class UsageFault(DsctlError):
    code = "usage"
    exit = 2


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake in a profile: ``where`` is ``file:line`` or the override that set it; ``path`` is ``kv.l1_size``."""

    where: str
    path: str
    message: str
    suggestion: str = ""

    def __str__(self) -> str:
        tail = f" ({self.suggestion})" if self.suggestion else ""
        return f"{self.where}: {self.path}: {self.message}{tail}"


class ProfileInvalid(UsageFault):
    code = "profile-invalid"

    def __init__(self, problems: tuple[Problem, ...], *, hint: str = "") -> None:
        count = len(problems)
        noun = "mistake" if count == 1 else "mistakes"
        super().__init__(f"{count} {noun} in the profile", hint=hint, context=tuple(str(p) for p in problems))
        self.problems = problems


class CredentialsFault(DsctlError):
    code = "credentials"
    exit = 3


class NoOffer(DsctlError):
    code = "no-offer"
    exit = 4


class LeaseFault(DsctlError):
    code = "lease"
    exit = 5


class StepFailed(DsctlError):
    code = "step-failed"
    exit = 6


class NotReady(DsctlError):
    code = "not-ready"
    exit = 7


class ExpectationFailed(DsctlError):
    code = "expectation"
    exit = 8


class BudgetExceeded(DsctlError):
    code = "budget"
    exit = 9


class TeardownUnconfirmed(DsctlError):
    code = "teardown"
    exit = 10


class Interrupted(DsctlError):
    """A signal asked the program to stop. ``signum`` is 1, 2 or 15; the exit status is 128 + signum."""

    code = "interrupted"

    def __init__(self, signum: int) -> None:
        super().__init__(f"stopped by signal {signum}")
        self.signum = signum
        self.exit = 128 + signum
