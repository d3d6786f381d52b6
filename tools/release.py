"""Checks that a tag can be released, and prints its notes: `python tools/release.py v1.2.3`.

The tag must be the version in pyproject.toml, and the changelog must have a section for it, which
becomes the notes. It runs in an action of GitHub, and needs only Python 3.11.
"""

import os
import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def notes(tag: str, project: str, changelog: str, address: str) -> str:
    """Return the section of a changelog for a tag, with links to the repository at an address.
    Raises ValueError if the tag cannot be released."""
    version = tomllib.loads(project)["project"]["version"]
    if tag != f"v{version}":
        raise ValueError(f"the tag is {tag}, and the version in pyproject.toml is {version}")
    heading = rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d\n"
    section = re.search(rf"{heading}(.*?)(?=^## |\Z)", changelog, re.MULTILINE | re.DOTALL)
    if section is None:
        raise ValueError(f"CHANGELOG.md has no section `## [{version}] - YEAR-MONTH-DAY`")
    text = re.sub(r"\]\((?!https?:)", f"]({address}/blob/{tag}/", section[1])
    return text.strip() + "\n"


def main() -> None:
    project, changelog = ((ROOT / name).read_text() for name in ("pyproject.toml", "CHANGELOG.md"))
    server, name = (os.environ[f"GITHUB_{part}"] for part in ("SERVER_URL", "REPOSITORY"))
    try:
        print(notes(sys.argv[1], project, changelog, f"{server}/{name}"), end="")
    except ValueError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
