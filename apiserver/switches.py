"""The law of the tenth: what the server does only to be faster, and the option that disables it.

Such code saves a tenth or more of something that a user waits for, stands in one room, and has a
switch that changes no response. This table lists all of it; `tests/apiserver/test_switches.py`
compares it with the options. docs/performance.md lists what was removed. Code that saves less goes
there too.
"""

from typing import NamedTuple


class Switch(NamedTuple):
    """One switch of a server."""

    option: str
    off: object
    """The value of the option that disables the code."""
    room: str
    """The folder or module of the code, relative to `apiserver`."""
    saves: str
    """What it saves, in processor time if nothing else is said."""
    measured: str
    """The date of the measurement, as ISO 8601."""


SWITCHES = (
    Switch(
        "http",
        "plain",
        "http/fast",
        "21 % of a GET and of a page of 16 objects, 15 % of a rejected create, by 16 clients",
        "2026-11-23",
    ),
    Switch(
        "engine",
        "plain",
        "registry/engine",
        "93 % of the longest wait of others during an apply of 1 MB, and what the next two save",
        "2026-11-26",
    ),
    Switch(
        "pipelined_writes",
        False,
        "registry/engine/queues.py",
        "88 % of patches of one object, by 16 clients on a file",
        "2026-11-26",
    ),
    Switch(
        "patch_cache",
        False,
        "registry/engine/repeats.py",
        "75 to 85 % of a patch that changes nothing and is repeated",
        "2026-11-23",
    ),
)
