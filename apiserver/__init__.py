"""The HTTP server: requests, registry, admission; `server` is the only composition root."""
