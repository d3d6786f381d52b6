"""Several processes of one server behind one port: `inkube serve --workers N`.

Input: the options of a server and the number of workers. Output: connections, each with one of the
workers; one log for all workers; a `Worker` for each server. The command line calls `Parent`.
`root` calls `Intake`, and `Siblings` to combine the metrics of all workers.

The parent accepts connections and passes them to the workers in turn, as open files. The kernel's
own distribution was measured with two workers and 16 connections: on average, one of them got 9
(SO_REUSEPORT) or 15 (a shared listening socket). It also does not skip a worker that hangs.
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
