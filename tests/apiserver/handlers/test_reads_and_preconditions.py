"""Versions in reads and writes, preconditions, what a new object forgets, empty tables."""

import pytest

pytestmark = pytest.mark.asyncio(loop_scope="module")
MAPS = "/api/v1/namespaces/default/configmaps"
BOATS = "/apis/example.com/v1/namespaces/default/boats"
ROLES = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles"
SECRETS = "/api/v1/namespaces/default/secrets"
SERVICES = "/api/v1/namespaces/default/services"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
UID = "22222222-2222-2222-2222-222222222222"
FUTURE = "99999999999"


@pytest.fixture(params=["ConfigMap", "Boat", "Role"])
def kind(request, config_map, boat):
    """A collection, and a function that makes an object of it."""
    rbac = "rbac.authorization.k8s.io/v1"
    makers = {
        "ConfigMap": (MAPS, config_map),
        "Boat": (BOATS, boat),
        "Role": (
            ROLES,
            lambda name: {"apiVersion": rbac, "kind": "Role", "metadata": {"name": name}},
        ),
    }
    return makers[request.param]


async def test_a_deletion_of_many_at_a_lost_version_deletes_nothing(web, kind):
    path, make = kind
    await web.ask("POST", path, make("kept"))
    refused = await web.ask("DELETE", f"{path}?resourceVersion=1")
    assert (refused.code, refused.json["reason"]) == (410, "Expired")
    assert (await web.ask("GET", f"{path}/kept")).code == 200
    version = (await web.ask("GET", path)).json["metadata"]["resourceVersion"]
    assert (await web.ask("DELETE", f"{path}?resourceVersion={version}")).code == 200
    assert (await web.ask("GET", f"{path}/kept")).code == 404


async def test_initial_events_of_the_future_are_an_error_event(web, kind):
    path, _ = kind
    query = (
        "watch=1&timeoutSeconds=1&sendInitialEvents=true&allowWatchBookmarks=true"
        f"&resourceVersionMatch=NotOlderThan&resourceVersion={FUTURE}"
    )
    answer = await web.ask("GET", f"{path}?{query}")
    event = answer.json
    assert (answer.code, event["type"], event["object"]["code"]) == (200, "ERROR", 504)
    assert event["object"]["message"].startswith("Timeout: Too large resource version")


async def test_the_uid_is_checked_before_the_version(web, kind):
    path, make = kind
    await web.ask("POST", path, make("one"))
    body = make("one")
    body["metadata"] |= {"uid": UID, "resourceVersion": "99999999"}
    for query in ("", "?dryRun=All"):
        refused = await web.ask("PUT", f"{path}/one{query}", body)
        assert refused.code == 409
        assert f"UID in precondition: {UID}" in refused.json["message"]


@pytest.mark.parametrize("stored", [True, False])
async def test_a_version_that_is_no_number_is_an_error(web, stored):
    name = f"x-{stored}".lower()
    body = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role"}
    if stored:
        await web.ask("POST", ROLES, {**body, "metadata": {"name": name}})
    meta = {"name": name, "resourceVersion": "x"}
    refused = await web.ask("PUT", f"{ROLES}/{name}", {**body, "metadata": meta})
    assert refused.code == 500
    assert refused.json["message"] == 'strconv.ParseUint: parsing "x": invalid syntax'
    assert "reason" not in refused.json


async def test_a_post_forgets_the_fields_of_a_deletion(web, kind):
    path, make = kind
    body = make("fresh")
    gone = {"deletionTimestamp": "2001-01-01T00:00:00Z", "deletionGracePeriodSeconds": 3}
    body["metadata"] |= gone
    meta = (await web.ask("POST", path, body)).json["metadata"]
    assert not gone.keys() & meta.keys()
    assert "f:deletion" not in str(meta.get("managedFields"))


async def test_a_deleted_object_has_the_version_of_its_deletion(web):
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}}
    service["spec"] = {"clusterIP": "None", "ports": [{"port": 80}]}
    made = (await web.ask("POST", SERVICES, service)).json["metadata"]
    gone = (await web.ask("DELETE", f"{SERVICES}/s")).json["metadata"]
    assert gone["uid"] == made["uid"]
    assert int(gone["resourceVersion"]) > int(made["resourceVersion"])


async def test_an_empty_table_of_default_columns_has_null_rows(web):
    """Kinds with printers of their own have an empty list."""
    seen = set()
    groups = {"v1": "/api/v1"}
    for group in (await web.ask("GET", "/apis")).json["groups"]:
        version = group["preferredVersion"]["groupVersion"]
        groups[version] = f"/apis/{version}"
    for path in groups.values():
        for each in (await web.ask("GET", path)).json["resources"]:
            if "list" not in each["verbs"] or "/" in each["name"]:
                continue
            where = f"{path}/{each['name']}?fieldSelector=metadata.name%3Dnone"
            for accept in (TABLE, f"{TABLE},application/json"):
                found = await web.ask("GET", where, Accept=accept)
                names = [column["name"] for column in found.json["columnDefinitions"]]
                is_default = names == ["Name", "Created At"]
                assert found.json["rows"] == (None if is_default else []), where
                seen.add(is_default)
    assert seen == {True, False}


