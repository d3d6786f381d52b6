"""The actions of `/inkube/v1/…` on a server; see `control.Actions`.

Input: a `ControlledServer`. Output: snapshots, restored states, forks, and a moved clock.
`root.serving` creates `ServerActions` with the first request for one of these paths.
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
