"""`--watch` checks again after each change of a file, and `--modules` selects kinds in Python."""

import signal
import subprocess
import sys

from patience import SECONDS

MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\n"
REPOSITORY = """\
apiVersion: provisioning.grafana.app/v0alpha1
kind: Repository
metadata: {name: a, namespace: default}
spec: {title: "", type: git}
"""


def test_a_change_is_checked_until_the_user_interrupts(tmp_path):
    (tmp_path / "a.yaml").write_text(MAP % "A")
    command = [sys.executable, "-m", "inkube", "validate", "-oshort", "--watch"]
    process = subprocess.Popen(
        command, cwd=tmp_path, text=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    try:
        lines = iter(process.stderr.readline, "")
        assert next(lines) == "1 document, 1 error\n"
        (tmp_path / "b.yaml").write_text(MAP % "b")
        assert next(lines) == "2 documents, 1 error\n"
        (tmp_path / "a.yaml").write_text(MAP % "a" + "---\napiVersion: [")
        assert next(lines) == "3 documents, 1 error\n"
        (tmp_path / "a.yaml").unlink()
        assert next(lines) == "1 document, 0 errors\n"
        process.send_signal(signal.SIGINT)
        assert (process.wait(SECONDS), process.stderr.read()) == (0, "")
    finally:
        process.kill()
        process.communicate(timeout=SECONDS)


def test_kinds_in_python_are_known_with_their_module(run):
    for modules in ("all", "provisioning"):
        done = run("-oshort", "a.yaml", "--modules", modules, files={"a.yaml": REPOSITORY})
        assert done.code == 1
        assert "spec.title: Required value: a repository title must be given" in done.out
    for modules in ("none", "porch"):
        done = run("-oshort", "a.yaml", "--modules", modules)
        assert done.places == ["a.yaml:1:1 unknown-kind"]


def test_a_module_that_is_not_installed_is_bad_input(run):
    done = run("a.yaml", "--modules", "nothing", files={"a.yaml": REPOSITORY})
    assert done.code == 2
    assert "there is no module 'nothing'; there are all, default, none" in done.err
