"""`inkube plan`: outcomes, output, exit codes."""

import gzip
import json

import boats
import pytest
import yaml
from click.testing import CliRunner

from inkube import APIServer
from inkube.apiserver.cli import main

_WHEELS = {"type": "object", "properties": {"wheels": {"type": "integer", "maximum": 4}}}
CRD = boats.definition({"type": "object", "properties": {"spec": _WHEELS}}, "Car")


def car(wheels):
    meta = {"name": "herbie", "namespace": "garage"}
    head = {"apiVersion": "example.com/v1", "kind": "Car", "metadata": meta}
    return {**head, "spec": {"wheels": wheels}}


def namespace(name, **labels):
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


def job(image):
    template = {
        "spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": image}]}
    }
    meta = {"name": "once", "namespace": "default"}
    head = {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta}
    return {**head, "spec": {"template": template}}


@pytest.fixture
async def data(tmp_path, config_map):
    """The data of a cluster with a ConfigMap, a Job, a Secret and a webhook."""
    hook = {
        "name": "judge.example.com",
        "clientConfig": {"url": "https://127.0.0.1:1/"},
        "rules": [
            {
                "apiGroups": [""],
                "apiVersions": ["v1"],
                "operations": ["*"],
                "resources": ["configmaps"],
            }
        ],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    async with APIServer(data=tmp_path / "a.db", controllers=False) as server:
        client = server.client
        await client.create(job("busybox"))
        sky = config_map("sky", colour="blue")
        await client.patch(
            "v1/configmaps", "sky", "default", patch=sky, type="apply", field_manager="kubectl"
        )
        other = {**config_map("sky", depth="deep"), "data": {"depth": "deep"}}
        await client.patch(
            "v1/configmaps", "sky", "default", patch=other, type="apply", field_manager="helm"
        )
        secret = {**config_map("key"), "kind": "Secret", "data": {"a": "Yg=="}}
        secret["metadata"]["labels"] = {"app": "old"}
        await client.create(secret)
        await client.create({
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": "judge"},
            "webhooks": [hook],
        })  # fmt: skip
    return tmp_path / "a.db"


@pytest.fixture
def planned(data, tmp_path):
    """`planned(*objects, "--option")`: the exit code, and the plan as JSON or another text."""

    def run(*arguments, output="json"):
        objects = [each for each in arguments if isinstance(each, dict)]
        options = [each for each in arguments if isinstance(each, str)]
        file = tmp_path / "set.yaml"
        file.write_text(yaml.safe_dump_all(objects))
        before = data.read_bytes()
        command = ["plan", "-f", str(file), "--data", str(data), "-o", output, *options]
        done = CliRunner().invoke(main, command)
        assert data.read_bytes() == before
        assert done.exception is None or isinstance(done.exception, SystemExit), done.output
        return done.exit_code, json.loads(done.output) if output == "json" else done.output

    return run


def actions(plan):
    return {each["name"]: each["action"] for each in plan["objects"]}


# https://github.com/kubernetes/kubernetes/issues/83562
def test_a_set_can_contain_the_namespace_of_its_objects(planned, config_map):
    obj = config_map("a", b="c")
    obj["metadata"]["namespace"] = "new"
    code, plan = planned(obj, namespace("new"))
    assert (code, actions(plan)) == (2, {"new": "create", "a": "create"})


# https://github.com/kubernetes/kubectl/issues/711
def test_a_set_can_contain_the_definition_of_its_objects(planned):
    code, plan = planned(car(4), CRD, namespace("garage"))
    assert (code, actions(plan)) == (
        2, {"garage": "create", "cars.example.com": "create", "herbie": "create"},
    )  # fmt: skip
    code, plan = planned(car(5), CRD, namespace("garage"))
    assert (code, actions(plan)["herbie"]) == (1, "refused")
    message = plan["objects"][-1]["message"]
    assert "spec.wheels in body should be less than or equal to 4" in message


def test_a_change_names_its_fields_and_no_others(planned, config_map):
    code, plan = planned(config_map("sky", colour="grey"))
    (found,) = plan["objects"]
    assert (code, found["action"]) == (2, "change")
    assert found["changes"] == [{"path": "data.colour", "old": "blue", "new": "grey"}]
    assert found["webhooks"] == ["judge.example.com"]


def test_a_plan_without_changes_has_exit_code_0(planned, config_map):
    code, plan = planned(config_map("sky", colour="blue"))
    assert (code, actions(plan)) == (0, {"sky": "unchanged"})
    assert planned(config_map("sky", colour="blue"), output="text") == (
        0, "Plan: 1 unchanged.\n",
    )  # fmt: skip


def test_conflicts_name_the_owners(planned, config_map):
    wanted = config_map("sky", colour="blue", depth="flat")
    code, plan = planned(wanted)
    (found,) = plan["objects"]
    assert (code, found["action"]) == (1, "conflict")
    assert found["conflicts"] == [{"field": ".data.depth", "manager": "helm"}]
    assert planned(wanted, "--force-conflicts")[0] == 2


def test_immutable_fields_need_a_replacement(planned):
    code, plan = planned(job("nginx"), "--force-conflicts")
    assert (code, actions(plan)) == (1, {"once": "replace"})
    assert "field is immutable" in plan["objects"][0]["message"]


def test_rbac_judges_a_user(planned, config_map):
    code, plan = planned(config_map("a"), "--as", "ann")
    assert (code, actions(plan)) == (1, {"a": "refused"})
    assert 'User "ann" cannot' in plan["objects"][0]["message"]
    assert planned(config_map("a"), "--as", "ann", "--as-group", "system:masters")[0] == 2


def test_objects_with_labels_are_pruned(planned, config_map):
    code, plan = planned(config_map("sky", colour="blue"), "--prune", "app=old")
    assert code == 2
    assert actions(plan) == {"sky": "unchanged", "key": "delete"}


def test_secrets_are_hidden(planned, config_map):
    secret = {**config_map("key"), "kind": "Secret", "data": {"a": "Yw=="}}
    code, shown = planned(secret, "--force-conflicts", output="text")
    assert code == 2
    assert "~ data.a: <hidden> -> <hidden>" in shown
    assert "Yw==" not in planned(secret, "--force-conflicts", output="markdown")[1]
    assert "Yw==" in planned(secret, "--force-conflicts", "--show-secrets", output="text")[1]


def test_the_text_reads_like_a_plan(planned, config_map):
    code, shown = planned(
        namespace("new"),
        config_map("sky", colour="grey"),
        job("nginx"),
        "--force-conflicts",
        output="text",
    )
    assert code == 1
    assert shown.splitlines()[:5] == [
        "+ Namespace new will be created",
        '    + apiVersion: "v1"',
        '    + kind: "Namespace"',
        '    + metadata.name: "new"',
        "",
    ]
    assert "~ ConfigMap default/sky will be changed" in shown
    assert '    ~ data.colour: "blue" -> "grey"' in shown
    assert "    the webhook judge.example.com would be asked" in shown
    assert shown.splitlines()[-1] == "Plan: 1 to create, 1 to change, 1 to replace."


@pytest.mark.parametrize("broken", [{"metadata": "sky"}, {"apiVersion": 5}])
def test_an_object_that_no_server_can_read_is_named(broken, data, tmp_path, config_map):
    file = tmp_path / "broken.json"
    file.write_text(json.dumps({**config_map("sky"), **broken}))
    done = CliRunner().invoke(main, ["plan", "-f", str(file), "--data", str(data)])
    assert done.exit_code == 1
    assert "broken.json: " in done.stderr
    assert "apiVersion must be a text, and metadata an object" in done.stderr


def test_the_error_of_a_plan_without_data_names_the_options(tmp_path, config_map):
    file, data = tmp_path / "sky.json", tmp_path / "missing.db"
    file.write_text(json.dumps(config_map("sky")))
    done = CliRunner().invoke(main, ["plan", "-f", str(file), "--data", str(data)])
    assert done.exit_code == 1
    assert "missing.db: no such file; name the cluster with --data FILE or" in done.stderr


def test_objects_are_read_from_compressed_files_and_from_standard_input(data, tmp_path, config_map):
    text = json.dumps(config_map("sky"))
    (tmp_path / "a.json.gz").write_bytes(gzip.compress(text.encode()))
    for name, given in ((str(tmp_path / "a.json.gz"), b""), ("-", text.encode("utf-16"))):
        done = CliRunner().invoke(main, ["plan", "-f", name, "--data", str(data)], input=given)
        assert "ConfigMap default/sky" in done.stdout, done.stderr
    done = CliRunner().invoke(main, ["plan", "-f", "missing.yaml", "--data", str(data)])
    assert (done.exit_code, done.stderr) == (1, "Error: missing.yaml: no such file or folder\n")
