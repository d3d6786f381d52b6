"""`inkube plan --call-webhooks`: webhooks judge the objects as in a dry run."""

import base64
import json
from collections.abc import Awaitable, Callable
from typing import NamedTuple

import pytest
from aiohttp import web
from endpoints import BUNDLE, serving

from inkube import APIServer
from inkube.apiserver import plans
from inkube.apiserver.manifests import Manifest
from inkube.apiserver.plans import PlanOptions
from inkube.apiserver.plans.webhooks import PREFIXES, callable_only
from inkube.storage import Record

_RULES = [
    {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["configmaps"]}
]


class Judge:
    """An HTTPS server that refuses names with `bad`, labels others, and stores the requests."""

    def __init__(self):
        self.heard = []

    async def __call__(self, request):
        asked = (await request.json())["request"]
        self.heard.append(asked)
        answer = {"uid": asked["uid"], "allowed": True}
        if "bad" in asked["name"]:
            answer |= {"allowed": False, "status": {"message": "a bad name"}}
        elif "mutate" in request.path:
            operation = {"op": "add", "path": "/metadata/labels", "value": {"seen": "yes"}}
            patch = base64.b64encode(json.dumps([operation]).encode()).decode()
            answer |= {"patchType": "JSONPatch", "patch": patch}
        head = {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1"}
        return web.json_response({**head, "response": answer})


def configuration(kind, name, client, effects="None"):
    hook = {
        "name": name, "clientConfig": {**client, "caBundle": BUNDLE}, "rules": _RULES,
        "sideEffects": effects, "admissionReviewVersions": ["v1"],
    }  # fmt: skip
    return {
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": f"{kind}WebhookConfiguration",
        "metadata": {"name": name}, "webhooks": [hook],
    }  # fmt: skip


class Setup(NamedTuple):
    """`await setup.plan(*objects, **options)` plans for a cluster with two webhooks."""

    plan: Callable[..., Awaitable[plans.Plan]]
    judge: Judge
    url: str
    server: APIServer


@pytest.fixture
async def planned():
    judge = Judge()
    async with serving(judge) as url, APIServer(controllers=False) as server:
        for kind, name, client, effects in (
            ("Mutating", "labels.example.com", {"url": f"{url}/mutate"}, "None"),
            ("Validating", "names.example.com", {"url": url}, "NoneOnDryRun"),
        ):
            await server.client.create(configuration(kind, name, client, effects))

        async def run(*objects, **options):
            found = [Manifest("set", each) for each in objects]
            return await plans.plan(await server.snapshot(), found, PlanOptions(**options))

        yield Setup(run, judge, url, server)


async def test_webhooks_are_called_for_dry_runs_only(planned, config_map):
    plan = await planned.plan(config_map("sky"), config_map("bad"), call_webhooks=True)
    fine, bad = plan.outcomes
    assert fine.action.value == "create"
    assert fine.called_webhooks == ["labels.example.com", "names.example.com"]
    assert fine.webhooks == []
    assert [(each.path, each.new) for each in fine.mutations] == [("metadata.labels.seen", "yes")]
    assert (bad.action.value, bad.code) == ("refused", 400)
    assert '"labels.example.com" denied the request: a bad name' in bad.message
    assert {each["dryRun"] for each in planned.judge.heard} == {True}
    assert len(planned.judge.heard) == 3
    text = plans.texts.text(plan)
    assert '    + metadata.labels.seen: "yes" (by a webhook)' in text
    assert "    the webhook names.example.com was asked" in text


async def test_webhooks_are_not_called_by_default(planned, config_map):
    (found,) = (await planned.plan(config_map("bad"))).outcomes
    assert found.action.value == "create"
    assert found.webhooks == ["labels.example.com", "names.example.com"]
    assert (found.called_webhooks, planned.judge.heard) == ([], [])


async def test_webhooks_of_services_need_an_address(planned, config_map):
    service = {"service": {"namespace": "ops", "name": "judge", "path": "/"}}
    for kind in ("mutating", "validating"):
        resource = f"admissionregistration.k8s.io/v1/{kind}webhookconfigurations"
        for each in await planned.server.client.list(resource):
            await planned.server.client.delete(resource, each["metadata"]["name"])
    await planned.server.client.create(configuration("Validating", "far.example.com", service))
    (found,) = (await planned.plan(config_map("bad"), call_webhooks=True)).outcomes
    assert found.action.value == "refused"
    assert 'service "judge" not found' in found.message
    address = f"ops/judge={planned.url.removeprefix('https://')}"
    options = {"call_webhooks": True, "service_addresses": [address]}
    (found,) = (await planned.plan(config_map("bad"), **options)).outcomes
    assert "judge.ops.svc" in found.message or "a bad name" in found.message


def test_webhooks_with_side_effects_are_never_called():
    """Servers before 1.22 stored such configurations."""
    old = configuration("Validating", "old.example.com", {"url": "https://a"}, "Unknown")
    row = Record(1, f"{PREFIXES[1]}old", 0, 1, False, json.dumps(old).encode(), 0)
    assert json.loads(callable_only(row).data)["webhooks"] == []
