"""The HTTP server: requests, registry, admission; `root` is the only composition root."""
