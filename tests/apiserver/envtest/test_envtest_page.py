"""The examples in docs/envtest.md work as written."""

import os
import re
import subprocess
import sys
from pathlib import Path

from patience import SECONDS

PAGE = Path(__file__).parents[3] / "docs" / "envtest.md"


def test_the_commands_of_the_page_work(tmp_path):
    script = "\n".join(re.findall(r"```sh\n(.*?)```", PAGE.read_text(), re.DOTALL))
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "inkube").write_text(f'#!/bin/sh\nexec {sys.executable} -m inkube "$@"\n')
    (tools / "inkube").chmod(0o755)
    path = os.pathsep.join([str(tools), os.environ["PATH"]])
    done = subprocess.run(
        ["sh", "-e", "-c", script], env={**os.environ, "PATH": path, "XDG_CACHE_HOME": tmp_path},
        capture_output=True, text=True, check=True, timeout=SECONDS,
    )  # fmt: skip
    assert done.stdout == "Kubernetes v1.36.2\netcd Version: 3.6.6\nGit SHA: inkube\n"
    found = {path.name for path in (tmp_path / "inkube" / "envtest").iterdir()}
    assert found - {".compiled"} == {"etcd", "kube-apiserver", "kubectl"}
