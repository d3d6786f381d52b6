"""Memory that was freed and that the C library keeps for later, given back to the system.

glibc does so by itself only at the end of its heap: a start that sorts a million objects leaves up
to 50 MiB of holes. Loaded by `collector` where a server has become large.
"""

import ctypes

_trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # of glibc alone


def give_back() -> None:
    """Give back what can be: some milliseconds of a large heap."""
    if _trim is not None:
        _trim(0)
