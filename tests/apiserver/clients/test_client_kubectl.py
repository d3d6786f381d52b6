"""Common commands of every installed version of kubectl."""

import glob
import os
import shutil
import subprocess

import pytest
from patience import SECONDS

GROUP = "clients.example.com"
FOUND = sorted(
    {
        os.path.realpath(path)
        for folder in os.environ.get("PATH", "").split(os.pathsep)
        for path in glob.glob(os.path.join(folder, "kubectl*"))
        if shutil.which(path)
    }
)
MANIFEST = """
apiVersion: clients.example.com/v1
kind: Crab
metadata: {name: k}
spec: {size: 3}
"""

pytestmark = pytest.mark.skipif(not FOUND, reason="kubectl is not installed")


@pytest.fixture(params=sorted({FOUND[0], FOUND[-1]}) if FOUND else [""], ids=os.path.basename)
def kubectl(request, kubeconfig, namespace, tmp_path):
    """`kubectl("get", "crabs", stdin="")`: returns the output."""
    environment = {**os.environ, "KUBECONFIG": str(kubeconfig), "HOME": str(tmp_path)}

    def run(*arguments, stdin=""):
        command = [request.param, "-n", namespace, *arguments]
        done = subprocess.run(
            command, input=stdin, capture_output=True, text=True, timeout=SECONDS, env=environment
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def test_apply_get_explain_and_delete(kubectl):
    assert "created" in kubectl("apply", "-f", "-", stdin=MANIFEST)
    assert "unchanged" in kubectl("apply", "-f", "-", stdin=MANIFEST)
    assert kubectl("get", "crabs", "--no-headers").split()[:2] == ["k", "3"]
    assert "A Crab of the sea." in kubectl("explain", "crabs")
    assert "condition" in kubectl("wait", "crab/k", "--for=jsonpath={.spec.size}=3")
    assert "deleted" in kubectl("delete", "crab", "k")


def test_an_unknown_field_is_refused_by_the_server(kubectl):
    with pytest.raises(AssertionError, match=r'unknown field "spec\.color"'):
        kubectl("create", "-f", "-", stdin=MANIFEST.replace("size: 3", "color: red"))
