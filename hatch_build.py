"""Build hook: the four root folders become the package `inkube`.

A wheel renames them (pyproject's `sources`); this hook adds the files that `sources` cannot
rename. An editable install cannot rename, so relative links are laid under `.editable/inkube/`.
"""

import contextlib
import os
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FILES = {
    "apiserver/_client.py": "client.py",
    "apiserver/_client.pyi": "client.pyi",
    "apiserver/_facade.py": "__init__.py",
    "apiserver/_facade.pyi": "__init__.pyi",
    "apiserver/_kinds.py": "kinds.py",
    "apiserver/_kinds.pyi": "kinds.pyi",
    "apiserver/_main.py": "__main__.py",
    "apiserver/_testing.py": "testing.py",
    "apiserver/_testing.pyi": "testing.pyi",
    "apiserver/py.typed": "py.typed",
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
                build_data["force_include"][str(root / source)] = f"inkube/{target}"
            return
        link(root)


def examples(root: Path) -> dict[str, str]:
    """The files that `inkube example` writes, at the same place in the package."""
    return {
        str(path.relative_to(root)): path.relative_to(root).as_posix()
        for path in sorted((root / "examples").rglob("*"))
        if path.is_file() and not BUILT & set(path.parts)
    }


def link(root: Path) -> None:
    """Lay the links of an editable install under `.editable/inkube/`; those that are right stay."""
    package = root / ".editable" / "inkube"
    package.mkdir(parents=True, exist_ok=True)
    for source, target in {**FILES, **{name: name for name in FOLDERS}}.items():
        place, goal = package / target, os.path.relpath(root / source, package)
        if place.is_symlink():
            if os.readlink(place) == goal:
                continue
            place.unlink(missing_ok=True)
        with contextlib.suppress(FileExistsError):  # another process was faster
            place.symlink_to(goal)
