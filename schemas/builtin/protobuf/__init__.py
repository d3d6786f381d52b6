"""Built-in objects as protobuf, which generated Go clients send and prefer to receive.

The functions convert an object of a kind to the bytes of a body, and back. `messages` contains the
field numbers. `encoding` and `decoding` create one function for each message at its first use. On
the wire, an object is a `runtime.Unknown` after four bytes, which `envelopes` adds and removes.
Follows apimachinery/pkg/runtime/serializer/protobuf. Custom resources have no messages.
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
