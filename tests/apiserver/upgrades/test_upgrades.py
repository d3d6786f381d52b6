"""`inkube upgrade`: what 1.36 refuses, warns about and fills in, of objects that 1.31 stored."""

import asyncio
import gzip
import itertools
import json

import pytest
from click.testing import CliRunner

from inkube import APIServer, Options
from inkube.apiserver.cli import main
from inkube.apiserver.dumps import ImportOptions, import_dump
from inkube.apiserver.upgrades.minors import Minors
from inkube.schemas import builtin, offline, releases
from inkube.schemas.meta import GVK

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def pod(name, **spec):
    meta = {"name": name, "namespace": "default"}
    containers = [{"name": "main", "image": "nginx"}]
    head = {"apiVersion": "v1", "kind": "Pod", "metadata": meta}
    return {**head, "spec": {"containers": containers, **spec}}


def with_node_label(value):
    term = {"matchExpressions": [{"key": "a", "operator": "In", "values": [value]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    return {"affinity": {"nodeAffinity": required}}


def with_last_applied(obj):
    annotations = {LAST_APPLIED: json.dumps(obj)}
    return {**obj, "metadata": {**obj["metadata"], "annotations": annotations}}


@pytest.fixture
def rehearsed(tmp_path):
    """`await rehearsed(*objects)`: the exit code and the report of an upgrade to 1.36."""

    async def run(*objects):
        file = tmp_path / "a.db"
        options = Options(kubernetes_version="1.31", controllers=False, modules="none", data=file)
        async with APIServer(options) as server:
            for obj in objects:
                await server.client.create(obj)
        return file

    return run


async def report(file, output="json"):
    command = ["upgrade", "--data", str(file), "--from", "1.31", "--to", "1.36", "-o", output]
    done = await asyncio.to_thread(CliRunner().invoke, main, command)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.output
    return done.exit_code, json.loads(done.output) if output == "json" else done.output


def found(told, code):
    return {each["object"]: each["message"] for each in told["statements"] if each["code"] == code}


async def test_objects_without_a_difference_need_no_statement(rehearsed, config_map):
    file = await rehearsed(config_map("sky", colour="blue"))
    code, told = await report(file)
    assert (code, told["statements"]) == (0, [])
    assert (await report(file, "text"))[1].count("Nothing changes for these objects.") == 1


async def test_what_1_36_refuses_is_named(rehearsed):
    dropped = pod("dropped")
    dropped["spec"]["containers"][0]["securityContext"] = {"procMount": "Bogus"}
    file = await rehearsed(
        pod("odd", **with_node_label("Not Valid!")), with_last_applied(dropped), pod("fine")
    )
    code, told = await report(file)
    assert code == 1
    refused = found(told, "REFUSED_UPDATE") | found(told, "REFUSED_CREATE")
    assert set(refused) == {"Pod default/odd", "Pod default/dropped"}
    assert "a valid label must be an empty string or" in refused["Pod default/odd"]
    assert 'Unsupported value: "Bogus"' in refused["Pod default/dropped"]
    shown = (await report(file, "text"))[1]
    assert shown.startswith("From Kubernetes 1.31 to 1.36: ")
    assert "        Pod default/odd" in shown


async def test_removed_versions_are_named_with_those_who_use_them(tmp_path):
    manager = {
        "manager": "operator", "operation": "Update", "time": "2024-01-01T00:00:00Z",
        "apiVersion": "flowcontrol.apiserver.k8s.io/v1beta3",
        "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:matchingPrecedence": {}}},
    }  # fmt: skip
    flow = {
        "apiVersion": "flowcontrol.apiserver.k8s.io/v1",
        "kind": "FlowSchema",
        "metadata": {"name": "old", "managedFields": [manager]},
        "spec": {
            "priorityLevelConfiguration": {"name": "exempt"}, "matchingPrecedence": 900,
            "distinguisherMethod": {"type": "ByUser"},
        },
    }  # fmt: skip
    hook = {
        "name": "judge.example.com",
        "clientConfig": {"url": "https://127.0.0.1:1/"},
        "failurePolicy": "Ignore",
        "rules": [{
            "apiGroups": ["flowcontrol.apiserver.k8s.io"], "apiVersions": ["v1beta3"],
            "operations": ["*"], "resources": ["*"],
        }],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }  # fmt: skip
    configuration = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "judge"},
        "webhooks": [hook],
    }
    source, file = tmp_path / "dump.json", tmp_path / "dump.db"
    items = [flow, configuration]
    source.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    await import_dump(source, file, ImportOptions(), report=lambda stage, count: None)
    code, told = await report(file)
    removed = [each for each in told["statements"] if each["code"] == "REMOVED_VERSION"]
    assert code == 1
    assert sorted((each["object"], each["message"]) for each in removed) == [
        (
            "FlowSchema old",
            "the field manager operator writes as flowcontrol.apiserver.k8s.io/v1beta3",
        ),
        (
            "ValidatingWebhookConfiguration judge",
            "a rule names flowcontrol.apiserver.k8s.io/v1beta3",
        ),
    ]


