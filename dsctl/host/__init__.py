"""The only room that runs commands, here or over SSH."""
