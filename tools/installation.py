"""The requirement with which users install inkube, in every text that shows it.

Before the first release to a package index, texts name a clone in the same folder (`BESIDE`) or the
repository (`REMOTE`, where no clone is). On the day of the release, set `INDEX_NAME = "inkube"` and
run this file: it replaces both, and removes each paragraph that begins with `UNRELEASED`.

    python tools/installation.py    rewrites the texts; prints the changed files
"""

import re
from collections.abc import Iterator
from pathlib import Path

INDEX_NAME: str | None = None
"""The name on the package index. None: inkube is not on an index yet."""
BESIDE = "./inkube"
REMOTE = "git+https://github.com/OWNER/inkube"
UNRELEASED = "<!-- until inkube is on a package index -->\n"

ROOT = Path(__file__).parents[1]
TEXTS = ("*.md", "*.yml", "docs/**/*.md", "examples/**/*", "deploy/**/*", ".github/**/*")
_BEGINNING = r"\b(?:pip3? install|uv add|uv tool install|pipx install|pipx run --spec|uvx --from)"
_REQUIREMENT = re.compile(
    rf"(?P<before>{_BEGINNING}[^\n|`]*?[ '\"`])"
    rf"(?P<name>{re.escape(BESIDE)}|{re.escape(REMOTE)}|inkube)"
    r"(?=(?:\[[\w,]+\])?(?:['\"`\s]|$))",
    re.MULTILINE,
)
"""The beginning of an installation, and the first requirement in it that is inkube."""


def texts() -> Iterator[Path]:
    """Yield the files that users read or copy. The changelog describes the past."""
    for pattern in TEXTS:
        for path in sorted(ROOT.glob(pattern)):
            if path.suffix in {".md", ".yaml", ".yml", ".service"} and path.name != "CHANGELOG.md":
                yield path


def requirements(text: str) -> list[str]:
    """Return the names by which the installations in a text call inkube."""
    return [found["name"] for found in _REQUIREMENT.finditer(text)]


def released(text: str, name: str) -> str:
    """Return a text as it is after the release with that name."""
    text = re.sub(rf"{re.escape(UNRELEASED)}(?:.+\n)+\n?", "", text)
    return _REQUIREMENT.sub(lambda found: found["before"] + name, text)


def main() -> None:
    if INDEX_NAME is None:
        raise SystemExit(f"set INDEX_NAME in {__file__} first")
    for path in texts():
        before = path.read_text()
        if (after := released(before, INDEX_NAME)) != before:
            path.write_text(after)
            print(path.relative_to(ROOT))


if __name__ == "__main__":
    main()
