"""Every measure, one table: `python -m benchmarks [NAME…]`.

Each module runs in a process of its own, one after the other, and is given up after `LIMIT`
seconds. Figures of speed are ratios to something known that runs at the same time on the same
machine, where there is such a thing; a busy machine shows in the absolute ones. Ends with 1 when
a target is missed or a module fails.
"""

import json
import subprocess
import sys
import time
from importlib.util import find_spec

from benchmarks.figures import Figure, table

MODULES = (
    "start",
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
    "workloads",
    "packages",
    "fixture",
    "faults",
)
LIMIT = 180
# What takes longer is run when it is asked for by name: python -m benchmarks scale
LONGER = {"scale": 1_200}


def run(name: str) -> tuple[list[Figure], str]:
    """The figures of one module, and why there may be some missing."""
    command = [sys.executable, "-m", f"benchmarks.{name}", "--json"]
    limit = LONGER.get(name, LIMIT)
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        return [], f"{name}: took more than {limit} s"
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    trouble = f"{name}: {done.stderr.strip()[-2000:]}" if done.returncode else ""
    return [Figure(**json.loads(line)) for line in lines], trouble


def main() -> int:
    """Run what was asked for, else everything."""
    figures, troubles = [], []
    started = time.perf_counter()
    for name in sys.argv[1:] or [name for name in MODULES if find_spec(f"benchmarks.{name}")]:
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
