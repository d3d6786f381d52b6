"""All errors are reported at once and in one form: as causes of responses and entries of the
status."""

import pytest
from worlds import PROVISIONING, PUBLIC, app, connection, host, repository, told

ANYWHERE = f"/apis/{PROVISIONING}/repositories"
ALL = f"/apis/{PROVISIONING}/namespaces/ns/repositories"
TOKENS = [{"value": "good", "write": True}, {"value": "reader"}]
OTHERS = {"path": "grafana/grafana", "branches": ["main", "dev"]}


def token(value):
    return {"token": {"create": value}}


def moved(url):
    return {"block": {"url": f"https://github.com/{url}"}}


FINDINGS = {
    "branch": (repository(block={"branch": "gone"}), 1),
    "token": (repository(secure=token("wrong")), 1),
    "token and repository": (repository(secure=token("wrong"), **moved("grafana/none")), 2),
    "repository": (repository(secure=token("good"), **moved("grafana/none")), 1),
    "host": (repository(block={"url": "https://github.com/grafana/grafana"}), 1),
    "write": (repository(secure=token("reader"), workflows=["write"]), 1),
    "connection": (repository(connection={"name": "nobody"}), 1),
    "installation": (connection(installation="999999999"), 1),
    "app": (connection(app_id="999"), 1),
}


@pytest.mark.parametrize("name", FINDINGS)
async def test_both_phases_report_the_same_errors(server, name):
    obj, count = FINDINGS[name]
    tokens = [] if name == "branch" else TOKENS
    outage = {"code": 503} if name == "host" else None
    await server.create(host(repositories=[OTHERS], tokens=tokens, outage=outage))
    await server.create(app(publicKey=PUBLIC))
    causes = await server.dry_run(obj)
    await server.create(obj)
    kind = "connections" if obj["kind"] == "Connection" else "repositories"
    errors = await server.errors(kind, obj["metadata"]["name"])
    assert len(errors) == count
    for cause, error in zip(causes, errors, strict=True):
        assert cause.pop("reason") == error["type"]
        assert cause.pop("message").endswith(cause["detail"])
        again = error["detail"].partition("; tried again")[0]
        assert cause["detail"].startswith(again)
        assert {**cause, "detail": ""} == {**error, "detail": ""}


async def test_an_unknown_installation_is_where_the_documents_look_for_it(server):
    await server.create(app(publicKey=PUBLIC))
    await server.create(connection(installation="999999999"))
    assert await server.errors("connections", "conn") == [
        {
            "type": "FieldValueInvalid",
            "field": "spec.installationID",
            "detail": "invalid installation ID: 999999999",
            "origin": "installation_exists",
            "badValue": "999999999",
            "supportedValues": ["42"],
        }
    ]


async def test_a_wrong_token_and_a_missing_repository_are_both_named(server):
    await server.create(host(tokens=TOKENS))
    await server.create(repository(secure=token("wrong"), **moved("grafana/none")))
    assert told(await server.errors("repositories")) == [
        ("FieldValueInvalid", "spec.github.url", "repository not found"),
        ("FieldValueInvalid", "secure.token", "not authorized"),
    ]


@pytest.mark.parametrize("query", ["", "?dryRun=All"], ids=["write", "dry run"])
async def test_independent_mistakes_are_named_at_once(server, query):
    spec = {
        "type": "svn",
        "title": "",
        "github": {"url": "not a url", "branch": "a..b"},
        "sync": {"enabled": True, "intervalSeconds": 0},
        "workflows": ["fly"],
    }
    obj = {"metadata": {"name": "a"}, "spec": spec}
    code, _, refused = await server.request("POST", f"{ALL}{query}", json=obj)
    assert code == 422
    fields = {cause["field"] for cause in refused["details"]["causes"]}
    assert fields >= {
        "spec.type", "spec.title", "spec.sync.intervalSeconds", "spec.sync.target",
        "spec.github.url", "spec.github.branch", "spec.workflows",
    }  # fmt: skip


@pytest.mark.parametrize(
    "spec",
    [
        {"sync": {"intervalSeconds": 1.5}},
        {"sync": {"intervalSeconds": "5"}},
        {"sync": "often"},
        {"github": {"url": 5}},
        {"workflows": "write"},
        {"type": None},
        {"title": ["a"]},
    ],
    ids=str,
)
async def test_every_cause_names_its_field(server, spec):
    obj = repository(**{key: value for key, value in spec.items() if key != "github"})
    obj["spec"]["github"] |= spec.get("github", {})
    code, _, refused = await server.request("POST", ALL, json=obj)
    assert code == 422
    for cause in refused["details"]["causes"]:
        assert cause["field"].startswith("spec.")
        assert cause["type"] == cause["reason"]
        assert "<nil>" not in refused["message"]


@pytest.mark.parametrize("value", [{"value": "hunter2"}, {"create": "hunter2", "x": 1}], ids=str)
async def test_a_secret_that_is_spelt_otherwise_is_refused_where_it_stands(server, value):
    await server.create(host())
    obj = repository(secure={"token": value})
    code, headers, refused = await server.request("POST", ALL, json=obj)
    assert (code, "Warning" in headers) == (422, False)
    [cause] = refused["details"]["causes"]
    assert (cause["type"], cause["field"]) == ("FieldValueRequired", "secure.token")
    assert "create" in cause["detail"]
    assert "hunter2" not in str(refused)
    await server.create(repository(secure=token("good")))
    merge = {"Content-Type": "application/merge-patch+json"}
    code, _, refused = await server.request(
        "PATCH", f"{ALL}/a", json={"secure": {"token": value}}, headers=merge
    )
    assert (code, refused["details"]["causes"][0]["field"]) == (422, "secure.token")


