"""Runs a command next to two busy loops per core: `python crowd.py COMMAND...`.

Tests that wait for events pass on any machine; tests that wait for a time fail on this one. CI runs
the tests that wait in this way (`make crowded`).
"""

import multiprocessing
import os
import subprocess
import sys

EACH = 2
"""Busy loops per core."""


def busy(parent: int) -> None:
    """Use a core as long as the parent lives."""
    while os.getppid() == parent:
        for _ in range(100_000):
            pass


def main(command: list[str]) -> int:
    """Run the command, and return its exit code."""
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
    """Return the number of cores that this process may use, if the system provides it."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
