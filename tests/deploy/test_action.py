"""The steps of action.yml and of examples/ci, run as a CI runner would run them."""

import os
import re
import shutil
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pages
import patience
import pytest
import yaml

ACTION = yaml.safe_load((pages.ROOT / "action.yml").read_text())
MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\n"
RECIPES = pages.ROOT / "examples" / "ci"
SECONDS = 3 * patience.SECONDS


class Runner:
    """The part of a runner that a composite action uses."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.files = {name: folder / name.lower() for name in ("ENV", "OUTPUT", "PATH")}
        for file in self.files.values():
            file.touch()

    def run(self, **inputs: str) -> "subprocess.CompletedProcess[str]":
        """Run the steps until one fails."""
        given = {name: each["default"] for name, each in ACTION["inputs"].items()} | inputs
        for step in ACTION["runs"]["steps"]:
            assert step["shell"] == "bash"
            assert "${{" not in step["run"], "inputs reach a script as variables only"
            variables = {
                name: re.sub(r"\$\{\{ inputs\.(\w+) \}\}", lambda found: given[found[1]], text)
                for name, text in step["env"].items()
            }
            done = subprocess.run(
                ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
                env={**os.environ, **self.environment, **variables}, cwd=self.folder, text=True,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=SECONDS, check=False,
            )  # fmt: skip
            if done.returncode:
                break
        return done

    @property
    def environment(self) -> Mapping[str, str]:
        return {
            "RUNNER_TEMP": str(self.folder),
            "GITHUB_ACTION_PATH": str(pages.ROOT),
            **{f"GITHUB_{name}": str(file) for name, file in self.files.items()},
        }

    def read(self, name: str) -> Mapping[str, str]:
        lines = self.files[name].read_text().splitlines()
        return dict(line.split("=", 1) for line in lines)


@pytest.fixture
def runner(tmp_path: Path) -> Iterator[Runner]:
    """A runner with the inkube of this tree; `pip install` would take it from a registry."""
    bin_folder = tmp_path / "inkube" / "bin"
    bin_folder.mkdir(parents=True)
    server = bin_folder / "inkube"
    server.write_text(
        f'#!/bin/sh\necho $$ >"{tmp_path}/pid"\nexec {sys.executable} -m inkube "$@"\n'
    )
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\ntest "$*" = "-m venv {tmp_path}/inkube"\n')
    pip = bin_folder / "pip"
    pip.write_text(f'#!/bin/sh\necho "$@" >"{tmp_path}/installed"\n')
    for program in (server, python, pip):
        program.chmod(0o755)
    yield Runner(tmp_path)
    pid = tmp_path / "pid"
    if pid.exists():
        try:
            os.kill(int(pid.read_text()), signal.SIGTERM)
        except ProcessLookupError:
            return


def test_the_action_starts_a_server_for_later_steps(runner: Runner):
    definition = pages.ROOT / "examples/boats/definition.yaml"
    done = runner.run(
        port="0", arguments=f"--definitions {definition}", python=str(runner.folder / "python")
    )
    assert done.returncode == 0, done.stdout
    assert (runner.folder / "installed").read_text() == f"install --quiet {pages.ROOT}\n"
    outputs = runner.read("OUTPUT")
    assert outputs["kubeconfig"] == runner.read("ENV")["KUBECONFIG"]
    with urllib.request.urlopen(f"{outputs['url']}/apis/example.com/v1/boats") as response:
        assert response.status == 200
    assert outputs["url"] in Path(outputs["kubeconfig"]).read_text()


def test_the_action_prepares_envtest(runner: Runner):
    done = runner.run(mode="envtest", python=str(runner.folder / "python"), package="inkube==9")
    assert done.returncode == 0, done.stdout
    assert (runner.folder / "installed").read_text() == "install --quiet inkube==9\n"
    assets = Path(runner.read("ENV")["KUBEBUILDER_ASSETS"])
    assert str(assets) == runner.read("OUTPUT")["assets"]
    assert {"kube-apiserver", "etcd"} <= {path.name for path in assets.iterdir()}


def test_the_action_annotates_invalid_manifests(runner: Runner):
    manifests = runner.folder / "manifests"
    manifests.mkdir()
    (manifests / "a.yaml").write_text(MAP % "A")
    inputs = {"mode": "validate", "python": str(runner.folder / "python")}
    done = runner.run(**inputs, arguments="manifests --references")
    assert done.returncode == 1
    assert done.stdout.startswith("::error file=manifests/a.yaml,line=3,")
    (manifests / "a.yaml").write_text(MAP % "a")
    for arguments in ("", "manifests"):
        done = runner.run(**inputs, arguments=arguments)
        assert (done.returncode, done.stdout) == (0, "1 document, 0 errors\n")


@pytest.mark.parametrize(
    ("inputs", "text"),
    [
        ({"mode": "observe"}, "::error::mode is serve, envtest or validate, not observe"),
        ({"arguments": "--definitions missing.yaml"}, "missing.yaml"),
    ],
)
def test_a_step_that_cannot_work_fails_with_the_reason(runner: Runner, inputs, text: str):
    done = runner.run(port="0", python=str(runner.folder / "python"), **inputs)
    assert done.returncode != 0
    assert text in done.stdout


def test_every_output_comes_from_a_step_that_writes_it():
    script = (pages.ROOT / "deploy/action.sh").read_text()
    for name, output in ACTION["outputs"].items():
        assert output["value"] == f"${{{{ steps.start.outputs.{name} }}}}"
        assert f"{name}=" in script


def test_the_github_recipe_uses_inputs_and_outputs_that_exist():
    text = (RECIPES / "github.yaml").read_text()
    steps = [step for job in yaml.safe_load(text)["jobs"].values() for step in job["steps"]]
    uses = [step for step in steps if "/inkube@" in step.get("uses", "")]
    assert len(uses) == 2
    for step in uses:
        assert set(step["with"]) <= set(ACTION["inputs"])
    for name in re.findall(r"steps\.inkube\.outputs\.(\w+)", text):
        assert name in ACTION["outputs"]


def test_the_readme_of_the_recipes_names_every_input_and_output():
    text = (RECIPES / "README.md").read_text()
    for name in (*ACTION["inputs"], *ACTION["outputs"]):
        assert f"`{name}`" in text


def test_the_end_to_end_job_of_gitlab_runs(tmp_path: Path):
    """In one shell, like that of a runner. `pip` is replaced, and the port by a free one."""
    job = yaml.safe_load((RECIPES / "gitlab.yaml").read_text())["end-to-end"]
    with pages.Reader(tmp_path) as reader:
        for name in ("pip",):
            (tmp_path / ".bin" / name).write_text("#!/bin/sh\n")
            (tmp_path / ".bin" / name).chmod(0o755)
        (tmp_path / "end_to_end.py").write_text(
            "import os, yaml, urllib.request\n"
            "config = yaml.safe_load(open(os.environ['KUBECONFIG']))\n"
            "url = config['clusters'][0]['cluster']['server']\n"
            "assert urllib.request.urlopen(url + '/api/v1/namespaces').status == 200\n"
        )
        lines = [f"export KUBECONFIG={tmp_path}/inkube.kubeconfig", *job["script"], "kill $!"]
        script = "\n".join(lines).replace("serve --in-memory", "serve --in-memory --port 0")
        reader.read(f"```sh\nset -e\n{script}\nset +e\n```\n")


def recipe(title: str) -> Any:
    """Return the YAML with a title on the page about validation."""
    text = (pages.ROOT / "docs/howto/validate.md").read_text()
    return yaml.safe_load(text.partition(f'```yaml title="{title}"\n')[2].partition("\n```")[0])


@pytest.fixture
def shell(tmp_path: Path) -> Callable[[list[str]], "subprocess.CompletedProcess[str]"]:
    """Runs a command in a folder, with inkube, a `pip` that installs nothing, and a `kustomize`
    that prints a file."""
    bin_folder = tmp_path / ".bin"
    bin_folder.mkdir()
    for name, line in (
        ("inkube", f'exec {sys.executable} -m inkube "$@"'),
        ("pip", "exit 0"),
        ("kustomize", "exec cat manifests/a.yaml"),
    ):
        (bin_folder / name).write_text(f"#!/bin/sh\n{line}\n")
        (bin_folder / name).chmod(0o755)
    (tmp_path / "manifests").mkdir()
    environment = {**os.environ, "PATH": f"{bin_folder}:{os.environ['PATH']}"}

    def run(command: list[str]) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            command, cwd=tmp_path, env=environment, text=True, capture_output=True, timeout=SECONDS,
            check=False,
        )  # fmt: skip

    return run


@pytest.mark.parametrize(("name", "failures"), [("a", "0"), ("A", "1")])
def test_the_gitlab_job_leaves_its_report(shell, tmp_path: Path, name: str, failures: str):
    job = recipe(".gitlab-ci.yml")["manifests"]
    (tmp_path / "manifests/a.yaml").write_text(MAP % name)
    done = shell(["sh", "-ec", "\n".join(job["script"])])
    assert done.returncode == int(failures)
    root = ET.parse(tmp_path / job["artifacts"]["reports"]["junit"]).getroot()
    assert root.get("failures") == failures
    assert job["artifacts"]["when"] == "always"


def test_the_plugin_of_argo_cd_prints_nothing_but_valid_objects(shell, tmp_path: Path):
    generate = recipe("plugin.yaml")["spec"]["generate"]
    two = f"{MAP % 'a'}---\n{MAP % 'b'}"
    for text, code, out in ((two, 0, two), (MAP % "A", 1, ""), ("", 2, "")):
        (tmp_path / "manifests/a.yaml").write_text(text)
        done = shell([*generate["command"], *generate["args"]])
        assert (done.returncode, done.stdout) == (code, out)
        assert done.stderr
    (tmp_path / "manifests/a.yaml").unlink()
    assert shell([*generate["command"], *generate["args"]]).returncode != 0


def test_shellcheck_finds_nothing():
    if (tool := shutil.which("shellcheck")) is None:
        pytest.skip("shellcheck is not installed")
    done = subprocess.run(
        [tool, pages.ROOT / "deploy/action.sh"], capture_output=True, text=True, timeout=SECONDS
    )
    assert done.returncode == 0, done.stdout
