"""`inkube` and `python -m inkube`: the command line, or a message that names the libraries that are
too old for it, for example because of a constraint file of somebody's project."""

import contextlib
import signal
import sys
from collections.abc import Iterator

from inkube.schemas import lazy


def main() -> None:
    """Run the command line. Exits with 1 if it cannot be loaded with the installed libraries."""
    try:
        with _ended_by_interrupts():
            command = lazy.named("inkube.apiserver.cli", "main")
    except (ImportError, AttributeError, TypeError):
        explanation = lazy.named("inkube.schemas.outdated", "explanation")()
        if not explanation:
            raise
        sys.exit(f"Error: {explanation}")
    command(prog_name="inkube")


@contextlib.contextmanager
def _ended_by_interrupts() -> Iterator[None]:
    """In the block, Ctrl+C ends the process at once. Otherwise it would be an exception inside an
    import: a traceback, and a crash of a library in C whose own imports must not fail."""
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


if __name__ == "__main__":
    main()
