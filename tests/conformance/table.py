"""How much of kube-apiserver's recorded behaviour holds: starts a server, replays, counts.

    python tests/conformance/table.py                    # the tables
    python tests/conformance/table.py --json counts.json # and the counts, for the floor
    python tests/conformance/table.py --only replay      # or kubectl

The server runs as the recordings were made: with RBAC and two tokens.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).parent
TOKEN = "anchor-admin-token"
TOKENS = (
    f"{TOKEN},admin,admin-uid,system:masters\nanchor-user-token,plain-user,plain-uid,plain-group\n"
)
# Recordings of what is not built yet: they are shown, and counted for the floor like the others.
GRADES = {"FAILED": 0, "status": 1, "contract": 2}
_STEP = re.compile(r"^   (FAILED|status|contract): ")
_COMMAND = re.compile(r"^[a-z-]+: (FAILED|code|shape): ")


@contextmanager
def server() -> Iterator[str]:
    """A server of its own, ready; yields its URL."""
    with tempfile.TemporaryDirectory() as folder:
        tokens = Path(folder) / "tokens.csv"
        tokens.write_text(TOKENS)
        command = [
            sys.executable, "-m", "inkube.apiserver.cli", "serve", "--in-memory", "--port", "0",
            "--authorization-mode", "RBAC", "--token-auth-file", str(tokens),
            "--kubeconfig", str(Path(folder) / "kubeconfig"), "--quiet",
        ]  # fmt: skip
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
                process.wait(10)


def replay(url: str) -> tuple[str, Counter[str]]:
    """Every conversation; the report and the counts of steps per grade."""
    text = _run("replay.py", "--url", url, "--token", TOKEN, str(HERE / "cases"))
    steps = int(re.findall(r"^all\s+(\d+)", text, re.MULTILINE)[-1])
    below = Counter(match[1] for line in text.splitlines() if (match := _STEP.match(line)))
    return text, _counts(steps, below, ("status", "contract", "exact"))


def kubectl(url: str, client: str) -> tuple[str, Counter[str]]:
    """Every transcript with a kubectl; the report and the counts of commands per grade."""
    text = _run(
        "kubectl.py", "--server", url, "--token", TOKEN, "--kubectl", client, str(HERE / "kubectl")
    )
    commands = int(re.findall(r"^all\s+(\d+)", text, re.MULTILINE)[-1])
    found = (match for line in text.splitlines() if (match := _COMMAND.match(line)))
    names = {"FAILED": "FAILED", "code": "status", "shape": "contract"}
    below = Counter(names[match[1]] for match in found)
    return text, _counts(commands, below, ("code", "shape", "exact"))


def _counts(total: int, below: Counter[str], grades: tuple[str, str, str]) -> Counter[str]:
    counts = Counter({"total": total})
    for level, grade in enumerate(grades):
        missed = sum(n for name, n in below.items() if GRADES[name] <= level)
        counts[grade] = total - missed
    return counts


def _run(script: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, str(HERE / script), *arguments],
        capture_output=True, text=True, check=False, timeout=840,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"{script} failed: {done.stderr[-2000:]}")
    return done.stdout


def reference_kubectl() -> str | None:
    """kubectl 1.33, whose words the transcripts recorded; None where there is none."""
    found = shutil.which("kubectl.1.33")
    if found is None and (any_client := shutil.which("kubectl")):
        beside = Path(any_client).resolve().parent / "kubectl.1.33"
        found = str(beside) if beside.exists() else None
    return found


def main() -> int:
    """Print the tables; write the counts where asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="write the counts here")
    parser.add_argument("--only", choices=("replay", "kubectl"))
    options = parser.parse_args()
    counts: dict[str, Counter[str]] = {}
    client = reference_kubectl()
    with server() as url:
        if options.only != "kubectl":
            text, counts["replay"] = replay(url)
            print(text)
        if options.only != "replay" and client is not None:
            text, counts["kubectl"] = kubectl(url, client)
            print(text)
    if options.json:
        options.json.write_text(json.dumps(counts, indent=1, sort_keys=True) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
