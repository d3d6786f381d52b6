"""The modules of the console as one script, which a browser fetches with one request.

Each module becomes a function with its own scope, after the modules that it imports. Only those
forms of `import` and `export` are supported that the modules use; tests load the script. A cycle of
imports is refused, because the modules then have no order.
"""

import graphlib
import re
from collections.abc import Callable, Mapping

ENTRY = "main.js"
_COMMENT = re.compile(r"^[ \t]*(?://[^\n]*|/\*\*.*?\*/)\n", re.MULTILINE | re.DOTALL)
"""Comments on lines of their own, which are removed. Licenses begin with `/*!` and stay."""
_IMPORT = re.compile(
    r"^import\s*(?:\{(?P<names>[^}]*)\}|\*\s*as\s+(?P<all>\w+)|(?P<default>\w+))\s*from\s*"
    r'"(?P<path>[^"]+)";?',
    re.MULTILINE,
)
_LATER = re.compile(r'\bimport\("(?P<path>[^"]+)"\)')
_EXPORT_LIST = re.compile(r'\bexport\s*\{(?P<names>[^}]*)\}(?:\s*from\s*"(?P<path>[^"]+)")?;?')
_EXPORT_DECLARATION = re.compile(
    r"^export (?P<sort>(?:async )?function\*?|const|class) (?P<name>\w+)", re.MULTILINE
)
_DEFAULT = re.compile(r"\bexport default (?P<sort>function) ?(?P<name>\w*)")


def bundle(modules: Mapping[str, str]) -> str:
    """Return one script that runs ENTRY, from the texts of modules by their paths.

    Raises graphlib.CycleError, and KeyError for an import of a module that does not exist.
    """
    needed: dict[str, set[str]] = {}
    texts: dict[str, str] = {}
    waiting = [ENTRY]
    while waiting:
        path = waiting.pop()
        if path not in texts:
            texts[path], needed[path], others = _as_function(path, modules[path])
            waiting += [*needed[path], *others]
    order = [path for path in graphlib.TopologicalSorter(needed).static_order() if path != ENTRY]
    parts = ["const modules = {};", *(texts[path] for path in order), texts[ENTRY]]
    return "\n".join(parts) + "\n"


def _as_function(path: str, text: str) -> tuple[str, set[str], set[str]]:
    """Return a module as a function, the modules that it needs before, and the modules that it
    loads later."""
    before: set[str] = set()
    later: set[str] = set()
    exported: dict[str, str] = {}

    def module(match: re.Match[str], known: set[str]) -> str:
        name = _resolve(path, match["path"])
        known.add(name)
        return f'modules["{name}"]'

    def imported(match: re.Match[str]) -> str:
        of = module(match, before)
        if match["all"]:
            return f"const {match['all']} = {of};"
        if match["default"]:
            return f"const {match['default']} = {of}.default;"
        names = ", ".join(
            ": ".join(pair) if pair[0] != pair[1] else pair[0] for pair in _pairs(match)
        )
        return f"const {{ {names} }} = {of};"

    def listed(match: re.Match[str]) -> str:
        of = f"{module(match, before)}." if match["path"] else ""
        exported.update({name: f"{of}{local}" for local, name in _pairs(match)})
        return ""

    def declared(match: re.Match[str]) -> str:
        exported[match["name"]] = match["name"]
        return f"{match['sort']} {match['name']}"

    def default(match: re.Match[str]) -> str:
        exported["default"] = match["name"] or "main"
        return f"{match['sort']} {exported['default']}"

    steps: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str]], ...] = (
        (_IMPORT, imported),
        (_LATER, lambda match: f"Promise.resolve({module(match, later)})"),
        (_EXPORT_LIST, listed),
        (_EXPORT_DECLARATION, declared),
        (_DEFAULT, default),
    )
    text = _COMMENT.sub("", text)
    for pattern, change in steps:
        text = pattern.sub(change, text)
    if path == ENTRY:  # the entry exports nothing, and can use await
        return text, before, later
    members = ", ".join(f"{name}: {value}" for name, value in exported.items())
    return f'modules["{path}"] = (() => {{\n{text}\nreturn {{ {members} }};\n}})();', before, later


def _pairs(match: re.Match[str]) -> list[tuple[str, str]]:
    """Return the names in braces, as pairs: the name in the module, and the name outside."""
    words = (each.split() for each in match["names"].split(","))
    return [(each[0], each[-1]) for each in words if each]


def _resolve(path: str, relative: str) -> str:
    folder = path.rpartition("/")[0]
    return f"{folder}/{relative.removeprefix('./')}" if folder else relative.removeprefix("./")