async def test_an_applied_value_that_its_decoder_refuses_is_an_error(web):
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "b"}, "data": {"k": "v"}}
    refused = await web.patch(f"{SECRETS}/b?fieldManager=m", body, "apply")
    assert refused.code == 500
    assert refused.json["message"] == (
        "failed to convert new object (/b; /v1, Kind=Secret) to proper version: unable to convert "
        "unstructured object to /v1, Kind=Secret: error decoding from json: "
        "illegal base64 data at input byte 0"
    )


async def test_an_apply_of_a_status_creates_only_what_a_put_creates(web):
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "none"}, "status": {}}
    refused = await web.patch(f"{SERVICES}/none/status?fieldManager=m", service, "apply")
    assert (refused.code, refused.json["details"]["causes"][0]["field"]) == (422, "spec.ports")
    deployments = "/apis/apps/v1/namespaces/default/deployments"
    body = {**service, "apiVersion": "apps/v1", "kind": "Deployment"}
    assert (await web.patch(f"{deployments}/none/status?fieldManager=m", body, "apply")).code == 404


@pytest.mark.parametrize(("kind_name", "code"), [("CronJob", 200), ("Job", 422)])
async def test_a_status_without_a_check_of_metadata_takes_any_finalizer(web, kind_name, code):
    pod = {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never"}
    job = {"template": {"spec": pod}}
    scheduled = {"schedule": "* * * * *", "jobTemplate": {"spec": job}}
    spec = job if kind_name == "Job" else scheduled
    path = f"/apis/batch/v1/namespaces/default/{kind_name.lower()}s"
    body = {"apiVersion": "batch/v1", "kind": kind_name, "spec": spec}
    assert (await web.ask("POST", path, {**body, "metadata": {"name": "f"}})).code == 201
    changed = {**body, "metadata": {"name": "f", "finalizers": ["bad"]}}
    assert (await web.ask("PUT", f"{path}/f/status", changed)).code == code


async def test_unknown_fields_of_a_patched_scale_are_reported_in_alphabetical_order(web, boat):
    await web.ask("POST", BOATS, boat("scaled"))
    patch = {"spec": {"size": 3, "any": 1, "replicas": 2}}
    warnings = (await web.patch(f"{BOATS}/scaled/scale", patch)).warnings
    assert [each.partition("spec.")[2] for each in warnings] == ['any\\""', 'size\\""']


@pytest.mark.parametrize(("plural", "pages"), [("configmaps", False), ("events", True)])
async def test_a_list_of_any_version_is_whole_if_upstream_has_it_in_its_cache(web, plural, pages):
    path = f"/api/v1/namespaces/default/{plural}"
    for name in ("whole-a", "whole-b", "whole-c"):
        body = {"metadata": {"name": name, "namespace": "default"}}
        made = await web.ask("POST", path, {**body, "involvedObject": {"namespace": "default"}})
        assert made.code == 201
    for query, has_more in (("&resourceVersion=0", pages), ("", True)):
        listed = (await web.ask("GET", f"{path}?limit=1{query}")).json
        assert ("continue" in listed["metadata"]) is has_more
        assert (len(listed["items"]) == 1) is has_more
    token = listed["metadata"]["continue"]
    for query, has_more in (("&resourceVersion=0", pages), ("", True)):
        rest = (await web.ask("GET", f"{path}?limit=1{query}&continue={token}")).json
        assert ("continue" in rest["metadata"]) is has_more
        assert (len(rest["items"]) == 1) is has_more


@pytest.mark.parametrize(
    ("path", "seconds"),
    [
        ("configmaps", 1),
        ("configmaps?limit=5", 1),
        ("configmaps?resourceVersionMatch=Exact", 1),
        ("events", None),
        ("events?limit=5", None),
    ],
)
async def test_reads_of_the_cache_can_be_repeated_for_a_later_version(web, path, seconds):
    """Events are read from etcd."""
    mark = "&" if "?" in path else "?"
    url = f"/api/v1/namespaces/default/{path}{mark}resourceVersion=999999999"
    refused = await web.ask("GET", url)
    assert refused.code == 504
    assert refused.json["details"].get("retryAfterSeconds") == seconds
    assert refused.headers.get("Retry-After") == (str(seconds) if seconds else None)


async def test_errors_of_list_options_have_the_order_of_upstream(web):
    url = "/api/v1/namespaces/default/configmaps?sendInitialEvents=true&resourceVersionMatch=Exact"
    causes = (await web.ask("GET", url)).json["details"]["causes"]
    assert [each["field"] for each in causes] == ["resourceVersionMatch", "sendInitialEvents"]
