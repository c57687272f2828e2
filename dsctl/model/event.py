"""Knows what an event is: the only thing a run writes. Terminal view, ``--json`` and runbook are its renderings.

Kinds, in the order a run meets them::

    run.opened          run_id, short, name, profile, provider, dsctl_version, parent
    plan.compiled       digest, steps
    offer.chosen        provider, offer, usd_per_hour
    lease.intent        provider, name                 written before the effect
    lease.created       provider, instance
    host.reached        host
    facts.seen          facts
    phase.started       phase
    step.started        step, phase, role, attempt, argv, template_digest, rendered_digest
    step.output         step, line                     live views only; never journaled
    step.ended          step, status, seconds, exit, observed, log
    phase.ended         phase, status, seconds
    ready.seen          endpoint, model, roles
    bench.started       workload, rates, seed
    bench.progress      rate, sent, done, errors       live views only; never journaled
    bench.step          rate, summary                  one per offered rate
    bench.ended         status, artifacts
    report.written      path
    teardown.started    reason
    lease.gone          instance, evidence
    lease.unconfirmed   instance, remains
    run.failed          code, exit, message, hint, step
    run.closed          status

A missing ``step.ended`` is the evidence of a crash: intents and starts are on disk before the effect.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

SCHEMA = "dsctl.event/1"
LIVE_ONLY = frozenset({"step.output", "bench.progress"})


@dataclass(frozen=True, slots=True)
class Event:
    """``at``: UTC, ISO 8601 with milliseconds and ``Z``. ``mono``: seconds since the writing process opened the run."""

    kind: str
    at: str
    mono: float
    data: Mapping[str, Any] = field(default_factory=dict[str, Any])


Emit = Callable[..., None]
"""``emit(kind, **data)``: stamps the time and hands the event to every sink, in order."""
Sink = Callable[[Event], None]
