"""The hook of MkDocs (`mkdocs.yml`) for the site of docs/.

It adds the reference, which comes from the code; the version and a link to the repository; and the
text for the copy button of a console, which contains only commands. A page that is not listed, and
a link out of docs/, are errors with advice.
"""

import html as markup
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]

import reference  # noqa: E402 # next to this file, which is not in a package
from mkdocs.config.defaults import MkDocsConfig  # noqa: E402
from mkdocs.exceptions import PluginError  # noqa: E402
from mkdocs.structure.files import File, Files  # noqa: E402

import hatch_build  # noqa: E402 # at the root, which is not a package
import inkube  # noqa: E402

_OUTSIDE = re.compile(r"\]\(((?:\.\./)+[^)#]*)")
_HIGHLIGHTED = re.compile(r'<div class="highlight">(.*?)</div>', re.DOTALL)
_PROMPT = '<span class="gp">$ </span>'
_CODE = re.compile(r"`[^`\n]+`")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Show the version, and link to the repository if it is known."""
    config.copyright = f"inkube {inkube.__version__} · Apache License 2.0"
    config.extra["version_of_inkube"] = inkube.__version__
    config.repo_url = hatch_build.repository()
    return config


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add the pages from the code. Each page must be in the navigation."""
    for name, text in reference.pages().items():
        if stub := files.get_file_from_path(name):  # it says where a reader of the repository looks
            files.remove(stub)
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
    """Refuse links out of docs/. Show `a|b` in tables without the backslash that GitHub needs."""
    here = (Path(page.file.src_uri)).parent
    for link in _OUTSIDE.findall(markdown):
        if ".." in Path(*_resolved(here / link)).parts[:1]:
            raise PluginError(
                f"docs/{page.file.src_uri} links to {link}, which is no page: name it in `code`"
            )
    lines = [
        _CODE.sub(lambda code: code[0].replace("\\|", "|"), line) if line.startswith("|") else line
        for line in markdown.split("\n")
    ]
    return "\n".join(lines)


def on_page_content(html: str, **_: Any) -> str:
    """Let the copy button of a console copy only its commands."""
    return _HIGHLIGHTED.sub(_copied, html)


def _copied(block: re.Match[str]) -> str:
    if _PROMPT not in block[1]:
        return block[0]
    text = markup.escape(commands(markup.unescape(re.sub(r"<[^>]+>", "", block[1]))))
    return block[0].replace("<div", f'<div data-copy="{text}"', 1)


def commands(console: str) -> str:
    """Return the commands of a console, without prompts and output."""
    found: list[str] = []
    is_command = False
    for line in console.splitlines():
        if line.startswith("$ "):
            is_command = True
            found.append(line[2:])
        elif is_command and line.startswith("> "):
            found.append(line[2:])
        else:
            is_command = False
    return "\n".join(found)


def _listed(nav: Any) -> list[str]:
    """Return the pages in a navigation, at any depth."""
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
