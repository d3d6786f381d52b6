"""A saved plan is applied to kube-apiserver, as far as a recording is one: the plan predicts the
recorded result of each request, and `--apply` accepts these responses.

The conversation is that of `tests/conformance/cases/apply-builtin.yaml`, without the cluster: each
step is planned with the objects that the recorded server had before.
"""

import json
import re
from pathlib import Path

import pytest
import yaml
from aiohttp import ClientSession, web
from aiohttp.test_utils import TestServer

from inkube.apiserver import plans, sources
from inkube.apiserver.dumps import ImportOptions, import_dump
from inkube.apiserver.manifests import Manifest
from inkube.apiserver.plans import PlanOptions
from inkube.apiserver.plans.outcomes import FAILURES

FOLDER = Path(__file__).parents[2] / "conformance"
NAMESPACE = "t-apply-builtin"
TIME = "2026-01-01T00:00:00Z"


def steps():
    """Yield the requests, each with the recorded response and the object before it."""
    asked = yaml.safe_load((FOLDER / "cases/apply-builtin.yaml").read_text())["steps"]
    text = (FOLDER / "golden/apply-builtin.json").read_text().replace("<time>", TIME)
    text = re.sub(r"<uid-(\d+)>", r"00000000-0000-0000-0000-00000000000\1", text)
    text = re.sub(r"<version-(\d+)>", r"10\1", text)
    states = {}
    for step, answer in zip(asked, json.loads(text)["steps"], strict=True):
        _, address = step["do"].replace("${ns}", NAMESPACE).split(" ")
        path, _, query = address.partition("?")
        manifest = step.get("body") or yaml.safe_load(step["raw"])
        manifest["metadata"]["namespace"] = NAMESPACE
        yield pytest.param(path, query, manifest, answer, states.get(path), id=step["name"])
        if answer["status"] < 300:
            states[path] = answer["body"]


@pytest.mark.parametrize(("path", "query", "manifest", "answer", "before"), list(steps()))
async def test_a_plan_predicts_what_kube_apiserver_answered(
    path, query, manifest, answer, before, tmp_path
):
    own = {"name": NAMESPACE, "uid": "1", "resourceVersion": "90", "creationTimestamp": TIME}
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": own}
    source, data = tmp_path / "state.json", tmp_path / "state.db"
    items = [namespace, *([] if before is None else [before])]
    source.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    await import_dump(source, data, ImportOptions(), report=lambda *_: None)
    options = PlanOptions(field_manager=query.removeprefix("fieldManager="))
    snapshot = await sources.snapshots.load(data)
    plan = await plans.plan(snapshot, [Manifest("set", manifest)], options)
    (outcome,) = plan.outcomes
    assert outcome.code == answer["status"]
    if outcome.action in FAILURES:
        message = answer["body"]["message"].replace("(/", f"({NAMESPACE}/")  # as a plan names it
        assert outcome.message == message
        return
    asked = []

    async def respond(request):
        asked.append((request.method, request.path))
        if request.method == "PATCH":
            body = await request.json()
            expected = before and before["metadata"]["resourceVersion"]
            assert body["metadata"].get("resourceVersion") == expected
            return web.json_response(answer["body"], status=answer["status"])
        state = before if request.path == path else namespace
        return web.json_response(state or {"kind": "Status"}, status=200 if state else 404)

    recorded = web.Application()
    recorded.router.add_route("*", "/{path:.*}", respond)
    async with TestServer(recorded) as server, ClientSession(server.make_url("/")) as session:
        applied = await plans.apply(plan, session)
    assert applied.problem == ""
    assert asked == [("GET", f"/api/v1/namespaces/{NAMESPACE}"), ("GET", path), ("PATCH", path)]
