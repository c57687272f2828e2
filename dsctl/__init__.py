"""dsctl: from one YAML profile to a running, measured, costed, recorded and torn-down deployment."""

__version__ = "0.1.0"
