"""Webhooks over HTTPS: the requests they get, their changes, and the effects of their failures."""

import base64
import json

import pytest
import pytest_asyncio
from aiohttp import ClientSession, web
from endpoints import BUNDLE, LEAF, configuration, serving

from inkube import APIServer
from inkube.schemas.status import StatusError


class Endpoint:
    """An HTTPS server that responds to every review with `answer`, and stores the requests."""

    def __init__(self):
        self.url = ""
        self.answer = {"allowed": True}
        self.heard = []

    async def __call__(self, request):
        asked = (await request.json())["request"]
        self.heard.append(asked)
        answer = self.answer(asked) if callable(self.answer) else self.answer
        document = {
            "kind": "AdmissionReview",
            "apiVersion": "admission.k8s.io/v1",
            "response": {"uid": asked["uid"], **answer},
        }
        return web.json_response(document)


@pytest_asyncio.fixture
async def endpoint():
    made = Endpoint()
    async with serving(made) as made.url:
        yield made


@pytest_asyncio.fixture
async def server():
    async with APIServer() as made:
        yield made


async def configure(server, url, kind="Validating", bundle=BUNDLE, **changes):
    config = {"url": url, "caBundle": bundle}
    await server.client.create(configuration(config, kind, **changes))


def config_map(name="a", **data):
    meta = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data}


def patch(*operations):
    text = base64.b64encode(json.dumps(operations).encode()).decode()
    return {"allowed": True, "patchType": "JSONPatch", "patch": text}


async def test_the_serving_certificate_itself_is_an_authority(server, endpoint):
    await configure(server, endpoint.url, bundle=LEAF)
    await server.client.create(config_map())
    assert [asked["name"] for asked in endpoint.heard] == ["a"]


async def test_a_refusal_keeps_its_code_and_message(server, endpoint):
    await configure(server, endpoint.url)
    endpoint.answer = {"allowed": False, "status": {"code": 418, "message": "a teapot"}}
    with pytest.raises(StatusError) as refused:
        await server.client.create(config_map())
    assert refused.value.code == 418
    assert refused.value.message == (
        'admission webhook "ear.example.com" denied the request: a teapot'
    )


async def test_a_patch_is_stored(server, endpoint):
    await configure(server, endpoint.url, "Mutating")
    endpoint.answer = patch({"op": "add", "path": "/data/b", "value": "2"})
    made = await server.client.create(config_map(a="1"))
    assert made["data"] == {"a": "1", "b": "2"}


@pytest.mark.parametrize(
    ("path", "value", "why"),
    [
        ("/apiVersion", "example.com/v9", 'no kind "ConfigMap" is registered for version'),
        ("/kind", "Odd", 'no kind "Odd" is registered for version "v1"'),
        ("/kind", "Secret", r"converting \(v1.Secret\) to \(core.ConfigMap\): unknown conversion"),
        ("/kind", 3, "cannot unmarshal number"),
    ],
)
async def test_a_patch_that_makes_another_type_is_refused(server, endpoint, path, value, why):
    await configure(server, endpoint.url, "Mutating", failurePolicy="Ignore")
    endpoint.answer = patch({"op": "replace", "path": path, "value": value})
    with pytest.raises(StatusError, match=why) as refused:
        await server.client.create(config_map())
    assert refused.value.code == 500


async def test_a_patch_that_leaves_out_the_type_leaves_it_as_it_is(server, endpoint):
    await configure(server, endpoint.url, "Mutating")
    endpoint.answer = patch(
        {"op": "remove", "path": "/apiVersion"},
        {"op": "remove", "path": "/kind"},
        {"op": "add", "path": "/data", "value": {"b": "2"}},
    )
    made = await server.client.create(config_map())
    assert (made["apiVersion"], made["kind"], made["data"]) == ("v1", "ConfigMap", {"b": "2"})


async def test_a_patch_that_fails_is_refused_even_where_failures_are_ignored(server, endpoint):
    await configure(server, endpoint.url, "Mutating", failurePolicy="Ignore")
    endpoint.answer = patch({"op": "remove", "path": "/data/none"})
    with pytest.raises(StatusError, match="Internal error occurred"):
        await server.client.create(config_map(a="1"))


