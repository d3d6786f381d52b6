"""Run a command beside two busy loops for every core: `python crowd.py COMMAND...`.

What waits for an event holds on any machine; what waits for time does not hold on this one. CI runs
the tests that wait so (`make crowded`).
"""

import multiprocessing
import os
import subprocess
import sys

EACH = 2
"""Busy loops for every core."""


def busy(parent: int) -> None:
    """Want a core for as long as the parent lives."""
    while os.getppid() == parent:
        for _ in range(100_000):
            pass


def main(command: list[str]) -> int:
    """The command's exit code."""
    loops = [
        multiprocessing.Process(target=busy, args=(os.getpid(),), daemon=True)
        for _ in range(EACH * _cores())
    ]
    for loop in loops:
        loop.start()
    try:
        return subprocess.run(command, check=False).returncode
    finally:
        for loop in loops:
            loop.kill()


def _cores() -> int:
    """Those this process may run on, where the system tells."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
