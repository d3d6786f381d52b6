"""Requests and responses: media types, unreadable bodies, methods, hosts."""

import pytest
import yaml

pytestmark = pytest.mark.asyncio(loop_scope="module")
MAPS = "/api/v1/namespaces/default/configmaps"
BOATS = "/apis/example.com/v1/namespaces/default/boats"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"


@pytest.mark.parametrize(
    ("accept", "media"),
    [
        ("*/*", "application/json"),
        ("application/json;q=0", "application/json"),
        ("", "application/json"),
        ("application/yaml", "application/yaml"),
        ("application/json;q=0.1, application/yaml", "application/yaml"),
        ("text/html, application/json;q=0.5", "application/json"),
        ("application/cbor, application/json", "application/json"),
        (f"{TABLE}, application/json", "application/json"),
    ],
)
async def test_the_best_acceptable_form_is_served(web, accept, media):
    answer = await web.ask("GET", MAPS, Accept=accept)
    assert answer.code == 200
    assert answer.headers["Content-Type"] == media
    value = yaml.safe_load(answer.body)
    assert value["kind"] == ("Table" if "Table" in accept else "ConfigMapList")


@pytest.mark.parametrize(
    "accept", ["text/html", "application/json;as=Poem;g=meta.k8s.io;v=v1",
               "application/vnd.kubernetes.protobuf;as=Table;g=meta.k8s.io;v=v1", ",", "a;q=nan"]
)  # fmt: skip
async def test_unknown_media_types_are_not_acceptable(web, accept):
    answer = await web.ask("GET", MAPS, Accept=accept)
    assert (answer.code, answer.json["reason"]) == (406, "NotAcceptable")


@pytest.mark.parametrize("accept", ["text/html", "application/json;as=Table;g=meta.k8s.io;v=v1"])
@pytest.mark.parametrize(("method", "path"), [("GET", f"{MAPS}/none"), ("PUT", MAPS)])
async def test_errors_are_indented_for_clients_that_accept_no_form_of_them(
    web, method, path, accept
):
    answer = await web.ask(method, path, Accept=accept)
    assert answer.body.startswith(b'{\n  "kind": "Status",\n  "apiVersion": "v1"')
    assert answer.body.endswith(b"}")


async def test_errors_come_as_yaml_too(web):
    answer = await web.ask("GET", f"{MAPS}/none", Accept="application/yaml")
    assert answer.code == 404
    assert yaml.safe_load(answer.body)["reason"] == "NotFound"


async def test_yaml_bodies_are_read(web):
    body = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: yaml}\ndata: {a: 'on'}\n"
    answer = await web.ask("POST", MAPS, body, Content_Type="application/yaml; charset=utf-8")
    assert (answer.code, answer.json["data"]) == (201, {"a": "on"})


@pytest.mark.parametrize("path", [MAPS, BOATS])
@pytest.mark.parametrize("media", ["text/plain", "application/x-www-form-urlencoded", "a", "/"])
async def test_bodies_of_unknown_media_types_are_refused(web, path, media):
    answer = await web.ask("POST", path, b"{}", Content_Type=media)
    assert (answer.code, answer.json["reason"]) == (415, "UnsupportedMediaType")


@pytest.mark.parametrize("kind", ["strategic-merge", "unknown"])
async def test_patches_of_unknown_types_are_refused(web, kind):
    answer = await web.patch(f"{BOATS}/a", {}, kind)
    assert (answer.code, answer.json["reason"]) == (415, "UnsupportedMediaType")


BROKEN = {
    "nothing": b"",
    "half an object": b'{"kind": "Con',
    "two objects": b"{}{}",
    "a list": b"[]",
    "a number": b"7",
    "null bytes": b"\x00\x00",
    "not a number": b'{"spec": NaN}',
    "infinity": b'{"spec": Infinity}',
    "no UTF-8": b"\xff\xfe{}",
    "10,000 levels of lists": b"[" * 10_000 + b"]" * 10_000,
    "10,000 levels of objects": b'{"a":' * 10_000 + b"1" + b"}" * 10_000,
    "protobuf in JSON": b"k8s\x00\x0a\x02",
}


@pytest.mark.parametrize("path", [MAPS, BOATS, CRDS])
@pytest.mark.parametrize("body", BROKEN.values(), ids=BROKEN)
async def test_bodies_that_cannot_be_read_are_refused(web, path, body):
    for media in ("application/json", "application/yaml"):
        answer = await web.ask("POST", path, body, Content_Type=media)
        assert answer.code in (400, 422), media
        assert answer.json["kind"] == "Status"


@pytest.mark.parametrize(
    "body", [b"a: *b\n", b"a: [\n", b"\t- a\n", b"a: !!python/object:os.system x\n", b"%YAML 9\n",
             b"a: &x [*x]\n", b"a: 1\n---\nb: 2\n", b"? [a, b]\n: c\n"]
)  # fmt: skip
async def test_yaml_that_cannot_be_read_is_refused(web, body):
    answer = await web.ask("POST", BOATS, body, Content_Type="application/yaml")
    assert answer.code == 400


async def test_aliases_do_not_grow_without_bound(web):
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    answer = await web.ask(
        "POST", BOATS, "\n".join(lines).encode(), Content_Type="application/yaml"
    )
    assert answer.code in (400, 413)


@pytest.mark.parametrize("body", [b"", b"k8s\x00\xff\xff\xff", b"k8s\x00" + b"\x0a" * 500])
async def test_protobuf_that_cannot_be_read_is_refused(web, body):
    media = "application/vnd.kubernetes.protobuf"
    for path in (MAPS, BOATS):
        answer = await web.ask("POST", path, body, Content_Type=media)
        assert answer.code in (400, 415)


@pytest.mark.parametrize(
    ("method", "path"),
    [("POST", f"{MAPS}/a"), ("PUT", MAPS), ("PATCH", MAPS), ("OPTIONS", MAPS)],
)
async def test_methods_a_path_does_not_serve_are_refused(web, method, path):
    answer = await web.ask(method, path, {})
    assert (answer.code, answer.json["reason"]) == (405, "MethodNotAllowed")


@pytest.mark.parametrize("path", ["/api/v1/nothing", "/api/v1/namespaces/default/pods/a/nothing"])
async def test_unknown_resources_of_known_groups_answer_a_status(web, path):
    answer = await web.ask("GET", path)
    assert (answer.code, answer.json["reason"]) == (404, "NotFound")


@pytest.mark.parametrize("path", ["/nothing", "/apis/no.group/v1/things", "//", "/api//v1"])
async def test_unknown_paths_answer_as_the_outer_mux(web, path):
    answer = await web.ask("GET", path)
    assert (answer.code, answer.body) == (404, b"404 page not found\n")
    assert answer.headers["Cache-Control"] == "no-cache, private"


@pytest.mark.parametrize("name", ["%2e", "%2e%2e", "a%25b"])
async def test_names_that_are_no_path_segments_are_refused(web, name):
    assert (await web.ask("GET", f"{MAPS}/{name}")).code in (400, 404)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost:1", "[::1]:8", "127.9.9.9"])
async def test_hosts_of_the_loopback_are_served(web, host):
    assert (await web.ask("GET", "/readyz", Host=host)).code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil", "0.0.0.0", "1.2.3.4:80"]
)
async def test_other_hosts_are_kept_out_of_an_open_server(web, host):
    answer = await web.ask("GET", "/readyz", Host=host)
    assert (answer.code, answer.json["reason"]) == (403, "Forbidden")
