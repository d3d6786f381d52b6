"""Options that cannot be combined with several processes."""

import os

from inkube.apiserver.configuration import Options


def check(options: Options) -> None:
    """Refuse options that several workers do not support. Raises ValueError."""
    if not hasattr(os, "fork"):
        raise ValueError("--workers takes a system that can fork; Windows cannot")
    if options.data is None and not options.database:
        raise ValueError(
            "workers share what is stored: --workers takes --data or --database, and neither "
            "--in-memory, --snapshot nor --replay"
        )
    if options.watch_definitions:
        raise ValueError("--watch works in one process: use it without --workers")
    if options.seed is not None:
        raise ValueError(
            "--seed works in one process: with --workers, the order of requests is not repeatable"
        )
