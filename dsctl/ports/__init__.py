"""The seams: what a provider, host, engine or mover must offer. Protocols only."""
