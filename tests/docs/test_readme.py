"""The commands of README.md work in an environment with only the wheel installed.

`pip install` takes inkube from a wheel of this tree; its dependencies, and pytest, are those of the
test environment. `go` runs if it is installed; otherwise another test uses the programs that
envtest would start.
"""

import os
import re
import subprocess
import sys
import sysconfig
import urllib.request
from collections.abc import Mapping
from importlib import util
from pathlib import Path

import pages
import patience
import pytest
import yaml

README = pages.ROOT / "README.md"
SECONDS = 2 * patience.SECONDS
PIP = """#!/bin/sh
# pip install inkube [PACKAGE…]: inkube from the wheel, the other packages have to be here already
test "$1" = install && test "$2" = inkube || exit 2
shift 2
for package; do python -c "import $package" || exit; done
exec python -m pip install -q --no-index --no-deps --ignore-installed "$INKUBE_WHEEL"
"""
GO = "#!/bin/sh\nexec python -m pytest -q -p no:cacheprovider test_assets.py\n"
ASSETS = """
import os, subprocess
from pathlib import Path

def test_the_programs_start():
    for name in ("kube-apiserver", "etcd"):
        program = Path(os.environ["KUBEBUILDER_ASSETS"], name)
        subprocess.run([program, "--version"], check=True)
"""


def starts() -> Mapping[str, list[str]]:
    """Heading → the commands below it, for every section that starts something."""
    found = {}
    for section in re.split(r"^## ", README.read_text(), flags=re.MULTILINE)[1:]:
        heading = section.partition("\n")[0]
        if heading.startswith("Start "):
            (block,) = [each for each in pages.blocks(section) if each.language == "console"]
            found[heading] = [command for _, command, _ in pages.commands(block)]
    return found


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if util.find_spec("hatchling") is None or util.find_spec("pip") is None:
        pytest.skip("hatchling or pip is not installed")
    target = tmp_path_factory.mktemp("wheel")
    arguments = [
        "wheel",
        "--no-deps",
        "--no-build-isolation",
        "-q",
        "-w",
        str(target),
        str(pages.ROOT),
    ]
    subprocess.run([sys.executable, "-m", "pip", *arguments], check=True, timeout=SECONDS)
    (found,) = target.glob("*.whl")
    return found


@pytest.fixture
def newcomer(wheel: Path, tmp_path: Path) -> Mapping[str, str]:
    """The environment variables of a shell without inkube installed."""
    place = tmp_path / "environment"
    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", place], check=True, timeout=SECONDS
    )
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    libraries = place / "lib" / version / "site-packages"
    # after this environment's own packages, so that inkube comes from the wheel
    (libraries / "libraries.pth").write_text(sysconfig.get_path("purelib") + "\n")
    for name, text in {
        "pip": PIP,
        "pytest": '#!/bin/sh\nexec python -m pytest -q "$@"\n',
    }.items():
        (place / "bin" / name).write_text(text)
        (place / "bin" / name).chmod(0o755)
    (tmp_path / "work").mkdir()
    return {
        **{name: os.environ[name] for name in ("LANG", "TMPDIR") if name in os.environ},
        "HOME": str(tmp_path),
        "PATH": os.pathsep.join([str(place / "bin"), os.environ["PATH"]]),
        "PYTEST_ADDOPTS": "-p no:cacheprovider -p no:schemathesis "
        "-o asyncio_default_fixture_loop_scope=function",
        "INKUBE_WHEEL": str(wheel),
    }


def paste(commands: list[str], environment: Mapping[str, str], folder: Path) -> str:
    """Run the commands unchanged in one shell; return their output."""
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-e", "-c", "\n".join(commands)],
        cwd=folder, env=environment, text=True, timeout=SECONDS, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_there_are_three_starts_of_three_commands_at_most():
    assert len(starts()) == 3
    assert all(1 <= len(commands) <= 3 for commands in starts().values())


def test_it_fits_on_a_screen_and_shows_one_picture():
    text = README.read_text()
    assert len(text.splitlines()) <= 80
    assert text.count("![") == 1


def test_the_start_with_pytest(newcomer: Mapping[str, str], tmp_path: Path):
    text = paste(starts()["Start in a pytest suite"], newcomer, tmp_path / "work")
    assert re.search(r"^2 passed", text, re.MULTILINE), text


def test_the_start_with_serve(newcomer: Mapping[str, str], tmp_path: Path):
    *before, serve = starts()["Start with `inkube serve`"]
    folder = tmp_path / "work"
    paste(before, newcomer, folder)
    with subprocess.Popen(
        ["bash", "-c", f"exec {serve} --port 0"], cwd=folder, env=newcomer, text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
    ) as server:  # fmt: skip
        assert server.stdout is not None
        try:
            url = server.stdout.readline().split()[-1]
            with urllib.request.urlopen(f"{url}/apis/example.com/v1/boats") as answer:
                assert answer.status == 200
            config = yaml.safe_load((folder / "inkube.kubeconfig").read_text())
            assert config["clusters"][0]["cluster"]["server"] == url
        finally:
            server.terminate()


def test_the_start_with_envtest(newcomer: Mapping[str, str], tmp_path: Path):
    *before, suite = starts()["Start a Go or Java suite that uses envtest"]
    assert suite == "go test ./..."
    folder = tmp_path / "work"
    go = tmp_path / "environment" / "bin" / "go"
    go.write_text(GO)
    go.chmod(0o755)
    (folder / "test_assets.py").write_text(ASSETS)
    text = paste([*before, suite], newcomer, folder)
    assert re.search(r"^1 passed", text, re.MULTILINE), text


def test_the_fixture_of_the_readme_works(tmp_path: Path):
    """The Python block, which no section's commands contain."""
    with pages.Reader(tmp_path) as reader:
        (block,) = [each for each in pages.blocks(README.read_text()) if each.language == "python"]
        reader.read(f"```python\n{block.text}```\n")


def test_links_lead_to_files():
    for link in re.findall(r"\]\(([^)#]+)[^)]*\)", README.read_text()):
        assert link.startswith("https://") or (pages.ROOT / link).exists(), link
