"""Several processes of one server behind one port: `inkube serve --workers N`.

What comes in: the options of a server and how many. What leaves: connections, each with one of the
workers; their logs as those of one; `Worker`, which tells a server that it is one of several. The
command line calls `Parent`, `root` calls `Intake` and `Siblings`: what each worker knows a part
of, somebody has to put together.

The parent takes connections and hands them over by turns, as open files: the kernel's own ways
were measured to give one of two workers 9 of 16 connections on average (SO_REUSEPORT), or 15
(a shared listening socket), and neither passes by a worker that hangs.
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
