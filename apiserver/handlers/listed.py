"""An object whose last member is a long list, in pieces that are made while they are sent.

As JSON in the stored form, as indented JSON, and as YAML: with the same bytes that `http.responses`
writes for the whole object. Protobuf messages need their size first: see `packed`.
"""

from collections.abc import Iterable, Iterator
from time import thread_time

import orjson

from inkube.apiserver import http
from inkube.apiserver.http import PIECE, Body, responses
from inkube.schemas.objects import Object

# Bytes of a piece of YAML, which takes a thousand times as long as a piece of JSON: 5 ms.
SLOW_PIECE = 4 * 1024
TURN = 0.02
"""Seconds of processor time for one piece."""
CHECKED = 4
"""The time is checked after this number of items, because a check takes a tenth of a cheap item."""


def first_pieces(pieces: Iterator[bytes]) -> Body:
    """Return a body of unknown length: complete if it is short, otherwise generated while it is
    sent."""
    made, size = list[bytes](), 0
    began = thread_time()
    for piece in pieces:
        made.append(piece)
        size += len(piece)
        if size >= responses.GZIP_FROM or thread_time() - began > TURN:
            return _chain(made, pieces)
    return b"".join(made)


def _chain(first: list[bytes], pieces: Iterator[bytes]) -> Iterator[bytes]:
    # a generator, not itertools.chain: it is closed with the response, and then frees everything
    while first:
        yield first.pop(0)
    yield from pieces


def json_list(head: Object, member: str, items: Iterable[bytes]) -> Iterator[bytes]:
    """Yield compact JSON of items that are compact JSON."""
    return chunks(_start(head, member), items, b"]}\n")


def short_json_list(head: Object, member: str, items: Iterable[bytes]) -> bytes:
    """Return compact JSON of a few items that are compact JSON, which is faster than in pieces."""
    return b"%b%b]}\n" % (_start(head, member), b",".join(items))


def _start(head: Object, member: str) -> bytes:
    return b'%b,"%b":[' % (orjson.dumps(head)[:-1], member.encode())


def indented_list(head: Object, member: str, items: Iterable[Object]) -> Iterator[bytes]:
    """Yield indented JSON. There must be at least one item."""
    start = responses.encode({**head, member: []}, pretty=True).removesuffix(b"]\n}")
    texts = (responses.encode(item, pretty=True) for item in items)
    # texts contain no line feeds, because they are escaped
    lines = (b"\n    " + text.replace(b"\n", b"\n    ") for text in texts)
    return chunks(start, lines, b"\n  ]\n}")


def yaml(head: Object, member: str, items: Iterable[Object]) -> Iterator[bytes]:
    """Yield YAML with sorted members. There must be at least one item."""
    write = http.yamls.write
    names = http.yamls.in_order([*head, member])
    at = names.index(member)
    before = {name: head[name] for name in names[:at]}
    after = {name: head[name] for name in names[at + 1 :]}
    start = b"%b%b:\n" % (write(before) if before else b"", member.encode())
    lines = (write([item]) for item in items)
    return chunks(start, lines, write(after) if after else b"", b"", SLOW_PIECE)


def chunks(
    start: bytes, items: Iterable[bytes], end: bytes, separator: bytes = b",", size: int = PIECE
) -> Iterator[bytes]:
    """Yield all bytes in pieces of about that size, or less if their items are expensive."""
    waiting, length = [start], len(start)
    before, began = b"", thread_time()
    for number, item in enumerate(items, 1):
        waiting += (before, item)
        before = separator
        length += len(item)
        if length > size or (not number % CHECKED and thread_time() - began > TURN):
            yield b"".join(waiting)
            waiting, length, began = [], 0, thread_time()
    waiting.append(end)
    yield b"".join(waiting)
