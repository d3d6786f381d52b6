"""Options that cannot be combined with several processes."""

import os

from inkube.apiserver.configuration import Options


def check(options: Options) -> None:
    """Refuse options that several workers do not support. Raises ValueError."""
    if not hasattr(os, "fork"):
        raise ValueError("--workers needs a system that can fork processes; Windows cannot")
    if options.data is None and not options.database:
        raise ValueError(
            "workers share stored data: --workers needs --data or --database, and cannot be "
            "combined with --in-memory, --snapshot or --replay"
        )
    if options.watch_definitions:
        raise ValueError("--watch works in one process: use it without --workers")
    if options.seed is not None:
        raise ValueError(
            "--seed works in one process: with --workers, the order of requests is not repeatable"
        )
