"""Built-in objects may come as protobuf, as kubectl's own commands send them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inkube.schemas.builtin import protobuf, wire
from inkube.schemas.meta import GVK

PROTOBUF = "application/vnd.kubernetes.protobuf"
OF_MODULE = pytest.mark.asyncio(loop_scope="module")
CONFIG_MAP = GVK("", "v1", "ConfigMap")


def number(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def field(place: int, value: bytes) -> bytes:
    return number(place << 3 | wire.BYTES) + number(len(value)) + value


def scalar(place: int, value: int) -> bytes:
    return number(place << 3 | wire.VARINT) + number(value)


def envelope(version: str, kind: str, raw: bytes) -> bytes:
    named = field(1, version.encode()) + field(2, kind.encode())
    return protobuf.PREFIX + field(1, named) + field(2, raw)


METADATA = field(1, b"a") + field(8, b"") + field(11, field(1, b"k") + field(2, b"v"))
RAW = field(1, METADATA) + field(2, field(1, b"key") + field(2, b"text")) + scalar(4, 1)


@OF_MODULE
async def test_a_protobuf_body_is_stored_like_any_other(web) -> None:
    path = "/api/v1/namespaces/default/configmaps"
    body = envelope("v1", "ConfigMap", RAW)
    answer = await web.ask("POST", path, body, Content_Type=PROTOBUF)
    assert answer.code == 201, answer.body
    made = answer.json
    assert made["data"] == {"key": "text"}
    assert made["immutable"] is True
    assert made["metadata"]["labels"] == {"k": "v"}
    assert made["metadata"]["creationTimestamp"]


@OF_MODULE
@pytest.mark.parametrize("cut", range(5, 40, 7))
async def test_half_a_message_is_a_bad_request(web, cut: int) -> None:
    body = envelope("v1", "ConfigMap", RAW)[:-cut]
    path = "/api/v1/namespaces/default/configmaps"
    answer = await web.ask("POST", path, body, Content_Type=PROTOBUF)
    assert answer.code in (400, 422)


@OF_MODULE
async def test_custom_kinds_have_no_messages(web) -> None:
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    body = envelope("apiextensions.k8s.io/v1", "CustomResourceDefinition", b"")
    answer = await web.ask("POST", path, body, Content_Type=PROTOBUF)
    assert answer.code == 415


@given(st.binary(max_size=64))
def test_any_bytes_are_a_message_or_refused(data: bytes) -> None:
    try:
        found = protobuf.decode(data, CONFIG_MAP)
    except wire.WireError:
        return
    assert found["kind"] == "ConfigMap"


@given(st.integers(-(2**63), 2**63 - 1))
def test_numbers_keep_their_sign(value: int) -> None:
    sent = number(value & 0xFFFF_FFFF_FFFF_FFFF)
    assert wire.signed(wire.varint(sent, 0)[0]) == value
