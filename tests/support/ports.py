"""Ports for programs that a test starts."""

import os
import random
import socket

FIRST, OF_A_WORKER, WORKERS = 20_000, 500, 24


def free_port() -> int:
    """Return a port that is free now and that nobody else chooses before the program has opened it.

    It is below the range of ports that systems choose themselves (port 0), and each process of a
    run with several ones has ports of its own.
    """
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % WORKERS
    first = FIRST + worker * OF_A_WORKER
    for port in random.sample(range(first, first + OF_A_WORKER), OF_A_WORKER):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise OSError(f"no port from {first} to {first + OF_A_WORKER - 1} is free")