async def test_a_validating_webhook_may_not_patch(server, endpoint):
    await configure(server, endpoint.url)
    endpoint.answer = patch({"op": "add", "path": "/data/b", "value": "2"})
    with pytest.raises(StatusError, match="may not return"):
        await server.client.create(config_map(a="1"))


@pytest.mark.parametrize("policy", ["Fail", "Ignore"])
async def test_the_failure_policy_decides_about_an_endpoint_nobody_serves(server, policy):
    await configure(server, "https://127.0.0.1:9/x", failurePolicy=policy)
    if policy == "Ignore":
        await server.client.create(config_map())
        return
    with pytest.raises(StatusError, match="connect: connection refused"):
        await server.client.create(config_map())


async def test_an_authority_nobody_trusts_is_a_failure(server, endpoint):
    await configure(server, endpoint.url, clientConfig={"url": endpoint.url})
    with pytest.raises(StatusError, match="certificate signed by unknown authority"):
        await server.client.create(config_map())
    assert endpoint.heard == []


async def test_a_service_is_refused_with_a_hint(server):
    service = {"namespace": "default", "name": "missing"}
    await configure(server, "", clientConfig={"service": service})
    with pytest.raises(StatusError, match='service "missing"'):
        await server.client.create(config_map())


async def test_conditions_and_selectors_keep_webhooks_out(server, endpoint):
    await configure(
        server,
        endpoint.url,
        objectSelector={"matchLabels": {"loud": "yes"}},
        matchConditions=[{"name": "named", "expression": "object.metadata.name == 'b'"}],
    )
    for name, labels in (("b", {}), ("a", {"loud": "yes"}), ("b", {"loud": "yes"})):
        obj = config_map(name)
        obj["metadata"]["labels"] = labels
        await server.client.create(obj, dry_run=True)
    heard = [(asked["name"], asked["dryRun"], asked["options"]) for asked in endpoint.heard]
    options = {"apiVersion": "meta.k8s.io/v1", "dryRun": ["All"], "kind": "CreateOptions"}
    assert heard == [("b", True, options)]


async def test_configurations_are_read_anew_after_every_change(server, endpoint):
    await configure(server, endpoint.url)
    await server.client.create(config_map("a"))
    await server.client.delete("v1/configmaps", "a", namespace="default")
    assert [asked["operation"] for asked in endpoint.heard] == ["CREATE", "DELETE"]
    assert endpoint.heard[1]["object"] is None


async def test_webhooks_review_a_new_token_as_a_token_request(server, endpoint):
    account = {"apiVersion": "v1", "kind": "ServiceAccount"}
    await server.client.create({**account, "metadata": {"name": "robot", "namespace": "default"}})
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"]}
    await configure(server, endpoint.url, rules=[{**rule, "resources": ["serviceaccounts/token"]}])
    endpoint.answer = {"allowed": False, "status": {"message": "no tokens today"}}
    url = f"{server.url}/api/v1/namespaces/default/serviceaccounts/robot/token"
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    async with ClientSession() as session, session.post(url, json=body) as response:
        assert response.status == 400
    (asked,) = endpoint.heard
    assert (asked["kind"]["kind"], asked["subResource"]) == ("TokenRequest", "token")
    assert asked["object"]["spec"]["expirationSeconds"] == 3600


async def test_webhooks_review_a_deleted_collection_object_by_object(server, endpoint):
    for name in ("a", "b"):
        await server.client.create(config_map(name))
    await configure(server, endpoint.url)
    url = f"{server.url}/api/v1/namespaces/default/configmaps"
    async with ClientSession() as session, session.delete(url) as response:
        assert response.status == 200
    heard = [(asked["oldObject"]["metadata"]["name"], "name" in asked) for asked in endpoint.heard]
    assert heard == [("a", False), ("b", False)]


async def test_webhooks_with_reinvocation_are_called_again_after_a_change(server, endpoint):
    await configure(server, f"{endpoint.url}/first", "Mutating", reinvocationPolicy="IfNeeded")
    configurations = await server.client.list(
        "admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
    )
    first = configurations.items[0]
    second = {**first["webhooks"][0], "name": "z.example.com", "reinvocationPolicy": "Never"}
    await server.client.update({**first, "webhooks": [first["webhooks"][0], second]})

    def answer(asked):
        count = str(len(asked["object"]["data"]))
        return patch({"op": "add", "path": f"/data/{count}", "value": "x"})

    endpoint.answer = answer
    made = await server.client.create(config_map(a="1"))
    assert sorted(made["data"]) == ["1", "2", "3", "a"]
    assert len(endpoint.heard) == 3


