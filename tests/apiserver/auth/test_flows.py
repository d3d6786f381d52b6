"""The flow schema of a request, reported in two headers."""

import asyncio
from typing import Any

import aiohttp
import pytest
import yaml
from aiohttp import web
from endpoints import BUNDLE, serving

from inkube import APIServer
from inkube.apiserver.auth import flows

GROUP = "/apis/flowcontrol.apiserver.k8s.io/v1"
SCHEMA, LEVEL = "X-Kubernetes-PF-FlowSchema-UID", "X-Kubernetes-PF-PriorityLevel-UID"


@pytest.fixture
async def session():
    async with APIServer() as server, aiohttp.ClientSession(server.url) as session:
        yield session


async def read(session, path, **headers):
    async with session.get(path, headers=headers) as answer:
        return await answer.json(), answer.headers


async def uid_of(session, plural, name):
    found, _ = await read(session, f"{GROUP}/{plural}/{name}")
    return found["metadata"]["uid"]


async def test_responses_name_no_flow_before_flow_schemas_were_read(session):
    _, headers = await read(session, "/api/v1/namespaces")
    assert SCHEMA not in headers


async def test_an_administrator_is_exempt(session):
    exempt = await uid_of(session, "flowschemas", "exempt")
    level = await uid_of(session, "prioritylevelconfigurations", "exempt")
    _, headers = await read(session, "/api/v1/namespaces")
    assert (headers[SCHEMA], headers[LEVEL]) == (exempt, level)


async def test_a_flow_schema_of_a_user_matches_by_its_precedence(session):
    user = {"kind": "User", "user": {"name": "jane"}}
    everywhere = {"namespaces": ["*"], "clusterScope": True}
    rule = {"verbs": ["list"], "apiGroups": [""], "resources": ["secrets"], **everywhere}
    body = {
        "metadata": {"name": "janes"},
        "spec": {
            "priorityLevelConfiguration": {"name": "exempt"},
            "matchingPrecedence": 2,
            "rules": [{"subjects": [user], "resourceRules": [rule]}],
        },
    }
    async with session.post(f"{GROUP}/flowschemas", json=body) as answer:
        made = (await answer.json())["metadata"]["uid"]
    jane = {"Impersonate-User": "jane"}
    _, headers = await read(session, "/api/v1/namespaces/default/secrets", **jane)
    assert headers[SCHEMA] == made
    _, headers = await read(session, "/api/v1/namespaces/default/configmaps", **jane)
    assert headers[SCHEMA] != made
    _, headers = await read(session, "/version", **jane)
    assert headers[SCHEMA] == await uid_of(session, "flowschemas", "global-default")
    async with session.delete(f"{GROUP}/flowschemas/janes") as answer:
        assert answer.status == 200
    _, headers = await read(session, "/api/v1/namespaces/default/secrets", **jane)
    assert headers[SCHEMA] != made


@pytest.mark.parametrize("most", [1, 2, 3, 4096])
async def test_users_who_take_turns_keep_their_own_flows(session, monkeypatch, most):
    monkeypatch.setattr(flows, "_MAX_CACHED_FLOWS", most)
    names = {"exempt": {}, "global-default": {"Impersonate-User": "jane"}}
    uids = {name: await uid_of(session, "flowschemas", name) for name in names}
    for _ in range(2):
        for name, user in names.items():
            for path in ("/version", "/api/v1/namespaces"):
                _, headers = await read(session, path, **user)
                assert headers[SCHEMA] == uids[name]


async def test_a_flow_schema_is_in_force_on_each_server_of_a_shared_store(tmp_path):
    everything = {"verbs": ["*"], "nonResourceURLs": ["*"]}
    jane = {"kind": "User", "user": {"name": "jane"}}
    spec = {
        "priorityLevelConfiguration": {"name": "exempt"},
        "matchingPrecedence": 2,
        "rules": [{"subjects": [jane], "nonResourceRules": [everything]}],
    }
    body = {"metadata": {"name": "janes"}, "spec": spec}
    async with (
        APIServer(data=tmp_path / "shared.db") as one,
        APIServer(data=tmp_path / "shared.db") as other,
        aiohttp.ClientSession(one.url) as of_one,
        aiohttp.ClientSession(other.url) as of_other,
    ):
        catch_all = await uid_of(of_other, "flowschemas", "global-default")
        _, before = await read(of_other, "/version", **JANE)
        assert before[SCHEMA] == catch_all
        async with of_one.post(f"{GROUP}/flowschemas", json=body) as answer:
            made = (await answer.json())["metadata"]["uid"]
        _, after = await read(of_other, "/version", **JANE)
        assert after[SCHEMA] == made
        async with of_other.delete(f"{GROUP}/flowschemas/janes") as answer:
            assert answer.status == 200
        _, last = await read(of_one, "/version", **JANE)
        assert last[SCHEMA] == catch_all


NARROW: dict[str, Any] = {"max_requests_inflight": 1, "max_mutating_requests_inflight": 1}
JANE = {"Impersonate-User": "jane"}


