"""A live cluster as a data file: what it holds now and, if asked, what happens to it.

In comes a kubeconfig, out comes a file that `inkube serve` starts from and plays again; `commands`
calls it. kubectl does the talking, as it knows every way of logging in.

    cluster   a cluster's lists and watches, through `kubectl proxy`
    chosen    which kinds are captured, and which are left out unless they are named
    recorder  states and changes into the file, under the keys that the registry reads
    capture   all of it: lists, then watches until it is told to stop
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
