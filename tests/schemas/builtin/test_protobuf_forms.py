"""JSON and protobuf of every built-in kind have the same meaning."""

import contextlib
import random
import re
import zlib

import pytest
import typed
from hypothesis import given
from hypothesis import strategies as st

from inkube.schemas.builtin import decoding as typing
from inkube.schemas.builtin.protobuf import encoding, envelopes, messages, wire
from inkube.schemas.gotypes import table, types
from inkube.schemas.meta import GVK

KINDS = typed.kinds()
CONFIG_MAP = GVK("", "v1", "ConfigMap")
REFUSAL = (
    "only the following media types are accepted: "
    "application/json, application/yaml, application/vnd.kubernetes.protobuf"
)
STATUS = (
    b"k8s\0\n\x0c\n\x02v1\x12\x06Status\x12\x99\x01\n\x06\n\x00\x12\x00\x1a\x00\x12\x07Failure\x1at"
    + REFUSAL.encode()
    + b'"\rNotAcceptable0\x96\x03\x1a\x00"\x00'
)
"""Recorded from kube-apiserver."""
GARBAGE = {
    "a tag without a field": (b"\x0a", "unexpected EOF"),
    "more bytes than there are": (b"\x0a\x05ab", "unexpected EOF"),
    "the longest length": (
        b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
        "proto: negative length found during unmarshaling",
    ),
    "a length of 2^62": (b"\x0a\x80\x80\x80\x80\x80\x80\x80\x80\x40", "unexpected EOF"),
    "a number without end": (b"\x20" + b"\xff" * 11, "proto: integer overflow"),
    "the end of a group": (b"\x0c", "proto: ConfigMap: wiretype end group for non-group"),
    "field 0": (b"\x02\x00", "proto: ConfigMap: illegal tag 0 (wire type 2)"),
    "a number for an object": (b"\x08\x01", "proto: wrong wireType = 0 for field ObjectMeta"),
    "bytes for a flag": (b"\x22\x00", "proto: wrong wireType = 2 for field Immutable"),
    "an unknown field of an unknown type": (b"\xa6\x06", "proto: illegal wireType 6"),
    "a group nobody ends": (b"\xa3\x06", "unexpected EOF"),
}


def fields(data):
    """Yield the fields of a message, decoded independently."""
    place = 0
    while place < len(data):
        start = place
        place = wire.skip(data, start)
        yield data[start:place]


@pytest.mark.parametrize("gvk", KINDS, ids=lambda gvk: f"{gvk.api_version}/{gvk.kind}")
def test_objects_are_equal_after_encoding_as_protobuf(gvk):
    rng = random.Random(zlib.crc32(repr(gvk).encode()))
    for _ in range(8):
        obj = typed.make(rng, gvk)
        version, kind, raw = envelopes.decode_envelope(envelopes.encode_envelope(obj))
        assert (version, kind) == (gvk.api_version, gvk.kind)
        assert typing.decode(envelopes.decode(raw, gvk), gvk).object == obj


@pytest.mark.parametrize("gvk", KINDS, ids=lambda gvk: f"{gvk.api_version}/{gvk.kind}")
def test_fields_of_newer_clients_are_passed_over(gvk):
    obj = typed.make(random.Random(7), gvk)
    name = messages.of(gvk)
    known = encoding.encode(name, obj)
    newer = b"\xfa\x7f\x02ab" + known + b"\xf3\x7f\x08\x01\xf4\x7f" + b"\xf8\x7f\x05"
    assert envelopes.decode(newer, gvk) == envelopes.decode(known, gvk)


@pytest.mark.parametrize("gvk", KINDS, ids=lambda gvk: f"{gvk.api_version}/{gvk.kind}")
def test_half_an_object_is_refused_or_is_another_object(gvk):
    rng = random.Random(3)
    data = encoding.encode(messages.of(gvk), typed.make(rng, gvk))
    for _ in range(20):
        cut = bytearray(data[: rng.randrange(len(data) + 1)])
        if cut and rng.random() < 0.5:
            cut[rng.randrange(len(cut))] = rng.randrange(256)
        found = None
        with contextlib.suppress(wire.WireError):
            found = envelopes.decode(bytes(cut), gvk)
        assert found is None or found["kind"] == gvk.kind


def test_a_status_has_the_bytes_of_kube_apiserver():
    body = {
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": REFUSAL, "reason": "NotAcceptable", "code": 406,
    }  # fmt: skip
    assert envelopes.encode_envelope(body) == STATUS


@pytest.mark.parametrize(("data", "text"), GARBAGE.values(), ids=GARBAGE)
def test_garbage_is_refused_in_the_words_of_go(data, text):
    with pytest.raises(wire.WireError, match=f"^{re.escape(text)}$"):
        envelopes.decode(data, CONFIG_MAP)


def test_schemas_within_schemas_end_somewhere():
    name = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"
    data = b""
    for _ in range(300):
        data = encoding.sized(28, data)
    gvk = GVK("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
    version = encoding.sized(4, encoding.sized(1, data))
    with pytest.raises(wire.WireError, match="too deeply"):
        envelopes.decode(encoding.sized(2, encoding.sized(7, version)), gvk)
    assert name in messages.every()


def test_messages_that_are_pointers_in_go_are_not_written_while_they_are_nil():
    seen = 0
    for name in table.table().types:
        fields_of = types.of(name).fields
        for row in messages.rows(name) if name in messages.every() else ():
            field = fields_of.get(row.member)
            if field is None or field.type.kind != "struct" or row.mode == messages.REPEATED:
                continue
            seen += 1
            assert (row.mode == messages.ZERO) == field.value, (name, row.member)
    assert seen > 500


def test_zeros_that_go_writes_are_written():
    found = list(fields(encoding.encode(messages.of(CONFIG_MAP), {"metadata": {"name": "a"}})))
    assert len(found) == 1
    size, start = wire.varint(found[0], 1)
    inner = list(fields(found[0][start : start + size]))
    assert inner == [
        b"\n\x01a", b"\x12\x00", b"\x1a\x00", b'"\x00', b"*\x00", b"2\x00", b"8\x00", b"B\x00",
    ]  # fmt: skip


@given(st.binary(max_size=64))
def test_any_bytes_are_a_message_or_refused(data):
    try:
        found = envelopes.decode(data, CONFIG_MAP)
    except wire.WireError:
        return
    assert found["kind"] == "ConfigMap"


@given(st.integers(-(2**63), 2**63 - 1))
def test_numbers_keep_their_sign(value):
    assert wire.signed(wire.varint(wire.number(value), 0)[0]) == value
