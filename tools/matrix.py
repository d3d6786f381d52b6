"""Runs tests in many environments: `python tools/matrix.py [ROW…]`, and writes a table of results.

A row is a set of versions, a Python, or a circumstance such as another time zone. Each gets a new
virtual environment with a wheel of this tree, and runs the tests of `SUITE`, which together use
every dependency. The rows for `make test` run that instead. A row whose Python, user or library is
not available is skipped by name. Needs uv and a package index.

`--page FILE` writes each row into the table of a page of the documentation. Exits with 1 if a row
fails.
"""

import argparse
import datetime as dt
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BEGIN, END = "<!-- rows: begin -->\n", "<!-- rows: end -->\n"
LIMIT = 900
"""Seconds for the chosen tests; the rows with all tests have four times as long."""
AIOHTTP = (
    "3.12.0", "3.12.2", "3.12.3", "3.12.4", "3.12.6", "3.12.7", "3.12.8", "3.12.9", "3.12.10",
    "3.12.11", "3.12.12", "3.12.13", "3.12.14", "3.12.15", "3.13.0", "3.13.1", "3.13.2", "3.13.3",
    "3.13.4", "3.13.5", "3.14.0", "3.14.1", "3.14.2", "3.14.3", "3.14.4", "3.14.5",
)  # fmt: skip
"""Each release from the lowest that `pyproject.toml` allows."""
TOOLS = ("hypothesis", "pytest", "pytest-aiohttp", "pytest-timeout", "pytest-xdist", "trustme")
_PAST = "tests/storage/test_store_past.py::test"
_KEYS = "tests/apiserver/auth/test_keys_in_files.py::test"
_GIT = "tests/controllers/provisioning/test_provisioning_git.py::test"
_CEL = "tests/schemas/cel/test_cel_rule_admission.py::test"
SUITE = (
    "tests/apiserver/http/test_selfcheck.py",  # aiohttp: a socket, TLS, a worker
    "tests/apiserver/http/test_failing_loop.py",
    "tests/apiserver/watching/test_watch_streams.py",
    "tests/apiserver/http/test_compression.py",  # isal
    "tests/apiserver/http/test_metrics.py",  # prometheus_client
    "tests/apiserver/http/test_protobuf_bodies.py",
    "tests/schemas/patch/test_json_patch.py::test_what_cannot_be_carried_out_is_422",  # jsonpatch
    f"{_CEL}_what_does_not_compile_is_shown_with_its_rule",  # RE2
    "tests/schemas/golang/test_yaml_decoding.py",  # PyYAML
    f"{_PAST}_a_list_at_a_revision_shows_that_moment",  # aiosqlite, asyncpg, SQLAlchemy
    f"{_PAST}_pages_of_one_revision_make_one_list_while_others_write",
    "tests/schemas/test_models_as_kinds.py",  # pydantic
    "tests/controllers/test_own_kinds_on_a_server.py",
    f"{_KEYS}_a_damaged_key_is_an_error_of_the_start",  # cryptography and PyJWT
    f"{_KEYS}_files_with_secrets_are_private_under_every_umask",
    f"{_GIT}_files_of_a_real_repository_are_pulled",  # dulwich
    f"{_GIT}_files_of_a_real_repository_are_written_in_commits",
    f"{_GIT}_private_hosts_are_refused_without_the_option",
    "tests/controllers/porch/test_comments_are_put_back.py",  # ruamel.yaml
    "tests/apiserver/commands/test_welcome.py",  # click
    "tests/apiserver/testing/test_fixture_scopes.py",  # pytest
)
NOBODY = 65534
"""The id of a user without rights, on every Linux."""
IN_PROCESS = "not (processes or database or browser)"


@dataclass(frozen=True, slots=True)
class Row:
    """An environment, and what runs in it."""

    name: str
    python: str = "3.11"
    pins: tuple[str, ...] = ()
    """Requirements in addition to those of the project."""
    is_lowest: bool = False
    """Whether each requirement has its lowest version."""
    extras: tuple[str, ...] = ("postgresql", "speed")
    without: tuple[str, ...] = ()
    """Distributions that are removed again."""
    variables: Mapping[str, str] = field(default_factory=dict)
    options: tuple[str, ...] = ()
    """Options of Python."""
    circumstance: str = ""
    """home, path, user or umask; see `_Place`."""
    is_whole: bool = False
    """Whether the tests of `make test` run."""


