"""Long responses are sent as gzip to clients that accept it, with either compression library."""

import gzip
import json
import zlib

import pytest

from inkube import APIServer
from inkube.apiserver.http import responses
from inkube.apiserver.http.encodings import compression
from inkube.apiserver.http.responses import GZIP_FROM

SECRETS = "/api/v1/namespaces/{}/secrets"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


@pytest.fixture(params=["isal", "zlib"])
def packed(request, monkeypatch):
    if request.param == "zlib":
        monkeypatch.setattr(compression, "_compressobj", zlib.compressobj)
    else:
        pytest.importorskip("isal")
    return compression.compress


@pytest.mark.parametrize("pieces", [[], [b""], [b"a"], [b"ab" * 40_000, memoryview(b"c" * 9)] * 9])
def test_compressed_data_is_the_same_after_decompression(packed, pieces):
    assert gzip.decompress(b"".join(packed(iter(pieces)))) == b"".join(pieces)


def test_a_list_is_compressed_while_it_is_encoded(packed):
    asked = []

    def pieces():
        for number in range(200):
            asked.append(number)
            yield json.dumps([number, *map(str, range(number, 5_000))]).encode()

    sent = iter(packed(pieces()))
    assert next(sent)
    assert len(asked) < 200


async def test_only_lists_as_long_as_the_reference_packs_are_packed(web_of):
    async with APIServer() as server, web_of(server) as web:
        where, sizes = SECRETS.format("default"), {}
        for number in range(40):
            secret = {"metadata": {"name": f"s-{number}"}, "stringData": {"a": "x" * 5_000}}
            assert (await web.ask("POST", where, secret)).code == 201
            for accept in ("application/json", TABLE):
                answer = await web.ask(
                    "GET", f"{where}?includeObject=Object", Accept=accept, Accept_Encoding="gzip"
                )
                sizes[len(answer.body), accept] = "Content-Encoding" in answer.headers
    assert {size >= GZIP_FROM for size, _ in sizes} == {True, False}
    assert all(packed == (size >= GZIP_FROM) for (size, _), packed in sizes.items())


@pytest.mark.parametrize(
    ("header", "is_packed"),
    [
        ("gzip", True), (" gzip ", True), ("br,gzip", True), ("gzip;q=0.5, gzip", True),
        ("gzip;q=0.5", False), ("gzip;q=0", False), ("GZIP", False), ("x-gzip", False),
        ("*", False), ("", False), ("identity;q=0", False),
    ],
)  # fmt: skip
def test_only_gzip_without_a_weight_is_packed(header, is_packed):
    response = responses.data(b"x" * GZIP_FROM)
    responses.compress(response, header)
    assert (response.headers.get("Content-Encoding") == "gzip") is is_packed
