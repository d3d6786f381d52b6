"""How much of kube-apiserver's recorded behaviour holds: starts a server and replays.

    python tests/conformance/table.py                    # the tables
    python tests/conformance/table.py --json floor.json  # and what is not exact, for the floor
    python tests/conformance/table.py --only replay      # or kubectl
    python tests/conformance/table.py --log postgresql   # or sqlite: where the server keeps it all
    python tests/conformance/table.py --workers 2        # processes, on a file unless --log says so
    python tests/conformance/table.py --version 1.33     # another minor than the newest

The server runs as the recordings were made: with RBAC and two tokens.
"""

import argparse
import asyncio
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
WORKLOADS = HERE / "workloads"
TOKEN = "anchor-admin-token"
TOKENS = (
    f"{TOKEN},admin,admin-uid,system:masters\nanchor-user-token,plain-user,plain-uid,plain-group\n"
)
ALONE = ("--no-controllers", "--disable-admission-plugins", "ResourceQuota")
"""The options for older minors. In their recordings, the controllers were those of the newest
minor, which did nothing, and no quota was enforced."""
GRADES = {"FAILED": 0, "status": 1, "code": 1, "contract": 2, "shape": 2, "exact": 3}
"""The rank of each grade of the two replayers."""
_CLUSTER = re.compile(r"^tags: .*\bcluster\b", re.MULTILINE)
_CASE = re.compile(r"^[a-z0-9-]+$")
_STEP = re.compile(r"^   (FAILED|status|contract): (.*)")
_COMMAND = re.compile(r"^([a-z0-9-]+): (FAILED|code|shape): (.*)")


class Held(NamedTuple):
    """The result of a replay: a report for people, the number of steps, and the grades of the
    inexact ones by `CASE: STEP`."""

    report: str
    total: int
    below: dict[str, str]


@contextmanager
def place_of(log: str, folder: Path) -> Iterator[list[str]]:
    """The options of a server that stores everything in this log."""
    if log == "postgresql":
        sys.path.append(str(HERE.parent / "support"))
        import postgresql

        with postgresql.cluster() as cluster:
            yield ["--database", asyncio.run(cluster.database())]
    else:
        yield ["--in-memory"] if log == "memory" else ["--data", str(folder / "inkube.db")]


@contextmanager
def server(log: str = "memory", *, extra: Sequence[str] = ()) -> Iterator[str]:
    """Start a server with its own log; yields its URL when it is ready."""
    with (
        tempfile.TemporaryDirectory() as folder,
        place_of(log, Path(folder)) as place,
    ):
        tokens = Path(folder) / "tokens.csv"
        tokens.write_text(TOKENS)
        command = [
            sys.executable, "-m", "inkube.apiserver.cli", "serve", *place, "--port", "0",
            "--authorization-mode", "RBAC", "--token-auth-file", str(tokens),
            "--kubeconfig", str(Path(folder) / "kubeconfig"), "--quiet", *extra,
        ]  # fmt: skip
        with _started(command) as url:
            yield url


@contextmanager
def living_server() -> Iterator[str]:
    """Start a server with controllers of workloads; yields its URL."""
    with _started([sys.executable, str(WORKLOADS / "serve.py")]) as url:
        yield url


@contextmanager
def _started(command: list[str]) -> Iterator[str]:
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            line = process.stdout.readline()
            url = re.search(r"https?://\S+", line)
            if url is None:
                raise RuntimeError(f"the server did not start: {line!r}")
            yield url[0]
        finally:
            process.terminate()
            process.wait(60)


def replay(url: str, *cases: str, version: str = "") -> Held:
    """Replay every conversation, or those whose names match patterns; for a minor such as 1.33."""
    found = sorted(path for each in cases for path in (HERE / "cases").glob(f"{each}.yaml"))
    chosen = map(str, found or [HERE / "cases"])
    minor = ["--version", version] if version else []
    return _held(_run("replay.py", "--url", url, "--token", TOKEN, *minor, *chosen))


