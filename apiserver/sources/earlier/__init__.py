"""What a start reads of earlier servers: past revisions, recordings, snapshots, and stored objects
that this server does not serve.

`foundation` calls it. A module is loaded only if the options need it.
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
