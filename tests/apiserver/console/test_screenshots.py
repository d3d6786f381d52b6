"""The screenshots in README and docs are taken from the real console."""

import re
import subprocess
import sys
from pathlib import Path

from patience import SECONDS

ROOT = Path(__file__).parents[3]
PNG = b"\x89PNG\r\n\x1a\n"


def test_the_script_takes_every_picture_that_is_shown(browser, tmp_path):
    command = [sys.executable, ROOT / "tools/screenshots.py", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, timeout=2 * SECONDS)
    assert done.returncode == 0, done.stderr
    taken = {path.name for path in tmp_path.iterdir()}
    assert all((tmp_path / name).read_bytes().startswith(PNG) for name in taken)
    assert taken == {path.name for path in (ROOT / "docs/images").glob("console-*.png")}
    text = (ROOT / "README.md").read_text() + (ROOT / "docs/console.md").read_text()
    shown = set(re.findall(r"images/(console-[\w-]+\.png)", text))
    assert shown == taken


def test_readme_shows_one():
    shown = re.findall(r"docs/images/(console-[\w-]+\.png)", (ROOT / "README.md").read_text())
    assert len(shown) == 1
    assert (ROOT / "docs/images" / shown[0]).exists()
