"""The hallway: the only place where stages, hosts, providers and journals meet."""
