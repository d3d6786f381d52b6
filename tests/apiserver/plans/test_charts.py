"""A chart: what `helm template` prints is planned, and Helm's installation is what was planned.

`chart.yaml` is the output of Helm 4.2 for the chart in the folder `chart`, as `helm template shop
chart --include-crds` prints it: definitions, objects in the order of their installation, hooks.
With `pip install helm-python-sdk`, Helm itself renders the chart again, installs and upgrades it.
"""

import asyncio
import contextlib
import importlib
import importlib.util
from pathlib import Path

import aiohttp
import pytest
import yaml

from inkube import APIServer
from inkube.apiserver import plans
from inkube.apiserver.manifests import Manifest
from inkube.apiserver.plans import PlanOptions, fields
from inkube.apiserver.plans.outcomes import Action

CHART = Path(__file__).with_name("chart")
RENDERED = Path(__file__).with_name("chart.yaml")
needs_helm = pytest.mark.skipif(
    importlib.util.find_spec("helm_python") is None, reason="helm-python-sdk is not installed"
)
CLUSTER_SCOPED = ("Namespace", "CustomResourceDefinition")
ASSIGNED = ("spec.clusterIP", "metadata.labels.controller-uid", "spec.template.metadata.labels")
JOB = "batch/v1/jobs", "shop-migrate", "default"


def manifests(text, annotations=None):
    """Return the objects of a text in the namespace of the release, with more annotations."""
    found = []
    for obj in filter(None, yaml.safe_load_all(text)):
        metadata = obj["metadata"]
        if annotations:
            metadata["annotations"] = {**(metadata.get("annotations") or {}), **annotations}
        if obj["kind"] not in CLUSTER_SCOPED:
            metadata.setdefault("namespace", "default")
        found.append(Manifest("chart", obj))
    return found


def differences(changes):
    return {each.path: each.new for each in changes if not each.path.startswith(ASSIGNED)}


async def check(server, plan, found, before):
    """Compare the objects on a server with those that were planned."""
    for manifest, outcome in zip(plans.ordered(found), plan.outcomes, strict=True):
        live = await stored(server, manifest.object)
        changes = fields.changes(before.get(outcome.title), live, manifest.object)
        expected = differences(outcome.changes)
        assert differences(changes) == expected, outcome.title


async def stored(server, obj):
    resource = server.client.resource_of(obj)
    metadata = obj["metadata"]
    path = f"{resource.api_version}/{resource.resource}"
    return await server.client.get(path, metadata["name"], metadata.get("namespace", ""))


async def test_a_chart_is_planned_as_it_is_applied():
    found = manifests(RENDERED.read_text())
    async with (
        APIServer(controllers=False) as server,
        aiohttp.ClientSession(server.url) as session,
    ):
        plan = await plans.plan(await server.snapshot(), found, PlanOptions())
        assert [each.title for each in plan.outcomes] == [
            "Namespace shop-offers", "CustomResourceDefinition offers.shop.example.com",
            "PodDisruptionBudget default/shop", "ServiceAccount default/shop",
            "Secret default/shop", "ConfigMap default/shop", "Role default/shop",
            "RoleBinding default/shop", "Service default/shop", "Deployment default/shop",
            "HorizontalPodAutoscaler default/shop", "Offer shop-offers/autumn",
            "Job default/shop-migrate", "Pod default/shop-reachable",
        ]  # fmt: skip
        assert {each.action for each in plan.outcomes} == {Action.CREATE}
        assert (await plans.apply(plan, session)).problem == ""
        await check(server, plan, found, {})
        plan = await plans.plan(await server.snapshot(), found, PlanOptions())
        assert plan.exit_code == 0


def rendered(helm, values, manifest):
    """Return the output of `helm template --include-crds`."""
    with helm.Chart.load(CHART) as chart:
        crds = [f"# Source: shop/{each['name']}\n{each['data']}" for each in chart.crds]
        files = chart.render(values, name="shop", namespace="default")
    hooks = [
        f"# Source: {name}\n{text.strip()}\n"
        for name, text in files.items()
        if "helm.sh/hook:" in text
    ]
    return "---\n" + "---\n".join([*crds, manifest.removeprefix("---\n"), *hooks])


async def complete(server):
    """Report the Job of a hook as complete: no node runs it."""
    now = "2026-11-20T08:00:00Z"
    conditions = [
        {"type": name, "status": "True", "lastTransitionTime": now, "lastProbeTime": now}
        for name in ("SuccessCriteriaMet", "Complete")
    ]
    status = {"startTime": now, "completionTime": now, "succeeded": 1, "conditions": conditions}
    async for event in server.client.watch(JOB[0], JOB[2]):
        if event.type == "ADDED":
            patch = {"status": status}
            await server.client.patch(*JOB, patch=patch, subresource="status")


@needs_helm
async def test_helm_does_what_was_planned(tmp_path):
    helm = importlib.import_module("helm_python")
    config = tmp_path / "config"
    async with APIServer(controllers=False) as server:
        config.write_text(server.kubeconfig())
        jobs = asyncio.create_task(complete(server))
        with helm.Config(kubeconfig_path=config, namespace="default") as cluster:
            dry = cluster.install(CHART, "shop", {}, dry_run="client")["manifest"]
            assert rendered(helm, {}, dry) == RENDERED.read_text()
            definitions = [
                each
                for each in manifests(RENDERED.read_text())
                if each.object["kind"] == "CustomResourceDefinition"
            ]
            states = {}
            annotations = {
                "meta.helm.sh/release-name": "shop", "meta.helm.sh/release-namespace": "default",
            }  # fmt: skip
            manager = ""
            for action, values in (
                (cluster.install, {}),
                (cluster.upgrade, {"prices": {"bread": 4}, "autoscaling": {"max": 7}}),
                (cluster.upgrade, {"image": {"tag": "2"}, "replicas": 3}),
            ):
                dry = await asyncio.to_thread(action, CHART, "shop", values, dry_run="client")
                found = manifests(dry["manifest"], annotations)
                found += definitions
                options = PlanOptions(field_manager=manager)
                plan = await plans.plan(await server.snapshot(), found, options)
                assert plan.exit_code == 2
                await asyncio.to_thread(action, CHART, "shop", values, timeout=30)
                await check(server, plan, found, states)
                pairs = zip(plan.outcomes, plans.ordered(found), strict=True)
                states = {each.title: await stored(server, one.object) for each, one in pairs}
                web = states["Deployment default/shop"]
                manager = web["metadata"]["managedFields"][0]["manager"]
        jobs.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await jobs
