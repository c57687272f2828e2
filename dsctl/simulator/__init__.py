"""A simulated vLLM and a simulated shared KV store over HTTP, for second-long rehearsals. Labelled simulated."""
