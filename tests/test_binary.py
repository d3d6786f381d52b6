"""`make binary`: the executable works like inkube on a machine without Python."""

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path

import boats
import pytest
from patience import SECONDS
from served import Served

ROOT = Path(__file__).parents[1]
BINARY = ROOT / "dist" / ("inkube.exe" if sys.platform == "win32" else "inkube")
NOTHING = {name: os.environ[name] for name in ("SYSTEMROOT", "TEMP") if name in os.environ}
"""An environment without PATH, so without Python. Windows itself needs two variables."""
SPEC = {
    "type": "object",
    "properties": {"seats": {"type": "integer"}, "sails": {"type": "integer", "default": 1}},
    "x-kubernetes-validations": [
        {"rule": "self.seats >= self.sails", "message": "a sail takes a sailor"}
    ],
}
CRD = boats.definition({"type": "object", "properties": {"spec": SPEC}})
BOATS = "/apis/example.com/v1/namespaces/default/boats"
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "one", "namespace": "default"},
    "spec": {"containers": [{"name": "main", "image": "any"}]},
}
RUNNING = "/api/v1/namespaces/default/pods?watch=true&fieldSelector=status.phase%3DRunning"


def boat(name: str, seats: int):
    return {
        "apiVersion": "example.com/v1",
        "kind": "Boat",
        "metadata": {"name": name},
        "spec": {"seats": seats},
    }


@pytest.fixture(scope="module")
def binary():
    if not BINARY.exists():
        pytest.skip("make binary was not run")
    made = BINARY.stat().st_mtime
    folders = [ROOT / name for name in ("apiserver", "controllers", "schemas", "storage")]
    files = [path for folder in folders for path in folder.rglob("*") if path.suffix != ".pyc"]
    if any(path.stat().st_mtime > made for path in files if path.is_file()):
        pytest.skip("make binary was not run after the last change")
    return BINARY


def serving(binary: Path, folder: Path, *arguments: str) -> Served:
    """Return the executable as a server with its data in the folder."""
    more = ["--data", str(folder / "data.db"), *arguments]
    return Served(folder, *more, program=[str(binary)], environment=NOTHING)


@pytest.fixture(scope="module")
def server(binary, tmp_path_factory):
    folder = tmp_path_factory.mktemp("binary")
    with serving(binary, folder, "--workloads") as running:
        yield running


def test_the_executable_starts_and_prints_its_version(binary, server):
    assert server.ask("GET", "/readyz").body == b"ok"
    command = [binary, "--version"]
    told = subprocess.run(command, env=NOTHING, capture_output=True, text=True, timeout=SECONDS)
    assert told.stdout.startswith("inkube ")
    assert told.stdout.split()[1].rstrip(",") in (ROOT / "pyproject.toml").read_text()


def test_the_executable_serves_a_crd_with_a_cel_rule(server):
    crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    assert server.ask("POST", crds, CRD).code == 201
    watched = f"{crds}?watch=true&fieldSelector=metadata.name%3Dboats.example.com"
    until(server, watched, lambda found: "Established" in conditions(found))
    made = server.ask("POST", BOATS, boat("dinghy", 2))
    assert (made.code, made.json["spec"]) == (201, {"seats": 2, "sails": 1})
    refused = server.ask("POST", BOATS, boat("raft", 0))
    assert refused.code == 422
    assert "a sail takes a sailor" in refused.json["message"]
    assert [each["metadata"]["name"] for each in server.ask("GET", BOATS).json["items"]] == [
        "dinghy"
    ]


def test_the_executable_contains_its_data_files(server):
    for path in ("/openapi/v2", "/openapi/v3/api/v1", "/console/", "/console/main.js"):
        assert server.ask("GET", path).code == 200, path
    packed = server.ask(
        "GET", "/api/v1/namespaces/default", Accept="application/vnd.kubernetes.protobuf"
    )
    assert packed.body.startswith(b"k8s\0")


def test_the_executable_contains_every_module_and_file(binary):
    command = [binary, "definitions", "export", "packed"]  # runs tests/support/packed.py
    environment = {**NOTHING, "TREE": str(ROOT)}
    told = subprocess.run(
        command,
        cwd=ROOT / "tests/support",
        env=environment,
        capture_output=True,
        timeout=2 * SECONDS,
    )
    seen, *missing = told.stdout.decode().splitlines()
    assert int(seen) > 500, told.stderr
    assert [each for each in missing if not each.endswith("no pytest")] == []


def test_a_pod_runs_on_its_simulated_nodes(server):
    assert server.ask("POST", "/api/v1/namespaces/default/pods", POD).code == 201
    until(server, RUNNING, lambda found: found["metadata"]["name"] == "one")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows ends a process without a word")
def test_the_executable_stops_on_a_signal_and_keeps_its_data(binary, tmp_path):
    path = "/api/v1/namespaces/default/configmaps"
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kept"}}
    with serving(binary, tmp_path) as server:
        assert server.ask("POST", path, config).code == 201
        server.process.terminate()
        assert server.process.wait(SECONDS) == 0
    with serving(binary, tmp_path) as server:
        assert server.ask("GET", f"{path}/kept").code == 200


@pytest.mark.skipif(sys.platform == "win32", reason="the kubectl is a script")
def test_programs_that_it_starts_have_the_environment_that_it_was_started_in(binary, tmp_path):
    kubectl, told = tmp_path / "kubectl", tmp_path / "told"
    kubectl.write_text(f"#!/bin/sh\nexport -p > '{told}'\nexit 1\n")
    kubectl.chmod(0o755)
    (tmp_path / "config").write_text("{}")
    command = [binary, "capture", "--kubeconfig", tmp_path / "config", tmp_path / "captured"]
    mine = {"PATH": str(tmp_path), "LD_LIBRARY_PATH": "/mine"}
    for environment in (mine, {"PATH": str(tmp_path)}):
        told.unlink(missing_ok=True)
        subprocess.run(command, env=environment, capture_output=True, timeout=SECONDS)
        found = told.read_text()
        assert "_PYI" not in found
        assert ("LD_LIBRARY_PATH='/mine'" in found.replace('"', "'")) is (environment is mine)
        assert ("LD_LIBRARY_PATH" in found) is (environment is mine)


def conditions(obj) -> set[str]:
    """Return the conditions of an object that are true."""
    found = obj.get("status", {}).get("conditions") or ()
    return {each["type"] for each in found if each["status"] == "True"}


def until(server: Served, path: str, holds) -> None:
    """Watch until the object meets the condition."""
    with contextlib.closing(server.connect()) as connection:
        connection.request("GET", path)
        for line in connection.getresponse():
            if holds(json.loads(line)["object"]):
                return
    raise AssertionError(f"the watch of {path} ended")
