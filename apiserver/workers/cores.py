"""The number of workers for a machine: `--workers auto`."""

import os
from pathlib import Path

from inkube.apiserver.configuration import Options
from inkube.apiserver.workers import refusals

MAX_WORKERS = 8
"""More workers serve more requests, but each of them keeps all objects in memory."""
_QUOTA = Path("/sys/fs/cgroup/cpu.max")


def count(options: Options) -> int:
    """Return the number of cores that the process may use, at most `MAX_WORKERS`. Returns 1 if the
    options or the system do not permit several workers."""
    try:
        refusals.check(options)
    except ValueError:
        return 1
    return min(usable(), MAX_WORKERS)


def usable(quota: Path = _QUOTA) -> int:
    """Return the number of cores that the process may use, from its affinity and its container's
    quota."""
    affine = getattr(os, "sched_getaffinity", None)  # exists only on Linux
    cores = len(affine(0)) if affine is not None else os.cpu_count() or 1
    return max(1, min(cores, _allowed(quota) or cores))


def _allowed(quota: Path) -> int:
    """Return the whole cores of a quota such as `150000 100000` (cgroup v2: microseconds in each
    period), or 0 without a quota."""
    try:
        given, _, period = quota.read_text(encoding="ascii").partition(" ")
        return max(1, int(given) // int(period))
    except (OSError, ValueError):  # no cgroup v2, or `max`
        return 0
