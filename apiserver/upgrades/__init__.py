"""Rehearses an upgrade: what a cluster would meet as a later minor of Kubernetes.

Input: the data of a cluster, two minors. Output: statements. Two forks of the data serve the two
minors, and each stored object is written to both as a dry run: once as the next update of the
object, and once as a new object. What only the later minor refuses, warns about or fills in is a
statement. `commands` calls it.

    rehearsal   the order of everything
    minors      the two minors, and which one the data is of
    replays     the two forks, and writes to both
    references  versions that objects name, and that the later minor does not serve
    auditlogs   the requests in audit logs
    statements  what was found, as text and as JSON
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
