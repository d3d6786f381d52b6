"""Tests of SPDY/3.1 frames: headers are the same after decoding, and invalid frames end the
session."""

import struct

import pytest

from inkube.apiserver.streaming import spdy


def test_headers_of_spdy_survive_both_ways():
    packed, unpacked = spdy.Headers(), spdy.Headers()
    for number in range(3):
        wanted = {"streamtype": "data", "requestid": str(number), "port": "80"}
        frame = packed.open(2 * number + 1, wanted)
        head = spdy.read_head(frame[:8])
        assert (head.kind, head.length) == (spdy.SYN_STREAM, len(frame) - 8)
        opened = unpacked.syn_stream(head, frame[8:])
        assert (opened.stream, opened.headers) == (2 * number + 1, wanted)


@pytest.mark.parametrize(
    "head", [struct.pack("!II", 1, 0xFFFFFF), struct.pack("!II", 0x80020001, 0)]
)
def test_frames_that_are_too_large_or_of_another_version_end_the_session(head):
    with pytest.raises(spdy.ProtocolError):
        spdy.read_head(head)


def test_a_bomb_of_headers_is_not_unpacked():
    bomb = spdy.Headers().open(1, {"a": "x" * 10_000_000})
    assert len(bomb) < 100_000
    with pytest.raises(spdy.ProtocolError, match="more than"):
        spdy.Headers().syn_stream(spdy.read_head(bomb[:8]), bomb[8:])
