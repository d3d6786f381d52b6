"""Several processes of one server behind one port: `inkube serve --workers N`.

Input: the options of a server and the number of workers. Output: connections, each with one of the
workers; one log for all workers; a `Worker` for each server. The command line calls `Parent`.
`root` calls `Intake`, and `Siblings` to combine the figures of all workers.

The parent accepts connections and passes them to the workers in turn, as open files: the kernel's
own ways were measured to give one of two workers 9 of 16 connections on average (SO_REUSEPORT), or
15 (a shared listening socket), and neither skips a worker that hangs.
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
