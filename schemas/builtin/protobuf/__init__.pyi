from inkube.schemas.builtin.protobuf import envelopes as envelopes
from inkube.schemas.builtin.protobuf import wire as wire
