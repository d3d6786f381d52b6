"""Bodies of built-in objects may be protobuf, as Go's generated clients send them."""

import pytest

from inkube.schemas.builtin.protobuf import envelopes, wire

PROTOBUF = "application/vnd.kubernetes.protobuf"
OF_MODULE = pytest.mark.asyncio(loop_scope="module")


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
    return envelopes.PREFIX + field(1, named) + field(2, raw)


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
    path = "/apis/example.com/v1/namespaces/default/boats"
    body = envelope("example.com/v1", "Boat", b"")
    answer = await web.ask("POST", path, body, Content_Type=PROTOBUF)
    assert answer.code == 415


@OF_MODULE
@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b"", "unrecognized (must be of type ConfigMap): empty data (<empty>)"),
        (b"k8s\0", "unrecognized (must be of type ConfigMap): empty body (6b387300)"),
        (b"k8s\0\n\x05a", "unrecognized (must be of type ConfigMap): unexpected EOF ("),
        (
            envelope("v1", "ConfigMap", b"\x08\x01"),
            "cannot be handled as a ConfigMap: proto: wrong wireType = 0 for field ObjectMeta",
        ),
    ],
)
async def test_garbage_is_refused_as_kube_apiserver_does(web, body: bytes, text: str) -> None:
    path = "/api/v1/namespaces/default/configmaps"
    answer = await web.ask("POST", path, body, Content_Type=PROTOBUF)
    assert (answer.code, answer.json["reason"]) == (400, "BadRequest")
    assert text in answer.json["message"]
