"""Draws the rooms of inkube and their arrows, from the imports in the code.

docs/architecture.md contains the picture. Run it when rooms change; otherwise a test fails:

    python tools/rooms.py

A box is a room: a folder, or a module next to the folders. An arrow leads from a room to a room
that it imports, also if a stub loads it late. An arrow that follows from other arrows is left out:
where A leads to B and B to C, A may import C too.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "architecture.md"
FOLDERS = ("apiserver", "controllers", "schemas", "storage")
START, END = "<!-- rooms: made by tools/rooms.py -->\n", "<!-- end of rooms -->"
Arrows = Mapping[str, set[str]]


def imports(file: Path) -> Iterator[str]:
    """Yield the names that a file imports from inkube, as `folder.room.name`."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            names = [each.name for each in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{each.name}" for each in node.names]
        else:
            continue
        yield from (name.removeprefix("inkube.") for name in names if name.startswith("inkube."))


def _files(folder: str) -> Iterator[Path]:
    for pattern in ("*.py", "*.pyi"):
        yield from sorted((ROOT / folder).rglob(pattern))


def rooms(folder: str) -> set[str]:
    """Return the rooms of a folder, without the facades of public modules."""
    found = {path.relative_to(ROOT / folder).parts[0].split(".")[0] for path in _files(folder)}
    return {name for name in found if not name.startswith("_")}


def arrows_in(folder: str) -> Arrows:
    """Return room → the rooms of the same folder that it imports."""
    every = rooms(folder)
    found: dict[str, set[str]] = {room: set() for room in every}
    for path in _files(folder):
        room = path.relative_to(ROOT / folder).parts[0].split(".")[0]
        for name in imports(path) if room in every else ():
            top, _, rest = name.partition(".")
            other = rest.split(".")[0]
            if top == folder and other in every and other != room:
                found[room].add(other)
    return found


def arrows_between() -> Arrows:
    """Return folder → the folders that it imports."""
    return {
        folder: {
            name.split(".")[0]
            for path in _files(folder)
            if not path.name.startswith("_") or path.name.startswith("__init__")
            for name in imports(path)
        }
        & (set(FOLDERS) - {folder})
        for folder in FOLDERS
    }


def reduced(arrows: Arrows) -> Arrows:
    """Return the arrows that do not follow from others. Raises ValueError for a circle."""
    reached = {room: _reached(room, arrows) for room in arrows}
    if circle := sorted(room for room, others in reached.items() if room in others):
        raise ValueError(f"these rooms import each other: {', '.join(circle)}")
    return {
        room: {each for each in others if not any(each in reached[other] for other in others)}
        for room, others in arrows.items()
    }


def _reached(room: str, arrows: Arrows) -> set[str]:
    found: set[str] = set()
    waiting = [*arrows[room]]
    while waiting:
        if (other := waiting.pop()) not in found:
            found.add(other)
            waiting += arrows[other]
    return found


def picture() -> str:
    """Return the pictures of the folders and of their rooms, as Mermaid. `storage` is one room."""
    parts = [_drawn("The four folders:", arrows_between())]
    parts += [_drawn(f"The rooms of `{each}`:", arrows_in(each)) for each in FOLDERS[:3]]
    return "\n".join(parts)


def _drawn(title: str, arrows: Arrows) -> str:
    found = reduced(arrows)
    pointed = {other for others in found.values() for other in others}
    alone = sorted(room for room, others in found.items() if not others and room not in pointed)
    lines = [
        f"  {room} --> {' & '.join(sorted(found[room]))}" for room in sorted(found) if found[room]
    ]
    head = title, "", "```mermaid", "flowchart TD"
    return "\n".join((*head, *lines, *(f"  {room}" for room in alone), "```", ""))


def page() -> str:
    """Return the expected text of the page."""
    text = PAGE.read_text()
    return re.sub(
        f"{re.escape(START)}.*?{re.escape(END)}",
        lambda _: f"{START}\n{picture()}\n{END}",
        text,
        flags=re.DOTALL,
    )


if __name__ == "__main__":
    PAGE.write_text(page())