async def imported(tmp_path, *objects, **files):
    """Return the data of a dump with these objects and other files."""
    source, file = tmp_path / "dump", tmp_path / "dump.db"
    (source / "cluster-info").mkdir(parents=True)
    items = [{**each, "metadata": {"namespace": "default", **each["metadata"]}} for each in objects]
    (source / "all.json").write_text(
        json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
    )
    for name, value in files.items():
        (source / "cluster-info" / f"{name}.json").write_text(json.dumps(value))
    await import_dump(source, file, ImportOptions(), report=lambda stage, count: None)
    return file


def node(name, version):
    return {
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "namespace": ""},
        "status": {"nodeInfo": {"kubeletVersion": version}},
    }  # fmt: skip


def api_server(version, *arguments):
    found = pod("kube-apiserver-a")
    image = f"registry.k8s.io/kube-apiserver:{version}"
    found["spec"]["containers"] = [
        {"name": "a", "image": image, "command": ["kube-apiserver", *arguments]}
    ]
    return found


def upgraded(file, *options, to="1.36"):
    command = ["upgrade", "--data", str(file), "--to", to, "-o", "json", *options]
    return asyncio.to_thread(CliRunner().invoke, main, command)


async def test_the_version_is_found_in_the_data(tmp_path):
    old = node("a", "v1.32.1"), node("b", "v1.33.4-gke.1"), node("c", "unknown")
    done = await upgraded(await imported(tmp_path / "1", *old))
    told = json.loads(done.stdout)
    assert (told["from"], told["evidence"]) == ("1.33", "the kubelet of Node b")
    done = await upgraded(await imported(tmp_path / "2", *old, api_server("v1.34.0")))
    assert json.loads(done.stdout)["evidence"] == "the image of Pod kube-apiserver-a"
    version = {"info": {"major": "1", "minor": "35+", "gitVersion": "v1.35.2+k3s1"}}
    done = await upgraded(await imported(tmp_path / "3", *old, cluster_version=version))
    told = json.loads(done.stdout)
    assert (told["from"], told["evidence"]) == ("1.35", "the dump dump")
    shift = {
        "apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion",
        "metadata": {"name": "version", "namespace": ""},
        "status": {"desired": {"version": "4.19.3"}},
    }  # fmt: skip
    done = await upgraded(await imported(tmp_path / "4", shift, *old))
    told = json.loads(done.stdout)
    assert (told["from"], told["evidence"]) == ("1.32", "ClusterVersion 4.19.3")


async def test_an_unknown_version_is_an_error_that_names_the_option(tmp_path, config_map):
    done = await upgraded(await imported(tmp_path / "1", config_map("a")))
    assert (done.exit_code, done.stderr) == (
        1, "Error: the data does not say its version of Kubernetes: name it with --from\n",
    )  # fmt: skip
    file = await imported(tmp_path / "2", node("a", "v1.27.3"))
    done = await upgraded(file)
    assert done.exit_code == 1
    assert "1.27 (the kubelet of Node a), which inkube does not know: --from 1.31" in done.stderr
    assert (await upgraded(file, "--from", "1.31")).exit_code == 0
    done = await upgraded(file, "--from", "1.36")
    assert "1.36 is not later than 1.36" in done.stderr


async def test_feature_gates_of_the_cluster_hold_in_both_minors(rehearsed, tmp_path):
    dropped = pod("dropped")
    dropped["spec"]["containers"][0]["securityContext"] = {"procMount": "Bogus"}
    file = await rehearsed(with_last_applied(dropped))
    told = json.loads((await upgraded(file, "--from", "1.31")).stdout)
    assert found(told, "REFUSED_CREATE").keys() == {"Pod default/dropped"}
    assert {"name": "ProcMountType", "old": False, "new": True, "own": None} in told["gates"]
    done = await upgraded(
        file, "--from", "1.31", "--feature-gates", "ProcMountType=false,Other=true"
    )
    told = json.loads(done.stdout)
    assert found(told, "REFUSED_CREATE") == {}
    assert {"name": "ProcMountType", "old": False, "new": True, "own": False} in told["gates"]
    assert {"name": "Other", "old": None, "new": None, "own": True} in told["gates"]
    file = await imported(tmp_path, api_server("v1.31.0", "--feature-gates=ImageVolume=true"))
    told = json.loads((await upgraded(file)).stdout)
    assert {"name": "ImageVolume", "old": False, "new": True, "own": True} in told["gates"]
    done = await upgraded(file, "--feature-gates", "ImageVolume")
    assert "'ImageVolume' is not a feature gate such as SomeGate=true" in done.stderr


