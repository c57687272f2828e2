"""Profile to steps, one file a phase. No I/O."""
