"""The kubectl commands that change a Deployment."""

import copy
import json

import pytest

VERSIONS = ("1.33", "1.32", "1.31", "1.30", "1.29", "1.28", "1.27")
WEB = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "labels": {"app": "web"}},
    "spec": {
        "replicas": 2,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {
                "containers": [
                    {"name": "web", "image": "nginx:1", "ports": [{"containerPort": 80}]}
                ]
            },
        },
    },
}


def with_image(image):
    changed = copy.deepcopy(WEB)
    changed["spec"]["template"]["spec"]["containers"][0]["image"] = image
    return changed


@pytest.fixture
def kubectl(find_kubectl):
    return find_kubectl(*VERSIONS)


@pytest.fixture
def web(kubectl, served):
    """Apply a Deployment; returns a function that reads it."""
    kubectl("apply", "-f", "-", document=WEB)
    return lambda: served.client.get("apps/v1/deployments", "web")


def image(obj):
    return obj["spec"]["template"]["spec"]["containers"][0]["image"]


def test_set_image_changes_the_container_and_the_generation(kubectl, web):
    assert kubectl("set", "image", "deploy/web", "web=nginx:2") == (
        "deployment.apps/web image updated\n"
    )
    assert (image(web()), web()["metadata"]["generation"]) == ("nginx:2", 2)


def test_scale_respects_the_current_replicas(kubectl, web):
    kubectl("scale", "deploy/web", "--replicas=5", "--current-replicas=2")
    assert web()["spec"]["replicas"] == 5
    refused = kubectl("scale", "deploy/web", "--replicas=1", "--current-replicas=2", code=1)
    assert "Expected replicas to be 2, was 5" in refused


def test_a_scale_prints_as_a_table(kubectl, web):
    shown = kubectl("get", "deploy/web", "--subresource=scale").splitlines()
    assert [line.split()[:3] for line in shown] == [
        ["NAME", "DESIRED", "AVAILABLE"],
        ["web", "2", "0"],
    ]


def test_labels_and_annotations_are_added_and_removed(kubectl, web):
    kubectl("label", "deploy/web", "tier=front")
    kubectl("annotate", "deploy/web", "note=seen")
    meta = web()["metadata"]
    assert (meta["labels"], meta["annotations"]["note"]) == (
        {"app": "web", "tier": "front"},
        "seen",
    )
    assert "already has a value" in kubectl("label", "deploy/web", "tier=back", code=1)
    kubectl("label", "deploy/web", "tier-")
    assert web()["metadata"]["labels"] == {"app": "web"}


def test_kubectl_replace_removes_members_that_the_file_does_not_have(kubectl, web):
    kubectl("label", "deploy/web", "tier=front")
    kubectl("replace", "-f", "-", document=with_image("nginx:3"))
    assert (image(web()), web()["metadata"]["labels"]) == ("nginx:3", {"app": "web"})


def test_edit_sends_the_difference(kubectl, web):
    kubectl("edit", "deploy/web", KUBE_EDITOR="sed -i s/nginx:1/nginx:4/")
    assert image(web()) == "nginx:4"
    managers = [each["manager"] for each in web()["metadata"]["managedFields"]]
    assert "kubectl-edit" in managers


def test_diff_shows_what_apply_would_change(kubectl, web):
    shown = kubectl("diff", "-f", "-", document=with_image("nginx:5"), code=1)
    assert "-      - image: nginx:1" in shown
    assert "+      - image: nginx:5" in shown
    assert image(web()) == "nginx:1"
    assert kubectl("diff", "-f", "-", document=WEB) == ""


def test_server_side_apply_conflicts_until_it_is_forced(kubectl, web):
    kubectl("set", "image", "deploy/web", "web=nginx:6")
    apply = ("apply", "--server-side", "-f", "-")
    refused = kubectl(*apply, document=with_image("nginx:7"), code=1)
    assert '"kubectl-set" using apps/v1' in refused
    assert '.spec.template.spec.containers[name="web"].image' in refused
    kubectl(*apply, "--force-conflicts", document=with_image("nginx:7"))
    assert image(web()) == "nginx:7"


def test_kubectl_apply_removes_members_that_only_the_last_apply_had(kubectl, web):
    less = copy.deepcopy(WEB)
    del less["spec"]["template"]["spec"]["containers"][0]["ports"]
    assert kubectl("apply", "-f", "-", document=less) == "deployment.apps/web configured\n"
    assert "ports" not in web()["spec"]["template"]["spec"]["containers"][0]
    assert kubectl("apply", "-f", "-", document=less) == "deployment.apps/web unchanged\n"


def test_the_patch_types_of_kubectl_agree(kubectl, web):
    strategic = {"spec": {"template": {"spec": {"containers": [{"name": "side", "image": "s"}]}}}}
    kubectl("patch", "deploy/web", "-p", json.dumps(strategic))
    kubectl("patch", "deploy/web", "--type=merge", "-p", '{"spec":{"replicas":3}}')
    step = [{"op": "replace", "path": "/spec/paused", "value": True}]
    kubectl("patch", "deploy/web", "--type=json", "-p", json.dumps(step))
    spec = web()["spec"]
    names = [each["name"] for each in spec["template"]["spec"]["containers"]]
    assert (names, spec["replicas"], spec["paused"]) == (["side", "web"], 3, True)


def test_a_create_owns_no_structs_that_go_always_has(kubectl, web):
    [entry] = web()["metadata"]["managedFields"]
    spec = entry["fieldsV1"]["f:spec"]
    assert "." not in spec
    assert "." not in spec["f:template"]["f:spec"]["f:containers"]
    assert spec["f:strategy"]["f:rollingUpdate"] == {
        ".": {},
        "f:maxSurge": {},
        "f:maxUnavailable": {},
    }


def test_a_job_moves_to_server_side_apply(kubectl, served):
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "once"},
        "spec": {
            "template": {
                "spec": {"restartPolicy": "Never", "containers": [{"name": "a", "image": "b"}]}
            }
        },
    }
    kubectl("apply", "-f", "-", document=job)
    labels = served.client.get("batch/v1/jobs", "once")["spec"]["template"]["metadata"]["labels"]
    kubectl("apply", "--server-side", "-f", "-", document=job)
    after = served.client.get("batch/v1/jobs", "once")
    assert after["spec"]["template"]["metadata"]["labels"] == labels
    managers = {each["manager"] for each in after["metadata"]["managedFields"]}
    assert managers == {"kubectl", "kubectl-last-applied"}


def test_a_claim_template_is_a_volume_of_a_stateful_set(kubectl):
    stateful = copy.deepcopy(WEB) | {"kind": "StatefulSet"}
    stateful["spec"]["volumeClaimTemplates"] = [
        {
            "metadata": {"name": "data"},
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "1Gi"}},
            },
        }
    ]
    container = stateful["spec"]["template"]["spec"]["containers"][0]
    container["volumeMounts"] = [{"name": "data", "mountPath": "/data"}]
    assert kubectl("apply", "-f", "-", document=stateful) == "statefulset.apps/web created\n"
    container["volumeMounts"].append({"name": "none", "mountPath": "/none"})
    refused = kubectl("apply", "-f", "-", document=stateful, code=1)
    assert 'volumeMounts[1].name: Not found: "none"' in refused
