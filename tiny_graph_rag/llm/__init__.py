"""Chat with any OpenAI-compatible API: calls, tokens, prices, journal. Knows nothing of graphs."""
