"""The console's JavaScript modules without a browser: their syntax, and the results of
functions."""

import shutil
import subprocess
from pathlib import Path

import pytest
from patience import SECONDS

from inkube.apiserver.console.pages import FOLDER

NODE = shutil.which("node") or ""
pytestmark = pytest.mark.skipif(not NODE, reason="no node is installed")
MODULES = sorted(
    path for path in FOLDER.glob("*.js") if path.name not in ("recorded.js", "theme.js")
)
"""Two are plain scripts, because modules run too late for them."""


PARSE = """
const fs = await import("node:fs"), vm = await import("node:vm");
for (const file of process.argv.slice(1)) {
  const text = fs.readFileSync(file, "utf-8");
  if (/(?:theme|recorded)[.]js$/.test(file)) new vm.Script(text, { filename: file });
  else new vm.SourceTextModule(text, { identifier: file });
}
"""


def test_every_module_parses():
    files = [*MODULES, FOLDER / "theme.js", FOLDER / "recorded.js"]
    done = subprocess.run(
        [NODE, "--experimental-vm-modules", "--input-type=module", "--eval", PARSE, *files],
        capture_output=True, text=True, timeout=SECONDS,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_the_modules_compute_what_they_should():
    file = Path(__file__).parent / "modules.test.mjs"
    done = subprocess.run(
        [NODE, "--test", file], capture_output=True, text=True, timeout=2 * SECONDS
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.name)
def test_a_module_begins_with_a_comment_and_is_short(path):
    lines = path.read_text("utf-8").splitlines()
    assert lines[0].startswith("// ")
    assert len(lines) < 300
