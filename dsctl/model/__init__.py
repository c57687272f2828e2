"""The values the rooms hand each other. Frozen; no I/O."""
