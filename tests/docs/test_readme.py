"""A reader pastes the commands of README.md in a folder with nothing but a clone.

The clone has the files that git has, or would add: of this tree, not only of its last commit. Pip
and uv install from the package index that they are configured for; where it has no pytest, the
commands that install are not run.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Mapping
from pathlib import Path

import pages
import patience
import pytest

README = pages.ROOT / "README.md"
SECONDS = 4 * patience.SECONDS
DOCS = pages.ROOT / "docs"
WALKS = {
    "test with pytest": ("howto/seed.md", "tutorials/operator.md"),
    "check manifests": ("howto/validate.md",),
    "test policies": ("howto/policies.md",),
    "Go and others": ("envtest.md",),
}
"""The pages of each reader, in their order. A walk ends where its page fails."""
WEBSITE = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: website}
spec:
  selector: {matchLabels: {app: website}}
  template:
    metadata: {labels: {app: website}}
    spec: {restartPolicy: Never, containers: [{name: website, image: website}]}
"""


def sections() -> Mapping[str, str]:
    """Return the text below each heading."""
    parts = re.split(r"^## (.+)\n", README.read_text(), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def typed(heading: str) -> list[str]:
    """Return the commands of the consoles below a heading."""
    found = pages.blocks(sections()[heading])
    return [
        command
        for block in found
        if block.language == "console"
        for _, command, _ in pages.commands(block)
    ]


def tasks() -> Mapping[str, str]:
    """What a reader wants → the command for it."""
    rows = re.findall(
        r"^\| (.+?) \| `(.+?)` \|", sections()["Use it in your project"], re.MULTILINE
    )
    return dict(rows)


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """The variables of a shell with an empty home and this Python, but not its packages. The
    caches of pip and uv remain, so that the index is not asked for the same files again."""
    home = tmp_path_factory.mktemp("home")
    python = Path(sys.executable).resolve()
    (home / "python3").symlink_to(python)
    outside = [each for each in os.environ["PATH"].split(os.pathsep) if sys.prefix not in each]
    dropped = (
        "VIRTUAL_ENV",
        "KUBECONFIG",
        "PYTEST",
        "PYTHON",
        "COVERAGE",
        "INKUBE",
        "MAKE",
        "ARGS",
    )
    kept = {name: text for name, text in os.environ.items() if not name.startswith(dropped)}
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    path = os.pathsep.join([str(home), *outside])
    given = {**kept, "HOME": str(home), "PATH": path, "XDG_CACHE_HOME": cache}
    download = ["-m", "pip", "download", "-q", "--no-deps", "-d", str(home / "probe"), "pytest"]
    probe = [str(python), *download]
    if subprocess.run(probe, env=given, capture_output=True, timeout=SECONDS).returncode:
        pytest.skip("pip finds no pytest on a package index")
    return given


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a clone of this tree."""
    listing = ["git", "-C", str(pages.ROOT), "ls-files", "-z", "-co", "--exclude-standard"]
    done = subprocess.run(listing, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip("this tree is not in a git repository")
    place = tmp_path_factory.mktemp("reader")
    for name in filter(None, done.stdout.split("\0")):
        if (pages.ROOT / name).is_file():
            target = place / "inkube" / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(pages.ROOT / name, target)
    return place


def paste(commands: list[str], environment: Mapping[str, str], folder: Path) -> str:
    """Type the commands unchanged in one shell; return their output."""
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-e", "-c", "\n".join(commands)],
        cwd=folder, env=environment, text=True, timeout=SECONDS, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    return done.stdout


def serves(command: str, environment: Mapping[str, str], folder: Path) -> None:
    """Type the command of a server, and open its console."""
    with subprocess.Popen(
        ["bash", "--noprofile", "--norc", "-c", command], cwd=folder, env=environment, text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, start_new_session=True,
    ) as server:  # fmt: skip
        assert server.stdout is not None
        try:
            lines = (line.rstrip("\n") for line in server.stdout)
            address = next(line for line in lines if line.startswith("inkube serves on "))
            with urllib.request.urlopen(f"{address.split()[-1]}/console/") as response:
                assert b"inkube" in response.read()
        finally:
            os.killpg(server.pid, signal.SIGTERM)


def test_the_first_screen_starts_with_two_commands_in_a_clone() -> None:
    assert next(iter(sections())) == "Start from a clone"
    assert typed("Start from a clone") == ["make serve", "make test"]


def test_four_readers_find_one_command_each() -> None:
    assert len(tasks()) == 4


def test_the_readme_fits_on_a_screen_and_shows_one_picture() -> None:
    text = README.read_text()
    assert len(text.splitlines()) <= 80
    assert text.count("![") == 1


def test_make_alone_lists_its_targets() -> None:
    makefile = pages.ROOT / "Makefile"
    (phony,) = re.findall(r"^\.PHONY: (.+)", makefile.read_text(), re.MULTILINE)
    listing = subprocess.run(["make", "-f", makefile], capture_output=True, text=True, check=True)
    assert set(re.findall(r"^make ([\w-]+) +\S", listing.stdout, re.MULTILINE)) == set(
        phony.split()
    )


def test_the_commands_for_a_clone(environment: Mapping[str, str], folder: Path) -> None:
    """`make test` runs one file here; the targets themselves are as a reader types them."""
    serve, test = typed("Start from a clone")
    clone = folder / "inkube"
    serves(serve, {**environment, "ARGS": "--port 0"}, clone)
    assert not list(clone.glob(".venv/lib/*/site-packages/pytest"))
    text = paste([test], {**environment, "ARGS": "tests/schemas/golang"}, clone)
    assert re.search(r"^=+ \d+ passed", text, re.MULTILINE), text
    for tool in ("mypy", "mkdocs", "playwright", "basedpyright"):
        assert not list(clone.glob(f".venv/lib/*/site-packages/{tool}"))


def test_the_commands_for_a_project(environment: Mapping[str, str], folder: Path) -> None:
    paste(typed("Use it in your project"), environment, folder)
    (folder / "manifests").mkdir()
    (folder / "manifests" / "website.yaml").write_text(WEBSITE)
    bin_folder = folder / "venv" / "bin"
    environment = {**environment, "PATH": f"{bin_folder}{os.pathsep}{environment['PATH']}"}
    suite, backend, check, envtest = tasks().values()
    assert re.search(r"2 passed", paste([suite], environment, folder))
    serves(f"{backend} --port 0", environment, folder)
    assert "restartPolicy" in paste([f"{check} || true"], environment, folder)
    programs = [f'"$KUBEBUILDER_ASSETS/{name}" --version' for name in ("kube-apiserver", "etcd")]
    paste([envtest, *programs], environment, folder)


def test_the_fixture_of_the_readme_works(tmp_path: Path) -> None:
    """The Python block, which no section's commands contain."""
    with pages.Reader(tmp_path) as reader:
        (block,) = [each for each in pages.blocks(README.read_text()) if each.language == "python"]
        reader.read(f"```python\n{block.text}```\n")


def test_links_lead_to_files() -> None:
    for link in re.findall(r"\]\(([^)#]+)[^)]*\)", README.read_text()):
        assert link.startswith("https://") or (pages.ROOT / link).exists(), link


def test_the_commands_for_each_reader_work_to_the_end(
    environment: Mapping[str, str], folder: Path, tmp_path: Path
) -> None:
    """In an environment with what the pages install only. The fifth reader has a clone, above."""
    paste(typed("Use it in your project"), environment, folder)
    python = folder / "venv" / "bin" / "python"
    install = re.search(
        r"pip install \./inkube (pytest kubernetes)", _text("tutorials/operator.md")
    )
    assert install is not None, "the page says what its reader installs"
    paste([f"{python} -m pip install -q {install[1]}"], environment, folder)
    stopped = {}
    for reader, names in WALKS.items():
        for name in names:
            place = tmp_path / name.replace("/", "-")
            place.mkdir()
            try:
                with pages.Reader(place, python=python) as walk:
                    walk.read(_text(name))
            except pages.PageError as error:
                stopped[f"{reader}: {name}"] = str(error)
                break
    assert not stopped
    if shutil.which("npm"):
        _front_end(environment, python.parent, tmp_path)


def _front_end(environment: Mapping[str, str], programs: Path, place: Path) -> None:
    """Type the commands of the front-end example, and open its page."""
    variables = {**environment, "PATH": f"{programs}{os.pathsep}{environment['PATH']}", "PORT": "0"}
    paste(["inkube example frontend"], variables, place)
    here = place / "frontend"
    install, start = re.findall(
        r"^npm (?:install|start)$", (here / "README.md").read_text(), re.MULTILINE
    )
    if subprocess.run(install.split(), cwd=here, env=variables, capture_output=True, check=False,
                      timeout=SECONDS).returncode:  # fmt: skip
        pytest.skip("npm finds no packages")
    with subprocess.Popen(
        ["bash", "-c", start], cwd=here, env=variables, text=True, start_new_session=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
    ) as started:  # fmt: skip
        assert started.stdout is not None
        try:
            opened = next(line for line in started.stdout if line.startswith("Open "))
            page, server = re.findall(r"http://[\w.]+:\d+", opened)
            with urllib.request.urlopen(f"{page}/") as answer:
                assert b"New repository" in answer.read()
            hosts = f"{server}/apis/world.inkube.dev/v1/githosts/git.example"
            with urllib.request.urlopen(hosts) as answer:
                assert b"team/dashboards" in answer.read()
        finally:
            os.killpg(started.pid, signal.SIGINT)


def _text(name: str) -> str:
    return (DOCS / name).read_text()
