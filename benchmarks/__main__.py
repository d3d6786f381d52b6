"""All measurements in one table: `python -m benchmarks [NAME…]`.

Each module runs in its own process, one after the other, and is stopped after `LIMIT` seconds.
Where possible, speed is a ratio to a known program that runs at the same time on the same machine,
because absolute figures depend on the load of the machine. Exits with code 1 if a target is missed
or a module fails.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Sequence

from benchmarks.figures import Figure, table

MODULES = (
    "start",
    "firsts",
    "requests",
    "reads",
    "protobuf",
    "writes",
    "costs",
    "replicas",
    "workers",
    "definitions",
    "schemas",
    "cel",
    "checks",
    "rechecks",
    "outages",
    "workloads",
    "packages",
    "validating",
    "fixture",
    "plugin",
    "faults",
)
LIMIT = 180
# Slow measurements, run only if they are named: python -m benchmarks scale
LONGER = {"scale": 1_200}
ABOUT = f"""Measure and print one table; ends with 1 when a target is missed or a module fails.

Each is given up after {LIMIT} s: {", ".join(MODULES)}.
Only by name: {", ".join(f"{name} (after {limit} s)" for name, limit in LONGER.items())}.
"""


def run(name: str) -> tuple[list[Figure], str]:
    """Return the figures of one module, and the reason for missing ones."""
    command = [sys.executable, "-m", f"benchmarks.{name}", "--json"]
    limit = LONGER.get(name, LIMIT)
    try:
        done = subprocess.run(command, capture_output=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired as error:
        return _figures(error.stdout or b""), f"{name}: took more than {limit} s"
    trouble = f"{name}: {done.stderr.decode().strip()[-2000:]}" if done.returncode else ""
    return _figures(done.stdout), trouble


def _figures(told: bytes) -> list[Figure]:
    return [Figure(**json.loads(line)) for line in told.splitlines() if line.endswith(b"}")]


def _known(name: str) -> str:
    if name not in (*MODULES, *LONGER):
        known = ", ".join((*MODULES, *LONGER))
        raise argparse.ArgumentTypeError(f"there is no benchmark {name!r}; use one of {known}")
    return name


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the named measurements, or all."""
    parser = argparse.ArgumentParser(
        "python -m benchmarks", description=ABOUT, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", type=_known, help="what to measure")
    names = parser.parse_args(arguments).names
    figures, troubles = [], []
    started = time.perf_counter()
    for name in names or MODULES:
        print(f"measuring {name} …", file=sys.stderr, flush=True)
        found, trouble = run(name)
        figures += found
        troubles += [trouble] if trouble else []
    print(table(figures))
    print(f"\n{time.perf_counter() - started:.0f} s in all")
    print(*troubles, sep="\n")
    return int(bool(troubles) or any(figure.met == "NO" for figure in figures))


if __name__ == "__main__":
    sys.exit(main())
