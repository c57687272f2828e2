"""The front door for prefill/decode vLLM: OpenAI-compatible, runs on the box."""
