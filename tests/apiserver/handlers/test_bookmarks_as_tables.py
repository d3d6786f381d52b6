"""A bookmark in a watch of Tables is the row of an object that has nothing but its version."""

import asyncio
import json

import pytest

pytestmark = pytest.mark.asyncio(loop_scope="module")
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
QUERY = (
    "watch=1&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
    "&timeoutSeconds=1&labelSelector=none%3Dat-all"
)
CELLS = """
apiservices:|Local|Unknown|<unknown>
certificatesigningrequests:|<unknown>|<none>||<none>|Pending
clusterrolebindings:|/|<unknown>|||
clusterroles:|0001-01-01T00:00:00Z
configmaps:|0|<unknown>
controllerrevisions:|<none>|0|<unknown>
cronjobs:||<none>|<unset>|0|<none>|<unknown>|||<none>
csidrivers:|true|false|false|<unset>|false|<none>|<unknown>
csinodes:|0|<unknown>
csistoragecapacities:|0001-01-01T00:00:00Z
customresourcedefinitions:|0001-01-01T00:00:00Z
daemonsets:|0|0|0|0|0|<none>|<unknown>|||<none>
deployments:|0/0|0|0|<unknown>|||
deviceclasses:|<unknown>
endpoints:|<none>|<unknown>
endpointslices:||<unset>|<unset>|<unknown>
events:<unknown>|||||||<unknown>|1|
flowschemas:||0|<none>|<unknown>|?
horizontalpodautoscalers:|/|<none>|<unset>|0|0|<unknown>
ingressclasses:||<none>|<unknown>
ingresses:|<none>|*||80|<unknown>
ipaddresses:|<none>|<unknown>
jobs:|Running|0/1||<unknown>|||<none>
leases:||<unknown>
limitranges:|0001-01-01T00:00:00Z
mutatingadmissionpolicies:|0|<unset>|<unknown>
mutatingadmissionpolicybindings:||<unset>|<unknown>
mutatingwebhookconfigurations:|0|<unknown>
namespaces:||<unknown>
networkpolicies:|<none>|<unknown>
nodes:|Unknown|<none>|<unknown>||<none>|<none>|<unknown>|<unknown>|<unknown>
persistentvolumeclaims:||||||<unset>|<unknown>|<unset>
persistentvolumes:|0||||||<unset>||<unknown>|<unset>
poddisruptionbudgets:|N/A|N/A|0|<unknown>
pods:|0/0||0|<unknown>|<none>|<none>|<none>|<none>
podtemplates:|||<none>
priorityclasses:|0|false|<unknown>|
prioritylevelconfigurations:||<none>|<none>|<none>|<none>|<unknown>
replicasets:|0|0|0|<unknown>|||<none>
replicationcontrollers:|0|0|0|<unknown>|||<none>
resourceclaims:|pending|<unknown>
resourceclaimtemplates:|<unknown>
resourcequotas:|||<unknown>
resourceslices:||||<unknown>
rolebindings:|/|<unknown>|||
roles:|0001-01-01T00:00:00Z
runtimeclasses:||<unknown>
secrets:||0|<unknown>
serviceaccounts:|<unknown>
servicecidrs:||<unknown>
services:||<none>|<unknown>|<none>|<unknown>|<none>
statefulsets:|0/0|<unknown>||
storageclasses:||Delete|Immediate|false|<unknown>
validatingadmissionpolicies:|0|<unset>|<unknown>
validatingadmissionpolicybindings:||<unset>|<unknown>
validatingwebhookconfigurations:|0|<unknown>
volumeattachments:||||false|<unknown>
volumeattributesclasses:||<unknown>
"""
"""The cells that kube-apiserver writes for each kind."""
EXPECTED = dict(line.split(":", 1) for line in CELLS.strip().splitlines())


async def test_a_bookmark_of_every_kind_is_the_row_of_an_empty_object(web):
    versions = ["/api/v1"]
    for group in (await web.ask("GET", "/apis")).json["groups"]:
        versions += [f"/apis/{each['groupVersion']}" for each in group["versions"]]
    paths = [
        f"{version}/{each['name']}"
        for version in versions
        for each in (await web.ask("GET", version)).json["resources"]
        if "watch" in each["verbs"]
    ]
    assert len(paths) > 60
    answers = await asyncio.gather(
        *(web.ask("GET", f"{path}?{QUERY}", Accept=TABLE) for path in paths)
    )
    for path, answer in zip(paths, answers, strict=True):
        event = json.loads(answer.body.splitlines()[-1])
        assert event["type"] == "BOOKMARK"
        shown, [row] = event["object"], event["object"]["rows"]
        found = [each if isinstance(each, str) else json.dumps(each) for each in row["cells"]]
        nothing = ["", *["null"] * (len(shown["columnDefinitions"]) - 1)]  # of other kinds
        wanted = None if "grafana" in path else EXPECTED.get(path.rpartition("/")[2])
        assert found == (nothing if wanted is None else wanted.split("|")), path
        meta = row["object"]["metadata"]
        assert meta["annotations"] == {"k8s.io/initial-events-end": "true"}
        assert meta["resourceVersion"] == shown["metadata"]["resourceVersion"]


SPECS = {
    "v1/replicationcontrollers": {},
    "apps/v1/deployments": {
        "replicas": 0, "selector": None, "strategy": {},
        "template": {"metadata": {}, "spec": {"containers": None}},
    },
    "apps/v1/daemonsets": {
        "selector": None, "updateStrategy": {},
        "template": {"metadata": {}, "spec": {"containers": None}},
    },
    "apps/v1/statefulsets": {
        "replicas": 0, "selector": None, "serviceName": "", "updateStrategy": {},
        "template": {"metadata": {}, "spec": {"containers": None}},
    },
}  # fmt: skip


async def test_a_bookmark_is_the_zero_value_of_the_internal_type(web):
    """It has the numbers for which v1 has pointers, and no defaults."""
    paths = [f"/{'api' if kind.startswith('v1/') else 'apis'}/{kind}" for kind in SPECS]
    answers = await asyncio.gather(*(web.ask("GET", f"{path}?{QUERY}") for path in paths))
    events = [json.loads(answer.body.splitlines()[-1]) for answer in answers]
    assert [event["object"]["spec"] for event in events] == list(SPECS.values())
    end = {"k8s.io/initial-events-end": "true"}
    made = {"deprecated.daemonset.template.generation": "0"}  # by the conversion to v1
    for kind, event in zip(SPECS, events, strict=True):
        own = made if kind.endswith("daemonsets") else {}
        assert event["object"]["metadata"]["annotations"] == {**end, **own}


async def test_the_row_at_the_end_of_initial_events_always_has_the_annotation(web):
    path = f"/api/v1/services?{QUERY}&includeObject=None"
    event = json.loads((await web.ask("GET", path, Accept=TABLE)).body.splitlines()[-1])
    [row] = event["object"]["rows"]
    assert row["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
