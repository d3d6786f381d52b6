"""Built-in objects as protobuf: what generated Go clients write, and prefer to read.

In comes an object, or the bytes of a body, and its kind; out comes the other. `messages` has the
field numbers, `encoding` and `decoding` make one function of each message when it is first met.
An object on the wire is `runtime.Unknown` behind four bytes, which `envelopes` opens and closes.
Follows apimachinery/pkg/runtime/serializer/protobuf. Custom resources have no messages.
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