async def test_calls_are_measured_by_webhook_and_outcome(server, endpoint):
    await configure(server, endpoint.url)
    down = {"name": "down.example.com", "failurePolicy": "Ignore"}
    await configure(server, "https://127.0.0.1:9/x", "Mutating", **down)
    await server.client.create(config_map("a"))
    endpoint.answer = {"allowed": False, "status": {"code": 418}}
    with pytest.raises(StatusError):
        await server.client.create(config_map("b"))
    async with ClientSession(server.url) as session, session.get("/metrics") as answer:
        lines = (await answer.text()).splitlines()
    start = "apiserver_admission_webhook_"
    samples = [line.removeprefix(start) for line in lines if line.startswith(start)]
    found = {name: float(number) for name, number in (each.rsplit(" ", 1) for each in samples)}
    ear = 'name="ear.example.com",operation="CREATE",rejected="{}",type="validate"'
    lost = 'name="down.example.com",operation="CREATE",rejected="false",type="admit"'
    why = 'error_type="no_error",name="ear.example.com",operation="CREATE",rejection_code="418"'
    expected = {
        f'request_total{{code="200",{ear.format("false")}}}': 1,
        f'request_total{{code="418",{ear.format("true")}}}': 1,
        f'request_total{{code="0",{lost}}}': 2,
        f"admission_duration_seconds_count{{{ear.format('false')}}}": 1,
        f"admission_duration_seconds_count{{{ear.format('true')}}}": 1,
        f"admission_duration_seconds_count{{{lost}}}": 2,
        f'rejection_count{{{why},type="validate"}}': 1,
        'fail_open_count{name="down.example.com",type="admit"}': 2,
    }
    ignored = ("_bucket", "_sum", "_created")
    assert {name: n for name, n in found.items() if not any(map(name.count, ignored))} == expected


@pytest.mark.parametrize("level", ["Metadata", "Request"])
async def test_audit_events_name_what_webhooks_changed(tmp_path, endpoint, web_of, level):
    log, policy = tmp_path / "audit.log", tmp_path / "policy"
    rules = [{"level": level, "resources": [{"resources": ["configmaps"]}]}]
    head = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"]}
    policy.write_text(json.dumps({**head, "rules": rules}))
    patch = [{"op": "add", "path": "/data", "value": {"x": "1"}}]
    encoded = base64.b64encode(json.dumps(patch).encode()).decode()
    notes = {"note": "x", "not/valid": "y"}
    endpoint.answer = {
        "allowed": True, "patchType": "JSONPatch", "patch": encoded, "auditAnnotations": notes,
    }  # fmt: skip
    async with (
        APIServer(audit_log=log, audit_policy_file=policy, modules="none") as server,
        web_of(server) as client,
    ):
        await configure(server, endpoint.url, "Mutating")
        other = configuration({"url": "https://127.0.0.1:1"}, rules=[])  # never called, not counted
        await server.client.create({**other, "metadata": {"name": "a.example.com"}})
        await configure(server, "https://127.0.0.1:1", failurePolicy="Ignore")
        made = await client.ask(
            "POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"name": "a"}}
        )
        assert made.code == 201
    [event] = map(json.loads, log.read_text().splitlines())
    source = {"configuration": "mutating.example.com", "webhook": "ear.example.com"}
    own = {key: value for key, value in event["annotations"].items() if key.startswith("ear.")}
    assert own == {"ear.example.com/note": "x"}
    annotations = {
        key: value for key, value in event["annotations"].items() if "webhook.admission" in key
    }
    assert json.loads(annotations.pop("mutation.webhook.admission.k8s.io/round_0_index_0")) == {
        **source, "mutated": True,
    }  # fmt: skip
    failed = annotations.pop("failed-open.validating.webhook.admission.k8s.io/round_0_index_0")
    assert failed == "ear.example.com"
    if level == "Request":
        found = json.loads(annotations.pop("patch.webhook.admission.k8s.io/round_0_index_0"))
        assert found == {**source, "patch": patch, "patchType": "JSONPatch"}
    assert not annotations
