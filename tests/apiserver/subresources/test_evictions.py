"""An eviction writes its reason to the pod's status, with or without a disruption budget.

Follows addConditionAndDeletePod of pkg/registry/core/pod/storage/eviction.go.
"""

import pytest

pytestmark = pytest.mark.asyncio(loop_scope="module")
PODS = "/api/v1/namespaces/default/pods"


@pytest.mark.parametrize("phase", ["Pending", "Running", "Succeeded", "Failed"])
@pytest.mark.parametrize("dry_run", [False, True])
async def test_every_evicted_pod_has_the_condition(web, phase, dry_run):
    name = f"p-{phase}-{dry_run}".lower()
    meta = {"name": name, "finalizers": ["example.com/wait"]}
    spec = {"nodeName": "n", "containers": [{"name": "c", "image": "i"}]}
    await web.ask("POST", PODS, {"metadata": meta, "spec": spec})
    await web.patch(f"{PODS}/{name}/status", {"status": {"phase": phase}})
    options = {"dryRun": ["All"]} if dry_run else {}
    eviction = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": name},
        "deleteOptions": options,
    }
    query = "?dryRun=All" if dry_run else ""
    assert (await web.ask("POST", f"{PODS}/{name}/eviction{query}", eviction)).code == 201
    pod = (await web.ask("GET", f"{PODS}/{name}")).json
    assert pod["status"]["phase"] == phase
    conditions = {each["type"]: each for each in pod["status"].get("conditions", ())}
    marked = conditions.get("DisruptionTarget", {}).get("reason") == "EvictionByEvictionAPI"
    assert marked is not dry_run
    assert ("deletionTimestamp" in pod["metadata"]) is not dry_run