ROWS = (
    Row("lowest", is_lowest=True),
    Row("newest"),
    Row("python-3.12", python="3.12"),
    Row("python-3.13", python="3.13"),
    Row("python-3.14", python="3.14"),
    Row("python-3.15", python="3.15"),
    *(Row(f"aiohttp-{version}", pins=(f"aiohttp=={version}",)) for version in AIOHTTP),
    Row("sqlalchemy-2.0", pins=("sqlalchemy==2.0.*",)),
    Row("sqlalchemy-2.1", pins=("sqlalchemy>=2.1.0b1,<2.2",)),
    Row("pytest-8.2", pins=("pytest==8.2.*",)),
    Row("without-uvloop", without=("uvloop",)),
    Row("without-isal", without=("isal",)),
    Row("optimized", variables={"PYTHONOPTIMIZE": "2"}),
    Row("development-mode", options=("-X", "dev", "-W", "error")),
    Row("locale-c", variables={"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0"}),
    Row("time-zone", variables={"TZ": "Pacific/Chatham"}),
    Row("read-only-home", circumstance="home"),
    Row("path-with-spaces", circumstance="path"),
    Row("ordinary-user", circumstance="user"),
    Row("umask-077", circumstance="umask"),
    *(Row(f"make-test-{each}", python=each, is_whole=True) for each in ("3.11", "3.12", "3.13")),
)
"""In the order of the table."""


class Skipped(Exception):
    """A row that cannot run here."""


@dataclass(frozen=True, slots=True)
class Result:
    """The outcome of a row."""

    row: Row
    outcome: str
    """The summary of pytest, or why nothing ran."""
    is_failure: bool
    versions: str = ""
    seconds: float = 0.0
    output: str = ""


class Place:
    """The folders of a row, and the circumstances in which its commands run."""

    def __init__(self, row: Row, folder: Path, wheel: Path) -> None:
        self.row = row
        self.folder = folder / ("où, 漢 字" if row.circumstance == "path" else row.name)
        self.folder.mkdir()
        self.wheel = wheel
        self.environment = self.folder / "environment"
        self.python = self.environment / "bin/python"

    def install(self) -> str:
        """Create the environment. Returns the versions of its interpreter and of some packages."""
        row = self.row
        uv("venv", "-q", "-p", self._interpreter(), str(self.environment))
        install = ("pip", "install", "-q", "-p", str(self.python))
        extras = row.extras if not row.is_whole else (*row.extras, "test")
        wanted = [f"--extra={each}" for each in extras]
        if row.is_lowest:
            wanted += ["--resolution", "lowest-direct"]
        uv(*install, "-r", str(ROOT / "pyproject.toml"), *wanted, *row.pins)
        uv(*install, "--no-deps", str(self.wheel))
        uv(*install, *TOOLS, *row.pins)  # the newest that fit: the tests are no part of the row
        if row.without:
            uv("pip", "uninstall", "-q", "-p", str(self.python), *row.without)
        return self._versions()

    def _interpreter(self) -> str:
        """Return the interpreter of the row. Raises Skipped."""
        command = [UV, "python", "find", "--no-python-downloads", "--no-project", self.row.python]
        pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))  # uv sees only its shims
        places = [str(each) for each in pyenv.glob(f"versions/{self.row.python}.*/bin")]
        path = os.pathsep.join([*places, os.environ["PATH"]])
        found = subprocess.run(
            command, capture_output=True, text=True, check=False, env={**os.environ, "PATH": path}
        )
        if found.returncode:
            raise Skipped(f"no Python {self.row.python} on this machine")
        if self.row.circumstance != "user":
            return found.stdout.strip()
        if os.name == "nt" or os.getuid() != 0:
            raise Skipped("only root can become another user, who runs all other rows")
        return str(self._shared(Path(found.stdout.strip())))

    def _shared(self, interpreter: Path) -> Path:
        """Return an interpreter that other users can run: a copy, if its folders are private."""
        real = interpreter.resolve()
        if all(each.stat().st_mode & 0o001 for each in (real, *real.parents)):
            return real
        copy = self.folder / "python"
        shutil.copytree(real.parents[1], copy, symlinks=True)
        return copy / "bin" / real.name

    def _versions(self) -> str:
        names = ("aiohttp", "SQLAlchemy", "pydantic", "pytest")
        program = (
            "import platform; from importlib.metadata import version; "
            "print('Python', platform.python_version(), end='')\n"
            f"for name in {names}: print(',', name, version(name), end='')"
        )
        return subprocess.check_output([self.python, "-c", program], text=True).strip()

    def run(self, jobs: str) -> tuple[int, str]:
        """Run the tests. Returns the code of pytest and its output."""
        tests = ["tests", "-m", IN_PROCESS] if self.row.is_whole else [*SUITE]
        command = [str(self.python), *self.row.options, "-m", "pytest", "-q", "-n", jobs]
        command += ["-W", "default::pytest.PytestWarning"]  # of PYTHONOPTIMIZE
        command += ["-p", "no:cacheprovider", "--basetemp", str(self.folder / "temporary"), *tests]
        tree, user = ROOT, None
        if self.row.circumstance in ("user", "path"):
            tree = self.folder / "tree"
            self._copy_tree(tree)
        if self.row.circumstance == "user":
            user = NOBODY
            subprocess.run(["chown", "-R", str(user), str(self.folder)], check=True)
        limit = LIMIT * (4 if self.row.is_whole else 1)
        done = subprocess.run(
            command, cwd=tree, env=self._variables(), capture_output=True, text=True,
            check=False, timeout=limit, errors="replace",
            umask=0o077 if self.row.circumstance == "umask" else -1, user=user,
        )  # fmt: skip
        return done.returncode, done.stdout + done.stderr

    def _copy_tree(self, tree: Path) -> None:
        listed = subprocess.check_output(["git", "-C", str(ROOT), "ls-files", "-z"]).split(b"\0")
        for name in (os.fsdecode(each) for each in listed if each):
            if (ROOT / name).is_file():
                (tree / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, tree / name)

    def _variables(self) -> dict[str, str]:
        variables = {**os.environ, "INKUBE_PATIENCE": os.environ.get("INKUBE_PATIENCE", "3")}
        for name in ("PYTHONPATH", "VIRTUAL_ENV", "INKUBE_HTTP"):
            variables.pop(name, None)
        if self.row.circumstance == "home":
            variables["HOME"] = "/proc"  # where not even root can write
        if self.row.circumstance == "user":
            variables["HOME"] = str(self.folder)
            # a copied interpreter would load the library of another one
            variables["LD_LIBRARY_PATH"] = str(self.folder / "python/lib")
        variables["PATH"] = f"{self.environment / 'bin'}:{variables['PATH']}"
        return {**variables, **self.row.variables}


