"""Requests that once caused unexpected errors: each gets a proper response."""

import asyncio
import copy
import json

import pytest
from aiohttp import HttpVersion11, StreamReader, web
from aiohttp.http import StreamWriter
from aiohttp.http_parser import RawRequestMessage
from multidict import CIMultiDict, CIMultiDictProxy
from yarl import URL

from inkube import APIServer
from inkube.apiserver.http.httprequest import Request

pytestmark = pytest.mark.asyncio(loop_scope="module")
MAPS = "/api/v1/namespaces/default/configmaps"
BOATS = "/apis/example.com/v1/namespaces/default/boats"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
LONG = "9" * 5000


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("gracePeriodSeconds", "("),
        ("gracePeriodSeconds", 1.5),
        ("dryRun", "All"),
        ("dryRun", 7),
        ("dryRun", [[]]),
        ("orphanDependents", "true"),
        ("propagationPolicy", ["Orphan"]),
        ("preconditions", [1]),
        ("preconditions", {"uid": 1}),
        ("preconditions", {"resourceVersion": 1}),
    ],
)
@pytest.mark.parametrize("path", [MAPS, f"{MAPS}/a"])
async def test_delete_options_of_a_wrong_type_are_refused(web, path, member, value):
    body = {"apiVersion": "v1", "kind": "DeleteOptions", member: value}
    answer = await web.ask("DELETE", path, body)
    assert answer.code == 400
    assert answer.json["message"].startswith("json: cannot unmarshal")


@pytest.mark.parametrize("path", [MAPS, BOATS])
async def test_a_negative_limit_is_no_limit(web, path):
    answer = await web.ask("GET", f"{path}?limit=-1")
    assert answer.code == 200
    assert answer.json["metadata"].get("continue", "") == ""


@pytest.mark.parametrize(
    ("query", "code"),
    [("resourceVersion=", 400), ("watch=1&resourceVersion=", 500), ("limit=", 400)],
)
async def test_numbers_beyond_64_bits_are_out_of_range(web, query, code):
    answer = await web.ask("GET", f"{MAPS}?{query}{LONG}")
    assert answer.code == code
    assert answer.json["message"].endswith("value out of range")


async def test_a_body_of_a_version_beyond_64_bits_is_refused(web, config_map):
    await web.ask("POST", MAPS, config_map("huge"))
    body = config_map("huge")
    body["metadata"]["resourceVersion"] = LONG
    answer = await web.ask("PUT", f"{MAPS}/huge", body)
    assert answer.code == 500
    assert answer.json["message"].endswith("value out of range")


async def test_a_continue_token_of_the_future_is_refused(web):
    token = "eyJydiI6OTk5OTk5OTk5OTk5OTk5OTk5OTk5LCJzdGFydCI6ImEifQ"
    answer = await web.ask("GET", f"{MAPS}?continue={token}")
    assert answer.code == 400
    assert answer.json["reason"] == "BadRequest"


@pytest.mark.parametrize("kind", ["json", "merge", "strategic-merge"])
@pytest.mark.parametrize("body", [7, "a", None, [7], True])
async def test_a_patch_that_is_no_patch_is_refused(web, config_map, kind, body):
    await web.ask("POST", MAPS, config_map("patched"))
    answer = await web.patch(f"{MAPS}/patched", body, kind)
    assert answer.code in (400, 422) or (body is None and answer.code == 200)


@pytest.mark.parametrize("kind", ["merge", "strategic-merge"])
@pytest.mark.parametrize("metadata", [7, "a", [], [{}]])
async def test_patches_may_not_replace_the_metadata(web, config_map, kind, metadata):
    await web.ask("POST", MAPS, config_map("patched"))
    answer = await web.patch(f"{MAPS}/patched", {"metadata": metadata}, kind)
    assert answer.code in (400, 422, 500)
    assert (await web.ask("GET", f"{MAPS}/patched")).code == 200


@pytest.mark.parametrize("metadata", [7, "a", [], [{}]])
async def test_an_apply_whose_metadata_is_no_object_is_refused(web, metadata):
    body = {"apiVersion": "example.com/v1", "kind": "Boat", "metadata": metadata}
    answer = await web.patch(f"{BOATS}/a?fieldManager=m", body, "apply")
    assert answer.code == 500
    assert ".metadata: expected map, got &{" in answer.json["message"]


