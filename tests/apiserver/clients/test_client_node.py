"""Unmodified @kubernetes/client-node: an informer during writes, patches and deletions."""

import shutil
import subprocess
from pathlib import Path

import pytest
from patience import SECONDS

FOLDER = Path(__file__).parent / "node"
INSTALLED = shutil.which("node") and (FOLDER / "node_modules/@kubernetes/client-node").exists()


@pytest.mark.skipif(not INSTALLED, reason="npm install was not run in tests/apiserver/clients/node")
def test_an_informer_follows_an_object_from_creation_to_deletion(kubeconfig, namespace):
    command = ["node", str(FOLDER / "informer.mjs"), str(kubeconfig), namespace]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    assert (done.stdout.split(), done.returncode) == (["add", "update", "delete"], 0), done.stderr
