"""The election of the server that runs controllers on a log that several servers share.

Input: the store, the clock and `Options.lease_duration`. Output: whether this server leads, and a
fence that the writes of its controllers pass. `root.parts` creates one `Leadership` for a server.
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
