"""What serves tokens: command lines and environments from a profile. No I/O."""