async def test_requests_of_audit_logs_are_judged(tmp_path, web_of):
    policy, log = tmp_path / "policy.yaml", tmp_path / "audit.log"
    policy.write_text("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Request}]\n")
    options = Options(
        kubernetes_version="1.31", controllers=False, modules="none", data=tmp_path / "a.db",
        audit_log=log, audit_policy_file=policy,
    )  # fmt: skip
    flows = "/apis/flowcontrol.apiserver.k8s.io/v1beta3/flowschemas"
    pods = "/api/v1/namespaces/default/pods"
    async with APIServer(options) as server, web_of(server) as web:
        await web.ask("GET", flows)
        await web.ask("GET", flows)
        made = await web.ask("POST", pods, pod("gone", **with_node_label("Not Valid!")))
        assert made.code == 201
        await web.ask("POST", pods, pod("fine"))
        await web.ask("DELETE", f"{pods}/gone")
    with log.open("a") as stream:
        stream.write("no event\n[]\n")
        odd = {"kind": "Event", "apiVersion": "audit.k8s.io/v1", "user": "x", "verb": "get"}
        stream.write(json.dumps({**odd, "objectRef": {"resource": 5}}) + "\n")
    packed = tmp_path / "audit.log.gz"
    packed.write_bytes(gzip.compress(log.read_bytes()))
    for each in (log, packed):
        done = await upgraded(tmp_path / "a.db", "--from", "1.31", "--audit-log", str(each))
        told = json.loads(done.stdout)
        assert done.exit_code == 1
        ((who, what),) = found(told, "REMOVED_VERSION").items()
        assert what == "flowcontrol.apiserver.k8s.io/v1beta3 flowschemas is requested"
        assert "): 2 requests (list)" in who
        ((who, what),) = found(told, "REFUSED_REQUEST").items()
        assert who.startswith("create pods default/gone by ")
        assert "a valid label must be an empty string or" in what
        assert told["notes"] == [f"{each}: 3 lines are no audit events"]
        assert told["requests"] == 5


async def test_requests_whose_objects_are_not_stored_are_judged(rehearsed, tmp_path):
    spec = {"user": "ann", "resourceAttributes": {"verb": "list", "fieldSelector": {}}}
    review = {
        "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
        "metadata": {"creationTimestamp": None}, "spec": spec,
    }  # fmt: skip
    event = {
        "kind": "Event", "apiVersion": "audit.k8s.io/v1", "verb": "create", "requestObject": review,
        "user": {"username": "operator"}, "responseStatus": {"code": 201},
        "objectRef": {
            "resource": "subjectaccessreviews", "apiGroup": "authorization.k8s.io",
            "apiVersion": "v1",
        },
    }  # fmt: skip
    log = tmp_path / "audit.log"
    log.write_text(json.dumps(event))
    done = await upgraded(await rehearsed(), "--from", "1.31", "--audit-log", str(log))
    ((who, what),) = found(json.loads(done.stdout), "REFUSED_REQUEST").items()
    assert who == "create subjectaccessreviews  by operator"
    assert "spec.resourceAttributes.fieldSelector.requirements: " in what


async def test_a_manifest_that_cannot_be_applied_again_is_named(rehearsed):
    """1.34 drops a field, with which 1.36 can create an object, but not change it."""
    applied = pod("named", hostnameOverride="other")
    code, told = await report(await rehearsed(with_last_applied(applied)))
    assert code == 1
    refused = found(told, "REFUSED_APPLY")
    assert "pod updates may not change fields other than" in refused["Pod default/named"]


def test_removals_agree_with_discovery():
    """Where discovery knows a version, the table of removals says the same."""
    known = [each.minor for each in releases.RECORDED]
    for old, new in itertools.combinations(known, 2):
        kinds = [
            {
                GVK(each.group, version.name, each.names.kind)
                for each in builtin.definitions(minor)
                for version in each.versions
            }
            for minor in (old, new)
        ]
        for gvk in kinds[0]:
            removal = offline.removal_of(gvk)
            is_gone = gvk not in kinds[1]
            assert Minors(old, new).ends(gvk) == is_gone
            assert is_gone == (removal is not None and removal.is_between(old, new)), gvk
    address = GVK("networking.k8s.io", "v1", "IPAddress")
    assert Minors(36, 31).ends(address)
    assert not Minors(31, 36).ends(address)
