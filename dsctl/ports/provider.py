"""Knows what a provider must offer: offers, a lease, a host to reach it, and proof that it is gone."""

from __future__ import annotations

from typing import Protocol

from dsctl.model.lease import Gone, Lease, Offer
from dsctl.model.profile import Profile
from dsctl.ports.host import Host


class Provider(Protocol):
    @property
    def kind(self) -> str: ...

    def offers(self, profile: Profile) -> tuple[Offer, ...]:
        """Boxes that fit, best first; empty when none does."""
        ...

    def create(self, offer: Offer, run_id: str) -> Lease:
        """Take the box. The caller has written the intent before. Raises LeaseFault."""
        ...

    def host(self, lease: Lease) -> Host: ...

    def destroy(self, lease: Lease, ports: tuple[int, ...]) -> Gone:
        """Give the box back and prove it; safe to call again."""
        ...