def workloads(url: str) -> Held:
    """Replay every conversation about workloads: those that count nodes one by one, the others
    concurrently. Steps wait for their results, so the time is that of the slowest ones."""
    files = sorted((WORKLOADS / "cases").glob("*.yaml"))
    alone = [path for path in files if _CLUSTER.search(path.read_text())]
    beside = [path for path in files if path not in alone]
    parts = [
        _held(_run("replay.py", "--url", url, "-j", jobs, *map(str, chosen)))
        for jobs, chosen in (("4", beside), ("1", alone))
    ]
    report = "\n".join(part.report for part in parts)
    below = {name: grade for part in parts for name, grade in part.below.items()}
    return Held(report, sum(part.total for part in parts), below)


def _held(text: str) -> Held:
    found, case = [], ""
    for line in text.splitlines():
        if _CASE.match(line):
            case = line
        elif match := _STEP.match(line):
            found.append((f"{case}: {match[2]}", match[1]))
    return Held(text, _total(text), _named(found))


def kubectl(url: str, client: str, *, of: Path = HERE, token: str = TOKEN) -> Held:
    """Run every transcript in a folder's `kubectl` with a kubectl. Those about workloads run one by
    one, because one drains the node on which pods of another run."""
    rights = ["--token", token] if token else []
    jobs = ["--jobs", "1" if of == WORKLOADS else "2"]
    folder = str(of / "kubectl")
    text = _run("kubectl.py", "--server", url, *rights, *jobs, "--kubectl", client, folder)
    found = [match for line in text.splitlines() if (match := _COMMAND.match(line))]
    return Held(text, _total(text), _named((f"{m[1]}: {m[3]}", m[2]) for m in found))


def _total(report: str) -> int:
    return int(re.findall(r"^all\s+(\d+)", report, re.MULTILINE)[-1])


def _named(found: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Names with their grades. Repeated names are numbered."""
    below: dict[str, str] = {}
    seen = Counter[str]()
    for name, grade in found:
        seen[name] += 1
        below[name if seen[name] == 1 else f"{name} ({seen[name]})"] = grade
    return below


def _run(script: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, str(HERE / script), *arguments],
        capture_output=True, text=True, check=False, timeout=840,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"{script} failed: {done.stderr[-2000:]}")
    return done.stdout


def reference_kubectl() -> str | None:
    """kubectl 1.33, with which the transcripts were recorded; None if it is not installed."""
    found = shutil.which("kubectl.1.33")
    if found is None and (any_client := shutil.which("kubectl")):
        beside = Path(any_client).resolve().parent / "kubectl.1.33"
        found = str(beside) if beside.exists() else None
    return found


def main() -> int:
    """Print the tables. On request, write the inexact steps."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="write the steps below exact here")
    parser.add_argument("--only", choices=("replay", "kubectl", "workloads"))
    parser.add_argument("--log", choices=("memory", "sqlite", "postgresql"))
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--version", default="", help="a minor such as 1.33")
    options = parser.parse_args()
    log = options.log or ("memory" if options.workers == 1 else "sqlite")
    below: dict[str, dict[str, str]] = {}
    client = reference_kubectl()
    asked = (options.only,) if options.only else ("replay", "kubectl", "workloads")
    extra = ["--workers", str(options.workers), "--kubernetes-version", options.version]
    if options.version:
        asked = ("replay",)
        extra += ALONE
    if "workloads" in asked:
        with living_server() as url:
            below["workloads"] = _shown(workloads(url))
            if client is not None:
                held = kubectl(url, client, of=WORKLOADS, token="")
                below["workloads kubectl"] = _shown(held)
    with server(log, extra=extra) as url:
        if "replay" in asked:
            below["replay"] = _shown(replay(url, version=options.version))
        if "kubectl" in asked and client is not None:
            below["kubectl"] = _shown(kubectl(url, client))
    if options.json:
        options.json.write_text(json.dumps(below, indent=1, sort_keys=True) + "\n")
    return 0


def _shown(held: Held) -> dict[str, str]:
    print(held.report)
    return held.below


if __name__ == "__main__":
    sys.exit(main())