async def occupied(session, held):
    """A request of jane that runs until `held` is set: its write waits for a webhook."""
    path = "/api/v1/namespaces/default/configmaps"
    async with session.post(path, json={"metadata": {"name": "held"}}, headers=JANE) as answer:
        held.set_result(answer.status)


async def hook(server, url):
    """Let the webhook at `url` review every new ConfigMap."""
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"]}
    webhook = {
        "name": "slow.example.com",
        "clientConfig": {"url": url, "caBundle": BUNDLE},
        "rules": [{**rule, "resources": ["configmaps"]}],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    await server.client.create(
        {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": "slow.example.com"},
            "webhooks": [webhook],
        }
    )


async def metric(session, name, **labels):
    async with session.get("/metrics") as answer:
        lines = (await answer.text()).splitlines()
    told = ",".join(f'{label}="{labels[label]}"' for label in sorted(labels))
    found = [line.rpartition(" ")[2] for line in lines if line.startswith(f"{name}{{{told}}}")]
    return float(found[0]) if found else None


async def make_narrow(session):
    """Create a level with one seat and a queue for one request, and a schema with all requests of
    jane to resources."""
    for kind, spec in (
        (
            "PriorityLevelConfiguration",
            {
                "type": "Limited",
                "limited": {
                    "nominalConcurrencyShares": 1,
                    "borrowingLimitPercent": 0,
                    "limitResponse": {
                        "type": "Queue",
                        "queuing": {"queues": 1, "handSize": 1, "queueLengthLimit": 1},
                    },
                },
            },
        ),
        (
            "FlowSchema",
            {
                "priorityLevelConfiguration": {"name": "narrow"},
                "matchingPrecedence": 10,
                "distinguisherMethod": {"type": "ByUser"},
                "rules": [
                    {
                        "subjects": [{"kind": "User", "user": {"name": "jane"}}],
                        "resourceRules": [
                            {
                                "verbs": ["*"],
                                "apiGroups": ["*"],
                                "resources": ["*"],
                                "namespaces": ["*"],
                                "clusterScope": True,
                            }
                        ],
                    }
                ],
            },
        ),
    ):
        body = {"metadata": {"name": "narrow"}, "spec": spec}
        plural = f"{kind.lower()}s"
        async with session.post(f"{GROUP}/{plural}", json=body) as answer:
            assert answer.status == 201, await answer.text()


@pytest.fixture
async def narrow():
    async with APIServer(**NARROW) as server, aiohttp.ClientSession(server.url) as session:
        yield server, session


async def test_a_level_without_a_seat_queues_or_refuses_and_others_continue(narrow):
    server, session = narrow
    begun, go = asyncio.Event(), asyncio.Event()

    async def review(request):
        begun.set()
        await go.wait()
        uid = (await request.json())["request"]["uid"]
        answer = {"uid": uid, "allowed": True}
        return web.json_response(
            {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "response": answer}
        )

    await make_narrow(session)
    await server.settled()
    schema, _ = await read(session, f"{GROUP}/flowschemas/narrow")
    (dangling,) = schema["status"]["conditions"]
    assert (dangling["type"], dangling["status"]) == ("Dangling", "False")
    async with serving(review) as url:
        await hook(server, url)
        held = asyncio.get_running_loop().create_future()
        tasks = [asyncio.create_task(occupied(session, held))]
        await begun.wait()
        of = {"flow_schema": "narrow", "priority_level": "narrow"}
        name = "apiserver_flowcontrol_{}"
        assert await metric(session, name.format("current_executing_requests"), **of) == 1
        path = "/api/v1/namespaces/default/secrets"
        queued = asyncio.create_task(read(session, path, **JANE))
        while await metric(session, name.format("current_inqueue_requests"), **of) != 1:
            pass
        async with session.get(path, headers=JANE) as answer:  # the queue is full
            assert (answer.status, answer.headers["Retry-After"]) == (429, "1")
            assert answer.headers[LEVEL] == await uid_of(
                session, "prioritylevelconfigurations", "narrow"
            )
        await read(session, path)  # the administrator is exempt
        assert not queued.done()
        go.set()
        found, headers = await queued
        assert (found["kind"], headers[SCHEMA]) == ("SecretList", schema["metadata"]["uid"])
        assert await held == 201
        await asyncio.gather(*tasks)
    rejected = name.format("rejected_requests_total")
    assert await metric(session, rejected, **of, reason="queue-full") == 1
    assert await metric(session, name.format("dispatched_requests_total"), **of) == 2
    limit = name.format("nominal_limit_seats")
    assert await metric(session, limit, priority_level="narrow") == 1
    waits = name.format("request_wait_duration_seconds_count")
    assert await metric(session, waits, **of, execute="true") == 1
    async with session.get("/debug/api_priority_and_fairness/dump_priority_levels") as answer:
        rows = [line.split() for line in (await answer.text()).splitlines()]
    (row,) = [row for row in rows if row[0] == "narrow,"]
    assert [cell.rstrip(",") for cell in row[1:]] == ["0", "true", "false", *"002100"]


async def test_authorization_has_a_seat_and_refusals_name_their_flow(tmp_path):
    begun, go = asyncio.Event(), asyncio.Event()

    async def review(request):
        document = await request.json()
        spec = document["spec"]
        if spec["resourceAttributes"]["resource"] == "configmaps":
            begun.set()
            await go.wait()
        return web.json_response({**document, "status": {"allowed": False}})

    async with serving(review) as url:
        (tmp_path / "tokens.csv").write_text('root,root,1,"system:masters"\njane,jane,2\n')
        (tmp_path / "webhook").write_text(
            yaml.safe_dump({
                "clusters": [
                    {"name": "a", "cluster": {"server": url, "certificate-authority-data": BUNDLE}}
                ],
                "contexts": [{"name": "a", "context": {"cluster": "a"}}], "current-context": "a",
            })
        )  # fmt: skip
        connection = {"type": "KubeConfigFile", "kubeConfigFile": str(tmp_path / "webhook")}
        webhook = {
            "unauthorizedTTL": "1m", "timeout": "30s", "subjectAccessReviewVersion": "v1",
            "matchConditionSubjectAccessReviewVersion": "v1", "failurePolicy": "Deny",
            "connectionInfo": connection,
        }  # fmt: skip
        (tmp_path / "authorization").write_text(
            yaml.safe_dump({
                "apiVersion": "apiserver.config.k8s.io/v1", "kind": "AuthorizationConfiguration",
                "authorizers": [{"type": "Webhook", "name": "slow", "webhook": webhook}],
            })
        )  # fmt: skip
        options = {
            "authorization_config": tmp_path / "authorization",
            "token_auth_file": tmp_path / "tokens.csv",
        }
        path = "/api/v1/namespaces/default"
        root, jane = ({"Authorization": f"Bearer {name}"} for name in ("root", "jane"))
        async with (
            APIServer(**NARROW, **options) as server,
            aiohttp.ClientSession(server.url, headers=root) as session,
        ):
            await make_narrow(session)
            uid = await uid_of(session, "flowschemas", "narrow")
            held = asyncio.create_task(read(session, f"{path}/configmaps", **jane))
            await begun.wait()
            of = {"flow_schema": "narrow", "priority_level": "narrow"}
            name = "apiserver_flowcontrol_current_{}_requests"
            assert await metric(session, name.format("executing"), **of) == 1
            queued = asyncio.create_task(read(session, f"{path}/secrets", **jane))
            while await metric(session, name.format("inqueue"), **of) != 1:
                pass
            go.set()
            for each in (held, queued):
                answer, headers = await each
                assert (answer["code"], headers[SCHEMA]) == (403, uid)
            dispatched = "apiserver_flowcontrol_dispatched_requests_total"
            assert await metric(session, dispatched, **of) == 2


async def test_requests_of_an_exempt_level_are_counted(session):
    """Before and after somebody reads metrics, which are requests of this level too."""
    uid = await uid_of(session, "flowschemas", "exempt")
    exempt = {"flow_schema": "exempt", "priority_level": "exempt"}
    dispatched = "apiserver_flowcontrol_dispatched_requests_total"
    executing = "apiserver_flowcontrol_current_executing_{}"
    for expected in (4, 10):
        for _ in range(3):
            _, headers = await read(session, "/version")
            assert headers[SCHEMA] == uid
        assert await metric(session, dispatched, **exempt) == expected
        for what in ("requests", "seats"):  # the read of metrics itself
            assert await metric(session, executing.format(what), **exempt) == 1


async def test_a_server_without_priority_and_fairness_limits_reads_and_writes():
    async with (
        APIServer(**NARROW, enable_priority_and_fairness=False) as server,
        aiohttp.ClientSession(server.url) as session,
    ):
        await read(session, f"{GROUP}/flowschemas")
        _, headers = await read(session, "/api/v1/namespaces")
        assert SCHEMA not in headers


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"max_requests_inflight": -1}, "-1 is out of range; use 0 or more"),
        (
            {"max_requests_inflight": 0, "max_mutating_requests_inflight": 0},
            "must add up to something positive",
        ),
    ],
)
def test_invalid_limits_of_requests_end_the_start(options, why):
    with pytest.raises(ValueError, match=why):
        APIServer(**options)


async def test_a_table_shows_schemas_by_their_precedence_and_a_list_by_their_names(session):
    path, table = f"{GROUP}/flowschemas", "application/json;as=Table;v=v1;g=meta.k8s.io"
    listed, _ = await read(session, path)
    names = [each["metadata"]["name"] for each in listed["items"]]
    by_precedence = sorted(
        listed["items"],
        key=lambda each: (
            each["spec"]["matchingPrecedence"],
            names.index(each["metadata"]["name"]),
        ),
    )
    for query in ("", "?includeObject=Object"):
        rows = (await read(session, path + query, Accept=table))[0]["rows"]
        assert [row["cells"][0] for row in rows] == [
            each["metadata"]["name"] for each in by_precedence
        ]
    assert names == sorted(names) != [each["metadata"]["name"] for each in by_precedence]