@pytest.mark.parametrize("member", ["apiVersion", "kind"])
async def test_an_apply_whose_type_is_no_text_is_refused(web, member):
    body = {"apiVersion": "example.com/v1", "kind": "Boat", member: {"a": 1}}
    answer = await web.patch(f"{BOATS}/a?fieldManager=m", body, "apply")
    assert answer.code == 400


async def test_a_scale_whose_metadata_is_no_object_is_refused(web, boat):
    await web.ask("POST", BOATS, boat("scaled"))
    body = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": [{"name": "scaled"}]}
    answer = await web.ask("PUT", f"{BOATS}/scaled/scale", body)
    assert answer.code == 400


async def test_merge_keys_that_are_objects_are_no_crash(web):
    owners = [{"uid": {"a": 1}}, {"uid": ["u"]}]
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "owned"}}
    await web.ask("POST", MAPS, body)
    patch = {"metadata": {"ownerReferences": owners}}
    answer = await web.patch(f"{MAPS}/owned", patch, "strategic-merge")
    assert answer.code in (400, 422, 500)


async def test_a_hostile_last_applied_annotation_is_ignored(web, config_map):
    body = config_map("nested", a="1")
    annotation = {"kubectl.kubernetes.io/last-applied-configuration": "[" * 100_000}
    body["metadata"]["annotations"] = annotation
    assert (await web.ask("POST", MAPS, body)).code == 201
    again = config_map("nested", a="2")
    answer = await web.patch(f"{MAPS}/nested?fieldManager=kubectl", again, "apply")
    assert answer.code == 409


@pytest.mark.parametrize("factor", [0, 0.5, -2, 5e-324])
async def test_multiples_of_odd_factors_are_judged(web, boat_crd, factor):
    crd = copy.deepcopy(boat_crd)
    plural = f"rafts{str(factor).strip('-').replace('.', '')}"
    crd["metadata"]["name"] = f"{plural}.example.com"
    crd["spec"]["names"] = {"plural": plural, "kind": plural.title()}
    version = crd["spec"]["versions"][0]
    schema = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
    schema["properties"]["size"]["multipleOf"] = factor
    taken = await web.ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd)
    await web.server.settled()
    assert taken.code in (201, 422)
    for size in (0, 3, 1.5):
        body = {"apiVersion": "example.com/v1", "kind": plural.title(), "spec": {"size": size}}
        body["metadata"] = {"generateName": "a-"}
        answer = await web.ask("POST", f"/apis/example.com/v1/namespaces/default/{plural}", body)
        assert answer.code in (201, 404, 422)


@pytest.mark.parametrize(
    ("metadata", "problem"),
    [
        (1.5, "json: cannot unmarshal number into Go value of type v1.ObjectMeta"),
        ("a", "json: cannot unmarshal string into Go value of type v1.ObjectMeta"),
        ([], "json: cannot unmarshal array into Go value of type v1.ObjectMeta"),
        (
            {"name": 3},
            "json: cannot unmarshal number into Go struct field ObjectMeta.name of type string",
        ),
        ({}, None),
    ],
)
@pytest.mark.parametrize(
    ("kind", "earlier"),
    [
        ("Canoe", None),
        (
            1,
            (
                "couldn't get version/kind; json parse error: "
                "json: cannot unmarshal number into Go struct field .kind of type string"
            ),
        ),
        (None, "Object 'Kind' is missing in '{"),
    ],
)
async def test_a_patch_is_refused_for_its_kind_before_its_metadata(
    web, boat, kind, earlier, metadata, problem
):
    """A kind that is no text, or is missing, is found before the metadata; another kind after."""
    body = boat("kinds") | {"metadata": {"name": "kinds"}}
    await web.ask("POST", BOATS, body)
    answer = await web.patch(f"{BOATS}/kinds", {"kind": kind, "metadata": metadata})
    assert answer.code == 422
    shown, message = earlier or problem, answer.json["message"]
    if shown is None:
        wrong = 'kind: Invalid value: "Canoe": must be Boat'
        assert message == f'Canoe.example.com "kinds" is invalid: {wrong}'
        return
    assert message.startswith(' "" is invalid: patch: Invalid value: "{')
    assert f": {shown}" in message
    assert message.endswith(shown) or kind is None


