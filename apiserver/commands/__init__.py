"""What the command line does without a server: `inkube validate`, `inkube definitions export`."""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
