"""`inkube upgrade`: what 1.36 refuses, warns about and fills in, of objects that 1.31 stored."""

import asyncio
import json

import pytest
from click.testing import CliRunner

from inkube import APIServer, Options
from inkube.apiserver.cli import main
from inkube.apiserver.dumps import ImportOptions, import_dump

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
    assert (await report(file, "text"))[1].endswith("Nothing changes for these objects.\n")


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