UV = shutil.which("uv") or shutil.which("uv", path=Path(sys.executable).parent) or ""
"""The program, of the system or of this environment."""


def uv(*arguments: str) -> None:
    """Run uv. Raises Skipped if a package does not exist for this Python, else RuntimeError."""
    done = subprocess.run([UV, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        reason = done.stderr.strip()
        if "no version" in reason or "no wheels" in reason:
            raise Skipped(" ".join(reason.split())[:200])
        raise RuntimeError(reason)


def result(row: Row, folder: Path, wheel: Path, jobs: str) -> Result:
    """Run a row."""
    began = time.monotonic()
    try:
        place = Place(row, folder, wheel)
        versions = place.install()
        code, output = place.run(jobs)
    except Skipped as error:
        return Result(row, f"skipped: {error}", is_failure=False)
    except subprocess.TimeoutExpired:
        return Result(row, f"no end after {LIMIT} s", is_failure=True)
    except RuntimeError as error:
        return Result(row, "cannot be installed", is_failure=True, output=str(error))
    lines = output.strip().splitlines() or [""]
    summary = next((line for line in reversed(lines) if re.search(r" in \d", line)), lines[-1])
    outcome = re.sub(r" in [\d.]+s.*|=+", "", summary).strip()
    seconds = time.monotonic() - began
    shutil.rmtree(place.folder, ignore_errors=True)
    return Result(row, outcome, code != 0, versions, seconds, output if code else "")


def write(page: Path, result: Result) -> None:
    """Replace a row of the table in a page, or add it."""
    before, rest = page.read_text(encoding="utf-8").split(BEGIN)
    written, after = rest.split(END)
    found = re.findall(r"^\| `([^`]+)` .*\n", written, re.MULTILINE)
    lines = dict(zip(found, re.findall(r"^\| `.*\n", written, re.MULTILINE), strict=True))
    lines[result.row.name] = _line(result)
    ordered = (lines[row.name] for row in ROWS if row.name in lines)
    head = "| Row | Versions | Result | Run on |\n| --- | --- | --- | --- |\n"
    page.write_text(f"{before}{BEGIN}{head}{''.join(ordered)}{END}{after}", encoding="utf-8")


def _line(result: Result) -> str:
    failed = "**failed**: " if result.is_failure else ""
    system = f"{dt.date.today().isoformat()}, {platform.system()}"  # noqa: DTZ011 # for people
    return f"| `{result.row.name}` | {result.versions} | {failed}{result.outcome} | {system} |\n"


def build(folder: Path) -> Path:
    """Return a wheel of this tree."""
    subprocess.run([UV, "build", "-q", "--wheel", "-o", str(folder), str(ROOT)], check=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rows", nargs="*", metavar="ROW", help="all without any: see --list")
    parser.add_argument("--list", action="store_true", help="print the names of the rows")
    parser.add_argument("--jobs", default="2", help="processes of pytest in a row")
    parser.add_argument("--page", type=Path, help="a page whose table is replaced")
    arguments = parser.parse_args()
    unknown = {*arguments.rows} - {row.name for row in ROWS}
    if unknown or not UV:
        parser.error(f"no row {', '.join(sorted(unknown))}" if unknown else "uv is not installed")
    if arguments.list:
        print(*(row.name for row in ROWS), sep="\n")
        return
    chosen = [row for row in ROWS if row.name in arguments.rows or not arguments.rows]
    results = []
    with tempfile.TemporaryDirectory(prefix="inkube-matrix-") as name:
        Path(name).chmod(0o755)  # for the row of another user
        wheel = build(Path(name))
        for row in chosen:
            results.append(result(row, Path(name), wheel, arguments.jobs))
            last = results[-1]
            if arguments.page:
                write(arguments.page, last)
            print(f"{'FAILED' if last.is_failure else 'ok':6} {row.name:20} {last.outcome}", end="")
            print(f" in {last.seconds:.0f} s\n{last.output[-6000:]}".rstrip(), flush=True)
    sys.exit(any(each.is_failure for each in results))


if __name__ == "__main__":
    main()
