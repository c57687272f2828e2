"""What happened: the journal on disk and everything rendered from it."""
