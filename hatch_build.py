"""Hooks of the build: the four root folders become the package `inkube`, and its page gets links.

A wheel renames the folders (pyproject's `sources`); the build hook adds the files that `sources`
cannot rename. An editable install cannot rename, so relative links are laid under
`.editable/inkube/`.

The address of the repository is that of the place of the build (`repository`), because a copy of
the project can be anywhere. From it, the metadata hook creates the project's URLs and makes the
links of README absolute, which a package index needs.
"""

import contextlib
import os
import re
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

ROOT = Path(__file__).parent
PAGES = {
    "Homepage": "",
    "Documentation": "/blob/{tag}/docs/index.md",
    "Changelog": "/blob/{tag}/CHANGELOG.md",
    "Issues": "/issues",
    "Source": "/tree/{tag}",
}
"""The project's URLs below the address of the repository."""
_LINK = re.compile(r"(?P<image>!?)\[(?P<text>[^]]*)\]\((?!https?://|#)(?P<place>[^)]+)\)")
_SSH = re.compile(r"(?:ssh://)?git@([^:/]+)[:/](.+)")
_PASSWORD = re.compile(r"(?<=://)[^/@]*@")

FILES = {
    "apiserver/_client.py": "inkube/client.py",
    "apiserver/_client.pyi": "inkube/client.pyi",
    "apiserver/_explore.py": "inkube/explore.py",
    "apiserver/_explore.pyi": "inkube/explore.pyi",
    "apiserver/_facade.py": "inkube/__init__.py",
    "apiserver/_facade.pyi": "inkube/__init__.pyi",
    "apiserver/_formats.py": "inkube/formats.py",
    "apiserver/_formats.pyi": "inkube/formats.pyi",
    "apiserver/_kinds.py": "inkube/kinds.py",
    "apiserver/_kinds.pyi": "inkube/kinds.pyi",
    "apiserver/_main.py": "inkube/__main__.py",
    "apiserver/_pytestplugin.py": "_inkube_pytestplugin.py",
    "apiserver/_testing.py": "inkube/testing.py",
    "apiserver/_testing.pyi": "inkube/testing.pyi",
    "apiserver/py.typed": "inkube/py.typed",
}
BUILT = {"lib", "node_modules", "__pycache__"}
FOLDERS = ("apiserver", "storage", "controllers", "schemas")


class InkubeBuildHook(BuildHookInterface):  # type: ignore[type-arg] # hatchling's own generic
    """See the module's docstring."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the facade to a standard wheel, or link the folders for an editable one."""
        root = Path(self.root)
        if version == "standard":
            for source, target in {**FILES, **examples(root)}.items():
                build_data["force_include"][str(root / source)] = target
            return
        link(root)


class InkubeMetadataHook(MetadataHookInterface):
    """See the module's docstring."""

    PLUGIN_NAME = "custom"

    def update(self, metadata: dict[str, Any]) -> None:
        """Add README, and the project's URLs if the repository has an address."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        if address := repository():
            tag = f"v{metadata['version']}"
            metadata["urls"] = {
                name: address + place.format(tag=tag) for name, place in PAGES.items()
            }
            text = absolute(text, address, tag)
        metadata["readme"] = {"content-type": "text/markdown", "text": text}


def repository() -> str | None:
    """Return the address of the repository's pages, or None without a remote with pages.

    This is INKUBE_REPOSITORY, the repository of a GitHub action, or git's remote `origin`.
    """
    server, name = os.environ.get("GITHUB_SERVER_URL"), os.environ.get("GITHUB_REPOSITORY")
    found = os.environ.get("INKUBE_REPOSITORY") or (f"{server}/{name}" if server and name else "")
    if not found:
        command = ["git", "-C", str(ROOT), "remote", "get-url", "origin"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 # fixed
        except OSError:  # git is not installed
            return None
        found = done.stdout.strip()
    if ssh := _SSH.fullmatch(found):
        found = f"https://{ssh[1]}/{ssh[2]}"
    found = _PASSWORD.sub("", found).removesuffix(".git")
    return found if found.startswith(("https://", "http://")) else None


def absolute(text: str, address: str, tag: str) -> str:
    """Return a page with the links and images that it has in the repository, at the state of a
    tag."""

    def link(found: re.Match[str]) -> str:
        view = "raw" if found["image"] else "blob"
        return f"{found['image']}[{found['text']}]({address}/{view}/{tag}/{found['place']})"

    return _LINK.sub(link, text)


def examples(root: Path) -> dict[str, str]:
    """Return the files that `inkube example` writes, at the same place in the package."""
    return {
        str(path.relative_to(root)): f"inkube/{path.relative_to(root).as_posix()}"
        for path in sorted((root / "examples").rglob("*"))
        if path.is_file() and not BUILT & set(path.parts)
    }


def link(root: Path) -> None:
    """Lay the links of an editable install under `.editable/`; those that are right stay."""
    base = root / ".editable"
    (base / "inkube").mkdir(parents=True, exist_ok=True)
    for source, target in {**FILES, **{name: f"inkube/{name}" for name in FOLDERS}}.items():
        place = base / target
        goal = os.path.relpath(root / source, place.parent)
        if place.is_symlink():
            if os.readlink(place) == goal:
                continue
            place.unlink(missing_ok=True)
        with contextlib.suppress(FileExistsError):  # another process was faster
            place.symlink_to(goal)
