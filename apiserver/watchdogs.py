"""Ends programs that this process started once it has ended itself, also after SIGKILL.

A watchdog is a shell that reads from a pipe. The kernel closes the pipe when this process ends,
however that happens, as it closes the channel of a worker (`workers.member`). PR_SET_PDEATHSIG
exists only on Linux, and would not end the children of a program.

Processes in other rooms (`explore`, `capture`, `commands`) call it for each program that may run
for long.
"""

import subprocess
from pathlib import Path

_SHELL = Path("/bin/sh")
_SCRIPT = 'read -r _ || kill -s KILL -- "$0"'


class Watchdog:
    """Kills a program if this process ends before `close`. Where there is no `/bin/sh`, as on
    Windows, it does nothing.

    `target` is the id of a process, or the negative id of a process group. Raises OSError.
    """

    def __init__(self, target: int) -> None:
        self._shell = None
        if _SHELL.exists():
            self._shell = subprocess.Popen(  # noqa: S603 # a constant and a number
                [_SHELL, "-c", _SCRIPT, str(target)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # signals of the terminal do not end it
            )

    def close(self) -> None:
        """End the watchdog, because the program has ended. Can be called again."""
        if self._shell is not None:
            self._shell.kill()
            with self._shell:  # closes the pipe and waits
                pass
