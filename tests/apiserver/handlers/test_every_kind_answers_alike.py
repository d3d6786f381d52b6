"""Laws of paths and options, over all kinds that discovery shows."""

from urllib.parse import quote

import pytest
import pytest_asyncio

from inkube.schemas.builtin import fields

OWN_GROUPS = ("provisioning.grafana.app", "world.inkube.dev")
EXPORT = "the export parameter, deprecated since v1.14, is no longer supported"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def entries(web):
    """(path of the group and version, entry of discovery) of every kind and subresource."""
    found = []
    versions = ["/api/v1"]
    groups = (await web.ask("GET", "/apis")).json["groups"]
    versions += [f"/apis/{each['groupVersion']}" for group in groups for each in group["versions"]]
    for version in versions:
        listed = (await web.ask("GET", version)).json["resources"]
        found += [(version, each) for each in listed if each["name"] != "componentstatuses"]
    return found


@pytest.fixture(scope="module")
def kinds(entries):
    """The entries of kinds, without subresources."""
    found = [each for each in entries if "/" not in each[1]["name"]]
    assert len(found) > 60
    return found


def place(version, entry):
    namespace = "namespaces/default/" if entry["namespaced"] else ""
    return f"{version}/{namespace}{entry['name']}"


@pytest.mark.asyncio(loop_scope="module")
async def test_an_export_is_refused_before_the_object_is_looked_for(web, kinds):
    for version, entry in kinds:
        if "get" not in entry["verbs"]:
            continue
        for value, code in (("true", 400), ("", 400), ("0", 404), ("false", 404)):
            answer = await web.ask("GET", f"{place(version, entry)}/absent?export={value}")
            assert answer.code == code, (entry["name"], value)
            if code == 400:
                assert (answer.json["message"], answer.json["reason"]) == (EXPORT, "BadRequest")


