"""The container image: rules for its Dockerfile, and its build steps, which result in a working
server.

There is no container engine here. The steps run in a folder, with the paths of the image below it.
The base images and the isolation of a container are not tested.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pages
import patience
import pytest
import yaml

DOCKERFILE = pages.ROOT / "Dockerfile"
SECONDS = 3 * patience.SECONDS
PYTHON = "/usr/bin/python3"
BASE_MIB = 53
"""The size of gcr.io/distroless/python3-debian12, unpacked."""


class Step(NamedTuple):
    """An instruction of the Dockerfile, with continuation lines joined."""

    word: str
    text: str


def steps() -> Iterator[Step]:
    text = re.sub(r"^#.*\n", "", DOCKERFILE.read_text(), flags=re.MULTILINE)
    for line in re.sub(r"\\\n\s*", "", text).splitlines():
        if line.strip():
            word, _, rest = line.partition(" ")
            yield Step(word, rest.strip())


def stage(number: int) -> list[Step]:
    """Return the instructions of a stage; 0 are those before the first FROM."""
    found: list[list[Step]] = [[]]
    for step in steps():
        if step.word == "FROM":
            found.append([])
        found[-1].append(step)
    return found[number]


def values(word: str, number: int = 2) -> list[str]:
    return [step.text for step in stage(number) if step.word == word]


def test_the_image_has_two_stages_and_the_second_has_no_root_user_and_no_shell():
    assert [step.word for step in steps()].count("FROM") == 2
    assert values("USER") == ["65532:65532"]
    assert not values("RUN")
    assert values("VOLUME") == ['["/data"]']
    for word in ("ENTRYPOINT", "CMD"):
        assert isinstance(json.loads(values(word)[0]), list)
    assert "HEALTHCHECK" in {step.word for step in stage(2)}


def test_base_images_are_arguments_so_that_any_architecture_can_be_built():
    arguments = dict(step.text.split("=", 1) for step in stage(0))
    images = [step.text.split()[0] for step in steps() if step.word == "FROM"]
    assert images == ["${BUILD_IMAGE}", "${RUN_IMAGE}"]
    assert set(arguments) == {"BUILD_IMAGE", "RUN_IMAGE"}
    assert not re.search(r"amd64|x86_64|aarch64", "".join(step.text for step in steps()))


def test_every_copied_file_is_part_of_the_build_context():
    kept = {
        line[1:]
        for line in (pages.ROOT / ".dockerignore").read_text().splitlines()
        if line.startswith("!")
    }
    for text in values("COPY", 1):
        for name in text.split()[:-1]:
            assert (pages.ROOT / name).exists(), name
            assert name.split("/")[0] in kept, name


def test_a_linter_finds_nothing():
    if (linter := shutil.which("hadolint")) is None:
        pytest.skip("hadolint is not installed")
    # pip installs this folder, so there is no version to pin
    done = subprocess.run(
        [linter, "--ignore", "DL3013", DOCKERFILE], capture_output=True, text=True, timeout=SECONDS
    )
    assert done.returncode == 0, done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The root folder of the image after its first stage."""
    root = tmp_path_factory.mktemp("image")
    source = root / "src"
    source.mkdir()
    for text in values("COPY", 1):
        *names, target = text.split()
        for name in names:
            place = source / target / ("" if target == name else Path(name).name)
            place.parent.mkdir(parents=True, exist_ok=True)
            if (pages.ROOT / name).is_dir():
                ignored = shutil.ignore_patterns("node_modules", "__pycache__")
                shutil.copytree(pages.ROOT / name, source / target, ignore=ignored)
            else:
                shutil.copy(pages.ROOT / name, place)
    (tool,) = values("ARG", 1)
    environment = {**os.environ, **dict([tool.split("=", 1)])}
    (root / "bin").mkdir()
    (root / "bin" / "python").symlink_to(sys.executable)
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
    for command in values("RUN", 1):
        local = command.replace("/opt/", f"{root}/opt/")
        done = subprocess.run(
            local, shell=True, cwd=source, env=environment, timeout=SECONDS,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
        )  # fmt: skip
        if done.returncode and "pip install" in command:
            pytest.skip(f"the packages of the image cannot be installed here: {done.stdout[-300:]}")
        assert done.returncode == 0, done.stdout
    return root


def test_the_image_has_about_100_megabytes(built: Path):
    files = [path for path in (built / "opt").rglob("*") if path.is_file()]
    size = sum(path.stat().st_size for path in files) / 2**20
    assert size + BASE_MIB <= 110, f"{size:.0f} MiB of packages"


def run(built: Path, *arguments: str) -> "subprocess.Popen[str]":
    """Run a program of the second stage with its environment, and without this environment's
    packages."""
    (text,) = values("ENV")
    given = dict(each.split("=", 1) for each in text.split())
    given["PYTHONPATH"] = str(built / "opt/inkube")
    given["TMPDIR"] = given["INKUBE_DATA"] = str(built / "opt/data")
    interpreter = Path(sys.executable).resolve()
    command = [each.replace("/opt/inkube/", f"{built}/opt/inkube/") for each in arguments]
    assert command[0] == PYTHON
    return subprocess.Popen(
        [str(interpreter), "-S", *command[1:]],
        env={**given, "INKUBE_PORT": "0", "INKUBE_TOKEN": "a-token"}, cwd=built / "opt/data",
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip


def test_the_built_image_serves_and_its_health_check_reports_readiness(built: Path):
    (check,) = values("HEALTHCHECK")
    health = json.loads(check[check.index("[") :])
    with run(built, *health) as early:
        assert early.wait(SECONDS) == 1
    (entry,), (arguments,) = values("ENTRYPOINT"), values("CMD")
    with run(built, *json.loads(entry), *json.loads(arguments)) as server:
        try:
            assert server.stdout is not None
            lines = (line for line in server.stdout if "inkube serves on https://" in line)
            assert next(lines)
            config = yaml.safe_load((built / "opt/data/kubeconfig").read_text())
            assert config["clusters"][0]["cluster"]["certificate-authority-data"]
            with run(built, *health) as ready:
                assert ready.wait(SECONDS) == 0
            assert (built / "opt/data/inkube.db").exists()
            assert (built / "opt/data/tokens.csv").stat().st_mode & 0o077 == 0
        finally:
            server.send_signal(signal.SIGTERM)
        assert server.wait(SECONDS) == 0
