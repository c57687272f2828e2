"""What may still be running or billing, right now: one SQLite file."""
