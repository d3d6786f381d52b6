"""Accept headers: the order of media ranges, their parameters, and the form that follows."""

import pytest
from aiohttp import ClientSession

from inkube import APIServer
from inkube.apiserver.http import negotiation
from inkube.schemas.status import StatusError

YAML, PROTOBUF = negotiation.YAML, negotiation.PROTOBUF
MAPS = "/api/v1/namespaces/default/configmaps"


@pytest.mark.parametrize(
    ("header", "media"),
    [
        ("application/yaml;q=0.1, */*", ["*/*", YAML]),
        ("*/*, application/yaml;q=0.1", [YAML, "*/*"]),
        ("*/*, application/yaml;q=0.5, application/json", ["application/json", YAML, "*/*"]),
        ("a/b;q=0.5, c/d", ["c/d", "a/b"]),
        ("a/b;q=x, c/d;q=0", ["a/b", "c/d"]),
        ("a/*, a/b", ["a/b", "a/*"]),
        ("*", ["*/*"]),
        ("json, a/b/c, a/, /b, a / b", ["/b", "a/b"]),
        (" a/b ;q=0.5;q=0.1, c/d; q=0.2", ["c/d", "a/b"]),
        (",,", []),
    ],
)
def test_ranges_stand_in_the_order_of_goautoneg(header, media):
    assert [clause.media for clause in negotiation.clauses(header)] == media


@pytest.mark.parametrize(
    ("header", "form"),
    [
        ("application/yaml;q=0", negotiation.Form(YAML)),
        ("*/*;q=x", negotiation.COMPACT_JSON),
        ("application/json;as=;v=;pretty", negotiation.COMPACT_JSON),
        ("application/json;as=Table=x", negotiation.COMPACT_JSON),
        ("application/yaml;stream=watch, application/json;stream=x", None),
        ("application/json;stream=watch;sv=v1", negotiation.COMPACT_JSON),
        ("application/json;sv=v2", None),
        ("*/*;as=Odd;g=meta.k8s.io;v=v1, application/yaml;q=0.1", negotiation.Form(YAML)),
    ],
)
def test_parameters_count_only_with_a_value(header, form):
    if form is None:
        with pytest.raises(StatusError, match="only the following media types"):
            negotiation.negotiate(header)
    else:
        assert negotiation.negotiate(header) == form


@pytest.mark.parametrize(
    ("query", "accept", "media", "text"),
    [
        ("limit=&resourceVersion=x", "", "application/json", 'strconv.ParseInt: parsing "": inv'),
        ("timeoutSeconds=&limit=x", "", "application/json", 'strconv.ParseInt: parsing "": inv'),
        ("sendInitialEvents=", "", "application/json", "sendInitialEvents is forbidden for list"),
        ("limit=x", "application/yaml;as=Table;g=meta.k8s.io;v=v1", "application/json", "ParseInt"),
        ("limit=x", "*/*, application/yaml;q=0.1", YAML, "ParseInt"),
        ("watch=1&resourceVersion=x", YAML, YAML, "resourceVersion: Invalid value"),
        ("watch=1&fieldSelector=a=b", YAML, YAML, "is not a known field selector"),
        ("watch=1", YAML, YAML, f"accepted: application/json;stream=watch,\\n  {PROTOBUF}"),
    ],
)
async def test_options_are_judged_before_the_form_of_a_stream(query, accept, media, text):
    headers = {"Accept": accept} if accept else {}
    async with APIServer() as server, ClientSession() as http:
        answer = await http.get(f"{server.url}{MAPS}?{query}", headers=headers)
        assert answer.content_type == media
        assert text.replace("\\n", "\n") in (await answer.text()).replace('\\"', '"')


async def test_a_list_of_one_name_has_one_page():
    async with APIServer() as server, ClientSession() as http:
        for name in ("a", "b"):
            await http.post(f"{server.url}{MAPS}", json={"metadata": {"name": name}})
        query = "limit=1&fieldSelector=metadata.name"
        found = await (await http.get(f"{server.url}{MAPS}?{query}%3Da")).json()
        assert [item["metadata"]["name"] for item in found["items"]] == ["a"]
        assert "continue" not in found["metadata"]
        others = await (await http.get(f"{server.url}{MAPS}?{query}!%3Dkube-root-ca.crt")).json()
        assert others["metadata"]["continue"]