async def test_the_smallest_repository_is_checked_like_any_other(server):
    github = {"url": "https://github.com/grafana/grafana", "branch": "non-existent-branch"}
    obj = {
        "apiVersion": PROVISIONING,
        "kind": "Repository",
        "metadata": {"name": "my-repo", "namespace": "ns"},
        "spec": {"type": "github", "github": github},
    }
    await server.create(host())
    [cause] = await server.dry_run(obj)
    assert (cause["field"], cause["detail"]) == ("spec.github.branch", "branch not found")
    await server.create(obj)
    assert told(await server.errors("repositories", "my-repo")) == [
        ("FieldValueInvalid", "spec.github.branch", "branch not found")
    ]


@pytest.mark.parametrize(
    "spec", [{"workflows": ["write"]}, {"sync": {"enabled": True, "target": "folder"}}], ids=str
)
async def test_a_repository_that_is_used_needs_a_title(server, spec):
    obj = repository(secure=token("good"), **spec)
    del obj["spec"]["title"]
    [cause] = await server.dry_run(obj)
    assert (cause["type"], cause["field"]) == ("FieldValueRequired", "spec.title")


async def test_a_taken_name_is_an_error_of_the_name(server):
    await server.create(host())
    await server.create(repository())
    for query in ("?dryRun=All", ""):
        code, _, refused = await server.request("POST", f"{ALL}{query}", json=repository())
        assert (code, refused["reason"]) == (409, "AlreadyExists")
        assert refused["details"]["causes"] == [
            {
                "reason": "FieldValueDuplicate",
                "type": "FieldValueDuplicate",
                "field": "metadata.name",
                "message": "Duplicate value: \"a\": resource with name 'a' already exists",
                "detail": "resource with name 'a' already exists",
                "badValue": "a",
            }
        ]


async def test_a_taken_name_is_reported_beside_other_errors(server):
    await server.create(host())
    await server.create(repository())
    await server.settled()
    causes = await server.dry_run(repository(block={"branch": "gone"}))
    assert [(cause["type"], cause["field"]) for cause in causes] == [
        ("FieldValueInvalid", "spec.github.branch"),
        ("FieldValueDuplicate", "metadata.name"),
    ]
    nameless = repository(block={"branch": "gone"})
    nameless["metadata"] = {"generateName": "a", "namespace": "ns"}
    assert [cause["field"] for cause in await server.dry_run(nameless)] == ["spec.github.branch"]


async def test_a_body_of_another_name_is_refused(server):
    code, _, refused = await server.request("POST", f"{ALL}/other", json=repository())
    assert code == 400
    assert refused["message"] == (
        "the name of the object (a) does not match the name on the URL (other)"
    )


async def test_an_empty_dry_run_is_no_option(server):
    code, _, refused = await server.request("POST", f"{ALL}?dryRun=", json=repository())
    assert code == 422
    assert refused["details"]["causes"][0]["message"] == (
        'Unsupported value: [""]: supported values: "All"'
    )


async def test_paths_without_a_namespace_mean_the_default_one(server):
    await server.create(host())
    obj = repository()
    del obj["metadata"]["namespace"]
    url, merge = f"{ANYWHERE}/a", {"Content-Type": "application/merge-patch+json"}
    asked = [
        ("POST", f"{ANYWHERE}?dryRun=All", {"json": obj}, 201),
        ("POST", ANYWHERE, {"json": obj}, 201),
        ("GET", url, {}, 200),
        ("GET", f"{url}/status", {}, 200),
        ("GET", f"{url}/refs", {}, 200),
        ("PUT", url, {"json": obj}, 200),
        ("PATCH", url, {"json": {"spec": {"title": "New"}}, "headers": merge}, 200),
        ("DELETE", url, {}, 200),
    ]
    for method, path, options, code in asked:
        found, headers, body = await server.request(method, path, **options)
        assert (found, body.get("metadata", {}).get("namespace", "default")) == (code, "default")
        if "/refs" not in path:
            assert 'names no namespace: \\"default\\" is meant' in headers["Warning"]
    await server.create(repository())
    _, headers, body = await server.request("GET", ANYWHERE)
    assert "Warning" not in headers
    assert {item["metadata"]["namespace"] for item in body["items"]} >= {"ns"}


async def test_no_validation_endpoint_appears_without_a_namespace(server):
    for name in ("test", "validate", "check"):
        assert (await server.request("POST", f"{ANYWHERE}/a/{name}", json={}))[0] == 404


@pytest.mark.parametrize("branch", ["main", "gone"])
async def test_a_status_that_somebody_else_wrote_is_put_right(server, branch):
    await server.create(host())
    await server.create(repository(block={"branch": branch}))
    await server.settled()
    right = (await server.get("repositories"))["status"]
    wrong = {"observedGeneration": 99, "fieldErrors": [{"type": "InternalError"}]}
    path = f"{PROVISIONING}/repositories"
    await server.client.patch(path, "a", "ns", patch={"status": wrong}, subresource="status")
    await server.recheck(300)
    found = (await server.get("repositories"))["status"]
    assert (found["observedGeneration"], found["fieldErrors"]) == (
        right["observedGeneration"], right["fieldErrors"],
    )  # fmt: skip


async def test_errors_offer_the_branches_that_exist(server):
    await server.create(host())
    await server.create(repository(block={"branch": "gone"}))
    [error] = await server.errors("repositories")
    assert error["supportedValues"] == ["dev", "main"]
