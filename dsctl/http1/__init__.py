"""HTTP/1.1 at asyncio.Protocol level: a server and a keep-alive client, on httptools. Knows bytes, not meanings."""
