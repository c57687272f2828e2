"""What every room may use: errors, digests, ids, paths, units, redaction. Standard library only."""
