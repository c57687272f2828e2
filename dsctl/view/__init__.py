"""Ink: the only importer of rich."""
