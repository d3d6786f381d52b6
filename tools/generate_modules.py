"""Generates what a start knows of inkube's modules without loading them, and the types of options.

`apiserver/modules/builtin` contains a description of each module, whose entry points are in
pyproject.toml, with its kinds. `apiserver/keywords.py` contains the types of all options. Run it
when they change; otherwise a test fails:

    python tools/generate_modules.py
"""

import asyncio
import json
import re
import tomllib
from collections.abc import Iterable, Iterator
from importlib.metadata import EntryPoint
from inspect import formatannotation
from pathlib import Path
from typing import Any

import inkube
from inkube.apiserver import configuration
from inkube.apiserver.modules import descriptions, installed, outlines
from inkube.schemas import caches
from inkube.schemas.options import TYPES, Option, options_of

ROOT = Path(__file__).parent.parent
KEYWORDS = ROOT / "apiserver" / "keywords.py"
_MODULES = re.compile(
    r"\b(?:collections\.abc|typing|pathlib(?:\._local)?|datetime"  # _local: Python 3.13
    r"|inkube\.apiserver\.(?:http|modules)\.\w+)\."
)
_HEAD = '''"""The options of `APIServer` as keyword arguments, for type checkers.

Made by tools/generate_modules.py from `configuration.ServerOptions` and the options of modules.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, TypedDict

from inkube.apiserver.http import RequestRecord
from inkube.apiserver.modules import DeclaredModule


class OptionValues(TypedDict, total=False):
    """The names and types of all options."""

'''


def builtin() -> dict[Path, bytes]:
    """Return the expected content of the files about modules."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    entries = project["entry-points"][installed.GROUP]
    return {
        descriptions.FOLDER / f"{name}.json": json.dumps(_described(name, entry), indent=1).encode()
        + b"\n"
        for name, entry in entries.items()
    }


def _described(name: str, entry: str) -> dict[str, Any]:
    module = EntryPoint(name, entry, installed.GROUP).load()()
    at_start = getattr(module, "builds_at_start", False)
    # an option without help is that of the server or of another module
    own = [each for each in module.options if each.help]
    return {
        "entry": entry,
        "about": module.about,
        "groups": module.groups,
        "needs": module.needs,
        "roles": getattr(module, "roles", ()),
        "builds_at_start": at_start,
        "options": list(map(_option, own)),
        "members": list(map(_option, getattr(module, "members", ()))),
        "kinds": [] if at_start else asyncio.run(_kinds(name, module.groups)),
    }


def _option(option: Option) -> dict[str, Any]:
    plain = Option(option.name)
    members = {name: getattr(option, name) for name in Option.__slots__}
    changed = {name: value for name, value in members.items() if value != getattr(plain, name)}
    return {"name": option.name, **changed, "default": option.default, "type": type_name(option)}


async def _kinds(name: str, groups: Iterable[str]) -> list[dict[str, Any]]:
    async with inkube.APIServer(modules=name) as server:
        definitions = [resource.definition for resource in server.resources]
    return [outlines.outline(each) for each in definitions if each.group in groups]


def type_name(option: Option) -> str:
    """Return the type of an option as Python code."""
    kind = option.type or type(option.default)
    named = next((name for name, each in TYPES.items() if each == kind), "")
    return named or _MODULES.sub("", formatannotation(kind)).replace("'", '"')


def options() -> Iterator[Option]:
    """Yield the options of the server and of inkube's modules, each of them once."""
    yield from options_of(configuration.ServerOptions)
    yield from descriptions.own_options().values()


def keywords() -> str:
    """Return the expected content of the file with the types of options."""
    return _HEAD + "".join(f"    {each.name}: {type_name(each)}\n" for each in options())


if __name__ == "__main__":
    for file, content in builtin().items():
        file.write_bytes(content)
    caches.empty_all()
    KEYWORDS.write_text(keywords())
