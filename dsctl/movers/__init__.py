"""How KV moves between engines: processes, engine arguments, gateway mode. No I/O."""
