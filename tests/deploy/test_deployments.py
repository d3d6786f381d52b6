"""deploy/: the compose file, the Kubernetes manifest and the systemd unit."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pages
import patience
import pytest
import yaml

DEPLOY = pages.ROOT / "deploy"
MANIFEST = list(yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text()))
UNIT = (DEPLOY / "inkube.service").read_text()
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text())

VOLUME = {
    "apiVersion": "v1",
    "kind": "PersistentVolume",
    "metadata": {"name": "disk"},
    "spec": {
        "accessModes": ["ReadWriteOnce"],
        "capacity": {"storage": "1Gi"},
        "hostPath": {"path": "/disk"},
    },
}
"""Volumes are bound here, never provisioned."""


def named(kind: str):
    (found,) = [each for each in MANIFEST if each["kind"] == kind]
    return found


def test_every_file_that_compose_mounts_exists():
    assert (DEPLOY / COMPOSE["services"]["inkube"]["build"] / "Dockerfile").exists()
    for volume in COMPOSE["services"]["frontend"]["volumes"]:
        assert (DEPLOY / volume.split(":")[0]).exists(), volume


def test_compose_runs_the_server_with_a_read_only_root_and_its_data_in_a_volume():
    server = COMPOSE["services"]["inkube"]
    assert server["read_only"] is True
    assert server["cap_drop"] == ["ALL"]
    assert server["volumes"] == ["data:/data"]
    assert set(COMPOSE["volumes"]) == {"data"}
    front = COMPOSE["services"]["frontend"]
    assert front["depends_on"]["inkube"] == {"condition": "service_healthy"}


def test_the_web_server_forwards_every_path_of_the_page():
    text = (DEPLOY / "frontend/default.conf.template").read_text()
    (pattern,) = re.findall(r"location ~ (\S+) \{", text)
    assert text.count("{") == text.count("}")
    for path in ("/apis", "/apis/provisioning.grafana.app/v0alpha1", "/api/v1", "/version"):
        assert re.match(pattern, path)
    for path in ("/", "/index.html", "/lib/page.js", "/apiary"):
        assert not re.match(pattern, path)


def test_the_manifest_is_valid():
    done = subprocess.run(
        [sys.executable, "-m", "inkube", "validate", "--strict", DEPLOY / "kubernetes.yaml"],
        capture_output=True, text=True, timeout=patience.SECONDS, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, f"{len(MANIFEST)} documents, 0 errors\n")


@pytest.mark.kube_workloads
def test_the_manifest_rolls_out(kube):
    kube.client.create(VOLUME)
    for each in MANIFEST:
        kube.client.create(each)
    kube.settled()
    assert kube.client.get("apps/v1/deployments", "inkube")["status"]["availableReplicas"] == 1
    [address] = kube.client.list("discovery.k8s.io/v1/endpointslices", "default")[-1]["endpoints"]
    assert address["conditions"]["ready"] is True


def test_the_pod_is_restricted_as_the_image_expects():
    pod = named("Deployment")["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    (user,) = re.findall(r"^USER (\d+)", (pages.ROOT / "Dockerfile").read_text(), re.MULTILINE)
    assert pod["securityContext"]["runAsUser"] == int(user)
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    assert container["volumeMounts"] == [{"name": "data", "mountPath": "/data"}]
    (port,) = named("Service")["spec"]["ports"]
    assert port["port"] == container["ports"][0]["containerPort"]


def test_systemd_finds_nothing_wrong_with_the_unit(tmp_path: Path):
    if (tool := shutil.which("systemd-analyze")) is None:
        pytest.skip("systemd-analyze is not installed")
    program = tmp_path / "inkube"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    unit = tmp_path / "inkube.service"
    unit.write_text(UNIT.replace("/opt/inkube/bin/inkube", str(program)))
    done = subprocess.run(
        [tool, "verify", "--man=no", unit],
        capture_output=True, text=True, timeout=patience.SECONDS, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


def test_the_command_of_the_unit_is_one_of_inkube_and_writes_into_its_state_directory():
    (command,) = re.findall(r"^ExecStart=(.*)$", UNIT, re.MULTILINE)
    _, verb, *arguments = command.split()
    assert verb == "serve"
    (state,) = re.findall(r"^StateDirectory=(.*)$", UNIT, re.MULTILINE)
    for option, value in zip(arguments[::2], arguments[1::2], strict=True):
        assert option in ("--data", "--kubeconfig")
        assert value.startswith(f"/var/lib/{state}/")