VERBS = {
    "collection": {"GET": "list", "POST": "create", "DELETE": "deletecollection"},
    "object": {"GET": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"},
    "all namespaces": {"GET": "list"},
    "subresource": {
        "GET": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete",
    },
}  # fmt: skip
"""The verb of each method, for each form of a path."""


def forms(version, entry):
    """Yield (form, path) of each path of an entry of discovery, in a namespace that does not
    exist."""
    plural, _, part = entry["name"].partition("/")
    path = f"{version}/{'namespaces/absent/' if entry['namespaced'] else ''}{plural}"
    if part:
        yield "subresource", f"{path}/a/{part}"
        return
    yield "collection", path
    if entry["verbs"] != ["create"]:
        yield "object", f"{path}/a"
        if entry["namespaced"]:
            yield "all namespaces", f"{version}/{plural}"


@pytest.mark.asyncio(loop_scope="module")
async def test_a_method_without_a_verb_in_discovery_is_not_allowed_whatever_it_sends(web, entries):
    """Neither the body nor the namespace is looked at. Kinds declared in Python can do more."""
    for version, entry in entries:
        if any(group in version for group in OWN_GROUPS):
            continue
        for form, path in forms(version, entry):
            for method in ("GET", "POST", "PUT", "PATCH", "DELETE"):
                if "example.com" in version and form != "subresource" and method != "GET":
                    continue  # custom resources have no routes: their bodies are read first
                body = None if method in ("GET", "DELETE") else b"{"
                media = "application/merge-patch+json" if method == "PATCH" else "application/json"
                dry = "?dryRun=All" if method == "DELETE" and form == "collection" else ""
                answer = await web.ask(method, path + dry, body, Content_Type=media)
                is_allowed = VERBS[form].get(method) in entry["verbs"]
                is_allowed |= entry["name"].endswith("/proxy")  # any method is passed on
                assert (answer.code != 405) is is_allowed, (method, path, answer.code)
                if answer.code == 405:
                    assert answer.json["reason"] == "MethodNotAllowed"
                    named = {"group": "example.com", "kind": "boats"}  # of custom resources
                    assert answer.json["details"] == (named if "example.com" in version else {})


@pytest.mark.asyncio(loop_scope="module")
async def test_an_absent_object_is_not_found_before_its_patch_is_decoded(web, entries):
    for version, entry in entries:
        is_own = any(group in version for group in OWN_GROUPS)
        for form, path in forms(version, entry):
            if "patch" not in entry["verbs"] or is_own:
                continue
            if form in ("object", "subresource") and "proxy" not in path:
                for media in ("merge", "json", "strategic-merge"):
                    answer = await web.patch(path, b"{", media)
                    has_strategy = media != "strategic-merge" or "example.com" not in version
                    assert answer.code == (404 if has_strategy else 415), (path, media)


@pytest.mark.asyncio(loop_scope="module")
async def test_every_wrong_list_option_is_named(web, kinds):
    for version, entry in kinds:
        if "list" not in entry["verbs"]:
            continue
        answer = await web.ask("GET", f"{place(version, entry)}?resourceVersionMatch=Odd")
        causes = [(each["field"], each["reason"]) for each in answer.json["details"]["causes"]]
        assert causes == [
            ("resourceVersionMatch", "FieldValueForbidden"),
            ("resourceVersionMatch", "FieldValueNotSupported"),
        ], entry["name"]
        token = await web.ask("GET", f"{place(version, entry)}?resourceVersion=5&continue=x")
        assert (token.code, token.json["message"][:22]) == (400, "invalid continue token")


@pytest.mark.asyncio(loop_scope="module")
async def test_an_unknown_subresource_is_not_found_in_any_form(web, kinds):
    for version, entry in kinds:
        if "get" not in entry["verbs"]:
            continue
        path = f"{place(version, entry)}/a/odd"
        codes = [
            (await web.ask("GET", path, Accept=accept)).code
            for accept in ("application/json", "text/plain", "application/json;as=Odd")
        ]
        assert codes == [404, 404, 404], entry["name"]


@pytest.mark.asyncio(loop_scope="module")
async def test_group_and_version_without_a_form_are_not_acceptable(web, kinds):
    codes = {
        "application/json;g=meta.k8s.io;v=v1": 406,
        "application/json;v=v1": 406,
        "application/yaml;v=v1": 406,
        "application/json;as=Table;g=meta.k8s.io": 406,
        "application/json;as=;g=;v=": 404,
        "application/json;foo=bar": 404,
    }
    for version, entry in kinds:
        if "get" not in entry["verbs"]:
            continue
        path = f"{place(version, entry)}/absent"
        found = {each: (await web.ask("GET", path, Accept=each)).code for each in codes}
        assert found == codes, entry["name"]


@pytest.mark.asyncio(loop_scope="module")
async def test_an_unknown_subresource_is_not_found_before_an_export_is_refused(web, kinds):
    for version, entry in kinds:
        if "get" not in entry["verbs"]:
            continue
        for part in ("odd", "scale"):
            path = f"{place(version, entry)}/a/{part}"
            plain = await web.ask("GET", path)
            if "could not find the requested resource" in plain.json["message"]:
                exported = await web.ask("GET", f"{path}?export=true", Accept="text/plain")
                assert exported.code == 404, (entry["name"], part)


@pytest.mark.asyncio(loop_scope="module")
async def test_a_list_is_not_one_object_and_its_type_is_named(web, kinds):
    accept = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
    for version, entry in kinds:
        if "list" not in entry["verbs"]:
            continue
        answer = await web.ask("GET", place(version, entry), Accept=accept)
        assert answer.code == 406
        types = (f".{entry['kind']}List)", "(*unstructured.UnstructuredList)")
        assert answer.json["message"].endswith(types[:1] if version == "/api/v1" else types)


@pytest.mark.asyncio(loop_scope="module")
async def test_a_body_of_another_type_is_refused_by_what_the_scheme_knows(web, kinds):
    """Lists, options and statuses are types of the scheme, but no other type becomes the kind of
    the path. Definitions and API services have schemes of their own, with few other types."""
    legacy = "k8s.io/kubernetes/pkg/api/legacyscheme/scheme.go:30"
    for version, entry in kinds:
        own = version.removeprefix("/apis/").removeprefix("/api/")
        if "create" not in entry["verbs"] or any(name in own for name in (*OWN_GROUPS, "example")):
            continue
        group = own.rpartition("/")[0]
        others = group in ("apiextensions.k8s.io", "apiregistration.k8s.io")
        bodies = [
            ("v1", "List", not others), ("v1", "Status", True), ("v1", "DeleteOptions", True),
            ("apps/v1", "Status", True), ("apps/v1", "List", False), (own, "WatchEvent", True),
            ("apps/v1", "DeploymentList", not others), ("policy/v1", "Eviction", not others),
            (own, f"{entry['kind']}List", "list" in entry["verbs"]),
        ]  # fmt: skip
        for given, kind, is_known in bodies:
            answer = await web.ask(
                "POST", place(version, entry), {"apiVersion": given, "kind": kind}
            )
            short = given.rpartition("/")[2]
            text = f"cannot be handled as a {entry['kind']}: "
            assert answer.code == 400, (entry["name"], given, kind)
            found = answer.json["message"].removeprefix(f'{kind} in version "{short}" {text}')
            package = group.partition(".")[0] or "core"
            goes = short if kind != "WatchEvent" else "v1"
            if is_known:
                known = f"converting ({goes}.{kind}) to ({package}.{entry['kind']}): unknown"
                assert found == f"{known} conversion"
            else:
                unknown = f'no kind "{kind}" is registered for version "{given}" in scheme '
                assert found.startswith(unknown)
                assert found.endswith(f'"{legacy}"') is not others


@pytest.mark.asyncio(loop_scope="module")
async def test_each_field_that_a_kind_supports_divides_its_objects(web, kinds):
    """A selector and its negation select each object once, also for values that no object has.
    Another field is refused. Kinds declared in Python have tables of their own."""
    for version, entry in kinds:
        if "list" not in entry["verbs"] or any(group in version for group in OWN_GROUPS):
            continue
        path, group = place(version, entry), version.removeprefix("/apis/").rpartition("/")[0]
        group = "" if version == "/api/v1" else group
        everything = named(await web.ask("GET", path))
        for field in fields.of(group, entry["name"], namespaced=entry["namespaced"]):
            for value in {"", "default", field.zero}:
                query = "?fieldSelector=" + quote(f"{field.label}={value}")
                with_it = await web.ask("GET", path + query)
                without = await web.ask("GET", path + query.replace("%3D", "%21%3D", 1))
                assert (with_it.code, without.code) == (200, 200), (entry["name"], field)
                assert sorted(named(with_it) + named(without)) == sorted(everything)
        refused = await web.ask("GET", f"{path}?fieldSelector=spec.odd%3D1")
        assert (refused.code, refused.json["reason"]) == (400, "BadRequest"), entry["name"]
        assert "spec.odd" in refused.json["message"]


def named(answer):
    return [each["metadata"]["name"] for each in answer.json["items"]]
