"""Reads dumps of clusters into data files.

Input: a folder, a file, an archive or standard input with what a tool has copied from a cluster.
Output: a file that `inkube serve` shows, and a table of what was not read. `commands` calls it.

    inputs      a source as named streams of bytes, archives inside archives included
    texts       a stream of JSON or YAML as objects, one after the other
    layouts     what the path of a file says: the tool, the plural of a kind, the pod of a log
    readers     a stream by its content: objects, logs, data files of inkube
    etcd        etcd snapshots
    staging     everything that was read, on the disk, each object once
    kinds       the keys of objects, and definitions for kinds that have none in the dump
    loader      from there into the log of a data file
    importing   the whole
    findings    what was not read, and why
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
