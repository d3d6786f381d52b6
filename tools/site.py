"""What the site of docs/ is made of beside its pages: the reference, made from the code.

A hook of MkDocs (`mkdocs.yml`). A page that nobody listed, and a link out of docs/, are errors that
say what to do.
"""

import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tools"))

import reference  # noqa: E402 # beside this file, which is no package
from mkdocs.config.defaults import MkDocsConfig  # noqa: E402
from mkdocs.exceptions import PluginError  # noqa: E402
from mkdocs.structure.files import File, Files  # noqa: E402

_OUTSIDE = re.compile(r"\]\(((?:\.\./)+[^)#]*)")


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add the pages that are made from the code; every page has its place in the navigation."""
    for name, text in reference.pages().items():
        files.append(File.generated(config, name, content=text))
    listed = set(_listed(config.nav))
    found = [file.src_uri for file in files.documentation_pages()]
    stray = [name for name in found if name not in listed and not name.startswith("fields/")]
    if stray:
        names = ", ".join(f"docs/{name}" for name in stray)
        raise PluginError(
            f"{names} has no place on the site: list it under `nav` in mkdocs.yml, "
            "where a reader would look for it"
        )
    return files


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Pages stand by themselves: what lies outside of docs/ is named, not linked."""
    here = (Path(page.file.src_uri)).parent
    for link in _OUTSIDE.findall(markdown):
        if ".." in Path(*_resolved(here / link)).parts[:1]:
            raise PluginError(
                f"docs/{page.file.src_uri} links to {link}, which is no page: name it in `code`"
            )
    return markdown


def _listed(nav: Any) -> list[str]:
    """The pages in a navigation, at any depth."""
    if isinstance(nav, str):
        return [nav]
    if isinstance(nav, dict):
        nav = list(nav.values())
    return [page for item in nav or [] for page in _listed(item)]


def _resolved(path: Path) -> list[str]:
    parts: list[str] = []
    for part in path.parts:
        if part == ".." and parts and parts[-1] != "..":
            parts.pop()
        else:
            parts.append(part)
    return parts or ["."]
