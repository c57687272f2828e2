"""Doors: typer signatures. Parse, call one flow function, hand the result to a view."""
