"""Bodies in other encodings than JSON: gzip and YAML, each loaded with the first such body."""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
