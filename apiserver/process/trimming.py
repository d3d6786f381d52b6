"""Returns freed memory that the C library keeps to the system.

glibc itself returns only memory at the end of its heap. A start that sorts a million objects leaves
up to 50 MiB of holes, and so do many clients that disconnect. `collector` loads this module when a
server has become large. From then on, large blocks leave no holes.
"""

import ctypes

_LIBRARY = ctypes.CDLL(None)
_trim = getattr(_LIBRARY, "malloc_trim", None)  # of glibc alone
_MMAP_THRESHOLD = -3  # glibc's M_MMAP_THRESHOLD (malloc.h)
LARGE_BLOCK = 512 * 1024


class _Figures(ctypes.Structure):
    """glibc's struct mallinfo2 (malloc.h)."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in (
            *("arena", "ordblks", "smblks", "hblks", "hblkhd"),
            *("usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"),
        )
    ]


_figures = getattr(_LIBRARY, "mallinfo2", None)  # of glibc since 2.33
if _figures is not None:
    _figures.restype = _Figures


def return_large_blocks() -> None:
    """From now on, allocate each large block from the system, and return it when it is freed.

    glibc does this at first, but after a few large blocks it keeps freed ones: 400 bodies of 1 MB,
    with at most 60 in use at a time, took 390 MiB.
    """
    set_option = getattr(_LIBRARY, "mallopt", None)
    if set_option is not None:
        set_option(_MMAP_THRESHOLD, LARGE_BLOCK)


def free() -> int:
    """Return the freed bytes that the C library keeps, including those already returned."""
    return 0 if _figures is None else int(_figures().fordblks)


def trim() -> None:
    """Return free memory to the system. Takes some milliseconds for a large heap."""
    if _trim is not None:
        _trim(0)
