"""Creates and updates: names, concurrency, generation, status, scale, dry run, field validation."""

import pytest

pytestmark = pytest.mark.asyncio(loop_scope="module")
MAPS = "/api/v1/namespaces/default/configmaps"
BOATS = "/apis/example.com/v1/namespaces/default/boats"
CONNECTIONS = "/apis/provisioning.grafana.app/v0alpha1/namespaces/default/connections"


async def test_a_created_object_has_everything_the_server_gives(web, boat):
    answer = await web.ask("POST", BOATS, boat("new", size=2))
    meta = answer.json["metadata"]
    assert answer.code == 201
    assert meta["generation"] == 1
    assert {"uid", "resourceVersion", "creationTimestamp", "managedFields"} <= meta.keys()
    assert answer.json["spec"] == {"replicas": 1, "size": 2}


async def test_a_second_create_finds_the_first(web, config_map):
    await web.ask("POST", MAPS, config_map("twice"))
    answer = await web.ask("POST", MAPS, config_map("twice"))
    assert answer.code == 409
    assert answer.json["reason"] == "AlreadyExists"


async def test_generated_names_begin_with_their_prefix(web, config_map):
    body = config_map("")
    body["metadata"] = {"generateName": "gen-"}
    names = {(await web.ask("POST", MAPS, body)).json["metadata"]["name"] for _ in range(3)}
    assert len(names) == 3
    assert all(name.startswith("gen-") and len(name) == 9 for name in names)


async def test_generated_names_leave_room_for_their_suffix(web, config_map):
    body = config_map("")
    body["metadata"] = {"generateName": "b" * 100}
    answer = await web.ask("POST", MAPS, body)
    assert len(answer.json["metadata"]["name"]) == 63


@pytest.mark.parametrize("name", ["", "A", "a_b", "-a", "a" * 254, "a/b", "é"])
async def test_names_must_be_domain_names(web, config_map, name):
    answer = await web.ask("POST", MAPS, config_map(name))
    assert answer.code == 422
    assert "metadata.name" in [cause["field"] for cause in answer.json["details"]["causes"]]


async def test_the_body_must_name_the_address(web, config_map):
    await web.ask("POST", MAPS, config_map("here"))
    assert (await web.ask("PUT", f"{MAPS}/here", config_map("there"))).code == 400
    elsewhere = config_map("here")
    elsewhere["metadata"]["namespace"] = "other"
    assert (await web.ask("PUT", f"{MAPS}/here", elsewhere)).code == 400
    assert (await web.ask("POST", MAPS, elsewhere)).code == 400


async def test_a_stale_put_conflicts_and_changes_nothing(web, config_map):
    old = (await web.ask("POST", MAPS, config_map("locked", a="1"))).json
    old["data"] = {"a": "2"}
    new = await web.ask("PUT", f"{MAPS}/locked", old)
    assert new.code == 200
    old["data"] = {"a": "3"}
    stale = await web.ask("PUT", f"{MAPS}/locked", old)
    assert (stale.code, stale.json["reason"]) == (409, "Conflict")
    assert (await web.ask("GET", f"{MAPS}/locked")).json["data"] == {"a": "2"}


async def test_a_patch_may_name_the_version_it_is_for(web, config_map):
    old = (await web.ask("POST", MAPS, config_map("fixed"))).json["metadata"]["resourceVersion"]
    await web.patch(f"{MAPS}/fixed", {"data": {"a": "1"}})
    stale = {"metadata": {"resourceVersion": old}, "data": {"a": "2"}}
    assert (await web.patch(f"{MAPS}/fixed", stale)).code == 409


async def test_built_in_kinds_may_be_put_unconditionally_and_custom_ones_not(web, config_map, boat):
    await web.ask("POST", MAPS, config_map("free"))
    assert (await web.ask("PUT", f"{MAPS}/free", config_map("free", a="1"))).code == 200
    await web.ask("POST", BOATS, boat("free"))
    answer = await web.ask("PUT", f"{BOATS}/free", boat("free", size=1))
    assert answer.code == 422
    assert answer.json["details"]["causes"][0]["field"] == "metadata.resourceVersion"


