"""Laws of paths and options, over all kinds that discovery shows."""

import pytest
import pytest_asyncio

EXPORT = "the export parameter, deprecated since v1.14, is no longer supported"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def kinds(web):
    """(path of the group and version, entry of discovery) of every kind without subresources."""
    found = []
    versions = ["/api/v1"]
    groups = (await web.ask("GET", "/apis")).json["groups"]
    versions += [f"/apis/{each['groupVersion']}" for group in groups for each in group["versions"]]
    for version in versions:
        entries = (await web.ask("GET", version)).json["resources"]
        found += [(version, each) for each in entries if "/" not in each["name"]]
    found = [each for each in found if each[1]["name"] != "componentstatuses"]  # not stored
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


@pytest.mark.asyncio(loop_scope="module")
async def test_the_path_of_all_namespaces_can_only_be_read(web, kinds):
    for version, entry in kinds:
        if not entry["namespaced"] or "list" not in entry["verbs"]:
            continue
        if "provisioning" in version:  # inkube's kinds have a default namespace
            continue
        path = f"{version}/{entry['name']}"
        assert (await web.ask("GET", path)).code == 200
        is_built_in = entry["name"] in ("pods", "configmaps", "leases", "roles", "deployments")
        for method in ("POST", "DELETE"):
            answer = await web.ask(method, path, b"{" if method == "POST" else None)
            assert answer.code in ((405,) if is_built_in else (404, 405)), (entry["name"], method)
            if answer.code == 405:
                assert answer.json["reason"] == "MethodNotAllowed"
                assert answer.json["details"] == {}


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
