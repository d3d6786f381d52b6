"""Many large definitions: 200 CRDs of 240 properties, posted and served."""

import time
from collections.abc import Iterable

from benchmarks import figures, servers
from benchmarks.figures import Figure
from benchmarks.objects import Object, crd, installed

DEFINITIONS = 200
GROUPS, FIELDS = 12, 19  # spec holds GROUPS objects of FIELDS properties: 240 in all


def measure() -> Iterable[Figure]:
    """Seconds until the last kind is listed, and growth of memory."""
    posted = [crd(f"larges{n}", f"Large{n}", _schema(n)) for n in range(DEFINITIONS)]
    with servers.inkube() as server:
        before = server.mib
        started = time.perf_counter()
        installed(server, *posted)
        seconds = time.perf_counter() - started
        what = f"{DEFINITIONS} CRDs of {GROUPS * (FIELDS + 1)} properties"
        yield Figure(f"{what}, served", seconds, "s", at_most=5)
        yield Figure(f"{what}, memory", server.mib - before, "MiB", at_most=150)


def _schema(number: int) -> Object:
    """No two are alike, so that nothing known of one spares work on another."""
    text = f"what this field of {number} is for, in a sentence"
    kinds: list[Object] = [
        {"type": "string", "description": text, "maxLength": 90 + number},
        {"type": "integer", "minimum": number, "default": 300},
        {"type": "array", "items": {"type": "string"}},
    ]
    groups = {
        f"group{n}of{number}": {
            "type": "object",
            "description": "some settings that belong together",
            "properties": {f"field{m}": kinds[m % len(kinds)] for m in range(FIELDS)},
        }
        for n in range(GROUPS)
    }
    return {"type": "object", "properties": {"spec": {"type": "object", "properties": groups}}}


if __name__ == "__main__":
    figures.main(measure)
