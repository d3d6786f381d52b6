"""Copies a live cluster into a data file: its current objects and, on request, their later changes.

Input: a kubeconfig. Output: a file that `inkube serve` can start from or replay. `commands` calls
it. Requests go through kubectl, which supports every way of authentication.

    cluster   a cluster's lists and watches, through `kubectl proxy`
    chosen    which kinds are captured, and which are left out unless they are named
    recorder  states and changes into the file, under the keys that the registry reads
    versions  the resource versions of the objects in the cluster
    capture   the whole: lists, then watches until it is stopped
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