async def test_an_update_that_changes_nothing_is_no_new_version(web, boat):
    before = (await web.ask("POST", BOATS, boat("same", size=1))).json
    after = (await web.patch(f"{BOATS}/same", {"spec": {"size": 1}})).json
    assert after["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]


async def test_the_generation_counts_changes_of_the_spec_only(web, boat):
    await web.ask("POST", BOATS, boat("counted", size=1))
    labelled = await web.patch(f"{BOATS}/counted", {"metadata": {"labels": {"a": "b"}}})
    assert labelled.json["metadata"]["generation"] == 1
    status = await web.patch(f"{BOATS}/counted/status", {"status": {"replicas": 4}})
    assert status.json["metadata"]["generation"] == 1
    changed = await web.patch(f"{BOATS}/counted", {"spec": {"size": 2}})
    assert changed.json["metadata"]["generation"] == 2


async def test_status_and_spec_are_written_through_their_own_paths(web, boat):
    body = {**boat("doors", size=1), "status": {"replicas": 9}}
    assert "status" not in (await web.ask("POST", BOATS, body)).json
    patch = {"spec": {"size": 5}, "status": {"replicas": 2}}
    through_status = (await web.patch(f"{BOATS}/doors/status", patch)).json
    assert (through_status["spec"]["size"], through_status["status"]) == (1, {"replicas": 2})
    through_main = (await web.patch(f"{BOATS}/doors", {**patch, "status": {"replicas": 7}})).json
    assert (through_main["spec"]["size"], through_main["status"]) == (5, {"replicas": 2})


async def test_a_scale_reads_and_writes_the_replicas(web, boat):
    await web.ask("POST", BOATS, boat("scaled", replicas=3))
    scale = (await web.ask("GET", f"{BOATS}/scaled/scale")).json
    assert (scale["kind"], scale["spec"]) == ("Scale", {"replicas": 3})
    scale["spec"]["replicas"] = 5
    assert (await web.ask("PUT", f"{BOATS}/scaled/scale", scale)).code == 200
    assert (await web.ask("GET", f"{BOATS}/scaled")).json["spec"]["replicas"] == 5
    assert (await web.patch(f"{BOATS}/scaled/scale", {"spec": {"replicas": 101}})).code == 422


async def test_a_dry_run_answers_like_a_write_and_stores_nothing(web, server, config_map, boat):
    before = server.store.revision
    created = await web.ask("POST", f"{BOATS}?dryRun=All", boat("dry", size=1))
    assert created.code == 201
    assert created.json["metadata"]["uid"]
    assert (await web.ask("GET", f"{BOATS}/dry")).code == 404
    refused = await web.ask("POST", f"{BOATS}?dryRun=All", boat("dry", size=5000))
    assert refused.code == 422
    assert server.store.revision == before


async def test_dry_run_true_is_for_kinds_declared_in_python_and_warns(web, boat, config_map):
    for path, body in ((BOATS, boat("dry")), (MAPS, config_map("dry"))):
        answer = await web.ask("POST", f"{path}?dryRun=true", body)
        assert answer.code == 422
        assert answer.json["details"]["causes"][0]["field"] == "dryRun"
    answer = await web.ask("POST", f"{CONNECTIONS}?dryRun=true", {
        "apiVersion": "provisioning.grafana.app/v0alpha1",
        "kind": "Connection",
        "metadata": {"name": "dry"},
    })  # fmt: skip
    assert any("dryRun" in warning for warning in answer.warnings)
    assert (await web.ask("GET", f"{CONNECTIONS}/dry")).code == 404


@pytest.mark.parametrize(
    ("mode", "code", "warnings"),
    [("Strict", 400, 0), ("Warn", 201, 2), ("", 201, 2), ("Ignore", 201, 0)],
)
async def test_unknown_and_repeated_fields_are_refused_warned_of_or_ignored(
    web, mode, code, warnings
):
    name = f"mode-{mode.lower() or 'none'}"
    body = (
        f'{{"apiVersion":"example.com/v1","kind":"Boat","metadata":{{"name":"{name}"}},'
        '"spec":{"size":1,"size":2,"wings":3}}'
    ).encode()
    answer = await web.ask("POST", f"{BOATS}?fieldValidation={mode}", body)
    assert answer.code == code
    assert len(answer.warnings) == warnings
    if code == 201:
        assert answer.json["spec"] == {"replicas": 1, "size": 2}
    else:
        assert 'duplicate field "spec.size", unknown field "spec.wings"' in answer.json["message"]


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("dryRun=none", "dryRun"),
        ("fieldValidation=strict", "fieldValidation"),
        ("fieldManager=%0A", "fieldManager"),
        ("fieldManager=" + "m" * 129, "fieldManager"),
    ],
)
async def test_options_of_a_wrong_value_are_refused(web, config_map, query, field):
    answer = await web.ask("POST", f"{MAPS}?{query}", config_map("options"))
    assert (answer.code, answer.json["details"]["kind"]) == (422, "CreateOptions")
    assert answer.json["details"]["causes"][0]["field"] == field


async def test_unknown_query_parameters_are_ignored(web, config_map):
    answer = await web.ask("POST", f"{MAPS}?colour=blue&colours=x", config_map("colour"))
    assert answer.code == 201


@pytest.mark.parametrize(
    ("timeout", "why"),
    [
        ("x", 'invalid duration "x"'),
        ("5", 'missing unit in duration "5"'),
        ("5d", 'unknown unit "d" in duration "5d"'),
    ],
)
async def test_a_timeout_nobody_can_read_is_refused(web, timeout, why):
    answer = await web.ask("GET", f"{MAPS}?timeout={timeout}")
    assert answer.code == 400
    assert answer.json["message"].endswith(f"in the request URL - time: {why}")


@pytest.mark.parametrize(
    ("query", "agent", "indented"),
    [("", "curl/8.5", True), ("?pretty=false", "curl/8.5", False), ("?pretty=1", "x", True)],
)
async def test_people_get_answers_they_can_read(web, query, agent, indented):
    answer = await web.ask("GET", f"{MAPS}{query}", User_Agent=agent)
    assert (b"\n  " in answer.body) is indented


async def test_the_client_in_the_process_sees_what_http_sees(web, server, boat):
    over_http = (await web.ask("POST", BOATS, boat("twin-a", size=1))).json
    in_process = await server.client.create(boat("twin-b", size=1))
    for obj in (over_http, in_process):
        assert obj["spec"] == {"replicas": 1, "size": 1}
        assert obj["metadata"]["generation"] == 1
    found = await server.client.get("example.com/v1/boats", "twin-a", "default")
    assert found == over_http
    listed = await server.client.list("example.com/v1/boats")
    assert listed.items == (await web.ask("GET", BOATS)).json["items"]