@pytest.mark.parametrize(
    ("format", "rule"),
    [
        ("ipv4", "ip(self.text).family() == 4"),
        ("date-time", "self.text > timestamp('2000-01-01T00:00:00Z')"),
        ("uuid", "self.text.matches('a')"),
    ],
)
async def test_an_array_for_a_string_with_a_format_fails_its_rules(web, boat_crd, format, rule):
    crd = copy.deepcopy(boat_crd)
    plural = f"{format.replace('-', '')}s"
    crd["metadata"]["name"] = f"{plural}.example.com"
    crd["spec"]["names"] = {"plural": plural, "kind": plural.title()}
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"] = {
        "type": "object",
        "properties": {"text": {"type": "string", "format": format, "maxLength": 99}},
        "x-kubernetes-validations": [{"rule": rule}],
    }
    answer = await web.ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd)
    assert answer.code == 201
    await web.server.settled()
    body = {
        "apiVersion": "example.com/v1",
        "kind": plural.title(),
        "metadata": {"name": "a"},
        "spec": {"text": ["a"]},
    }
    path = f"/apis/example.com/v1/namespaces/default/{plural}"
    answer = await web.ask("POST", path, body)
    assert answer.code == 422
    (cause,) = answer.json["details"]["causes"]
    text = 'Invalid value: "object": invalid data, expected string, got []interface {}'
    assert cause["message"] == f"{text} evaluating rule: {rule}"


@pytest.mark.parametrize(
    ("schema", "rule", "value", "detail"),
    [
        (
            {"type": "object", "additionalProperties": {"type": "string", "maxLength": 9}},
            "self['a'] != ''",
            " ",
            "expected a map for the provided schema with type=object",
        ),
        (
            {"type": "array", "items": {"type": "integer"}},
            "self[2] > 0",
            "abc",
            "expected an array for the provided schema with type=array",
        ),
        (
            {"type": "string", "maxLength": 9},
            "int(self) > 0",
            {},
            "expected string, got map[string]interface {}",
        ),
        ({"type": "integer"}, "self > 0", "1", "expected int, got string"),
        ({"type": "number"}, "self > 0.0", [], "expected float, got []interface {}"),
        ({"type": "boolean"}, "self", 1, "expected bool, got int64"),
        (
            {"x-kubernetes-int-or-string": True},
            "self > 3",
            1.5,
            "expected XIntOrString value to be either a string or integer",
        ),
        (
            {
                "type": "object",
                "properties": {"below": {"type": "array", "items": {"type": "integer"}}},
            },
            "self.below.all(each, each > 0)",
            {"below": ["a"]},
            "expected int, got string",
        ),
    ],
)
async def test_rules_fail_on_values_that_do_not_fit_their_schema(
    web, boat_crd, schema, rule, value, detail
):
    crd = copy.deepcopy(boat_crd)
    crd["metadata"]["name"] = "misfits.example.com"
    crd["spec"]["names"] = {"plural": "misfits", "kind": "Misfit"}
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"] = {
        "type": "object",
        "properties": {"value": {**schema, "x-kubernetes-validations": [{"rule": rule}]}},
    }
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    created = await web.ask("POST", definitions, crd)
    assert created.code == 201, created.body
    await web.server.settled()
    body = {"apiVersion": "example.com/v1", "kind": "Other", "metadata": {"name": "a"}}
    path = "/apis/example.com/v1/namespaces/default/misfits"
    answer = await web.ask("POST", path, {**body, "spec": {"value": value}})
    await web.ask("DELETE", f"{definitions}/misfits.example.com")
    await web.server.settled()
    assert answer.code == 422
    kind, failed = answer.json["details"]["causes"]
    assert kind["field"] == "kind"
    assert failed["message"].endswith(f"invalid data, {detail} evaluating rule: {rule}")


async def test_an_apiservice_without_a_name_is_refused(web):
    answer = await web.ask("POST", "/apis/apiregistration.k8s.io/v1/apiservices", {"": ""})
    assert answer.code == 422
    assert "metadata.name" in answer.json["message"]


@pytest.mark.parametrize("line", ["CONNECT  HTTP/1.1", "CONNECT  ", "CONNECT  X"])
async def test_a_connect_to_nowhere_is_answered(server, line, caplog):
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(f"{line}\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode())
    assert (await reader.read()).startswith((b"HTTP/1.1 ", b"HTTP/1.0 "))
    writer.close()
    await writer.wait_closed()
    assert "Traceback" not in caplog.text


async def nobody(request):
    raise AssertionError("nothing is served")


async def test_a_client_that_has_gone_is_known_to_have_gone():
    loop = asyncio.get_running_loop()
    gone = web.Server(nobody)()
    headers = CIMultiDictProxy(CIMultiDict({"Content-Length": "9"}))
    message = RawRequestMessage(
        "POST", "/", HttpVersion11, headers, (), False, None, False, False, URL("/")
    )
    body = StreamReader(gone, 2**16, loop=loop)
    task = loop.create_task(asyncio.sleep(0))
    request = Request(
        message, body, gone, StreamWriter(gone, loop), task, loop, client_max_size=2**20
    )
    request.head = message
    with pytest.raises(ConnectionResetError):
        await request.read()
    await task


OTHER_METHODS = ["CONNECT", "TRACE", "TRACK", "PROPFIND", "FOO", "get"]


async def raw(server, text):
    """Return the bytes of a server until the end of the connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    try:
        writer.write(text.encode())
        return await reader.read()
    finally:
        writer.close()


@pytest.mark.parametrize("method", OTHER_METHODS[1:])  # the target of CONNECT is a host
@pytest.mark.parametrize(
    ("target", "code"),
    [("/version", b"405"), (MAPS, b"405"), ("/api", b"405"), ("/healthz", b"200"), ("/x", b"404")],
)
async def test_other_methods_reach_their_path_and_end_the_connection(web, method, target, code):
    answer = await raw(web.server, f"{method} {target} HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 " + code)
    assert answer.count(b"HTTP/1.1 ") == 1
    if code == b"405":
        assert b'"MethodNotAllowed"' in answer


@pytest.mark.parametrize("loop", ["fast", "plain"])
async def test_other_methods_are_authenticated_and_authorized(loop, tmp_path):
    users, log = tmp_path / "tokens.csv", tmp_path / "audit"
    users.write_text("of-jane,jane,1\nof-admin,admin,2,system:masters\n")
    codes = []
    async with APIServer(
        authorization_mode="RBAC", token_auth_file=users, http=loop, audit_log=log
    ) as server:
        for method in OTHER_METHODS:
            for token in ("wrong", "of-jane", "of-admin"):
                head = f"{method} {MAPS} HTTP/1.1\r\nHost: localhost"
                answer = await raw(server, f"{head}\r\nAuthorization: Bearer {token}\r\n\r\n")
                codes.append(int(answer.split()[1]))
    assert codes == [401, 403, 405] * len(OTHER_METHODS)
    events = [json.loads(line) for line in log.read_text().splitlines()]
    assert [each["responseStatus"]["code"] for each in events] == codes
    assert {each["verb"] for each in events} == {""}


async def test_a_body_that_looks_like_a_request_is_not_one(web):
    text = f"FOO {MAPS} HTTP/1.1\r\nHost: localhost\r\n\r\n"
    head = f"POST {MAPS} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(text)}\r\n\r\n"
    reader, writer = await asyncio.open_connection("127.0.0.1", web.server.port)
    try:
        writer.write(head.encode())
        await writer.drain()
        writer.write(2 * text.encode())  # the body, and another request with the same bytes
        answer = await reader.read()
    finally:
        writer.close()
    assert b'"code": 405' not in answer


async def test_a_long_method_is_no_request(web):
    answer = await raw(web.server, f"{'A' * 65} {MAPS} HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert answer.startswith(b"HTTP/1.0 400 ")
