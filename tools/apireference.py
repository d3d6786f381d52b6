"""Reference pages of the public modules, from stubs, signatures and docstrings.

`pages()` returns name → text. The stub of a public module is the table of contents: a comment is a
heading, an import is an entry. All other content is read from the source, so a page shows defaults
as they are written. A public name without a docstring is an error.
"""

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import inkube

PACKAGE = Path(inkube.__path__[0])
MODULES = {
    "inkube": "__init__",
    "inkube.kinds": "kinds",
    "inkube.client": "client",
    "inkube.explore": "explore",
    "inkube.formats": "formats",
    "inkube.testing": "testing",
}
"""Each public module, and its file in the package."""
WIDTH = 88
"""The most characters of a signature on one line. A longer one has a line for each parameter."""
ELSEWHERE = {"Options": "All options are on a [page of their own](options.md)."}
"""Classes whose members another page lists."""
_ENTRY = re.compile(r"from (\S+) import (?:\(\s*)?(\w+) as (\w+)")
Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
Function = ast.FunctionDef | ast.AsyncFunctionDef


class Found(NamedTuple):
    """The definition of a name: its statement, and the string below it."""

    node: ast.stmt
    below: str
    module: ast.Module


def pages() -> dict[str, str]:
    """Return every page, by its name below docs/."""
    return {f"reference/{name}.md": "\n".join(_page(name)) for name in MODULES}


def contents(module: str) -> Iterator[tuple[str, list[tuple[str, str, str]]]]:
    """Yield the headings of a public module, each with its entries: module, name there, public
    name."""
    stub = (PACKAGE / f"{MODULES[module]}.pyi").read_text()
    for part in re.split(r"^# ", stub, flags=re.MULTILINE)[1:]:
        yield part.split("\n", 1)[0], _ENTRY.findall(part)


def _page(module: str) -> Iterator[str]:
    source = ast.parse((PACKAGE / f"{MODULES[module]}.py").read_text())
    yield from (f"# {module}", "", _text(source, module), "")
    for heading, entries in contents(module):
        yield from (f"## {heading}", "")
        for origin, name, shown in entries:
            yield from _entry(origin, name, shown)


def _entry(origin: str, name: str, shown: str) -> Iterator[str]:
    yield from (f"### {shown} {{ #{shown} }}", "")
    found = resolve(origin, name)
    if isinstance(found, Path):
        yield from _module(found, shown)
    elif isinstance(found.node, ast.ClassDef):
        yield from _class(found.node, shown, found.module)
    elif isinstance(found.node, Function):
        yield from _function(found.node, shown)
    else:
        yield from _value(found, shown)


def resolve(module: str, name: str) -> Found | Path:
    """Return the definition of a name, or the file of a module. Raises LookupError."""
    file = _file(f"{module}.{name}")
    if file is not None:
        return file
    place = _file(module)
    if place is None:
        raise LookupError(f"there is no module {module}")
    stub = place.with_suffix(".pyi")
    for path in (stub, place):
        tree = ast.parse(path.read_text() if path.exists() else "")
        for node, after in _followed(tree.body):
            if name in _defined(node):
                return Found(node, _string(after), tree)
            if isinstance(node, ast.ImportFrom) and node.module:
                for alias in node.names:
                    if (alias.asname or alias.name) == name:
                        return resolve(node.module, alias.name)
    raise LookupError(f"{module} has no {name}")


def _file(module: str) -> Path | None:
    base = PACKAGE.joinpath(*module.split(".")[1:])
    for path in (base.with_suffix(".py"), base / "__init__.py"):
        if path.exists():
            return path
    return None


def _followed(body: list[ast.stmt]) -> Iterator[tuple[ast.stmt, ast.stmt | None]]:
    """Yield each statement with the one below it."""
    for at, node in enumerate(body):
        yield node, body[at + 1] if at + 1 < len(body) else None


def _defined(node: ast.stmt) -> list[str]:
    if isinstance(node, Definition):
        return [node.name]
    if isinstance(node, ast.Assign):
        return [ast.unparse(target) for target in node.targets]
    return [ast.unparse(node.target)] if isinstance(node, ast.AnnAssign) else []


def _string(node: ast.stmt | None) -> str:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        text = node.value.value
        return inspect.cleandoc(text) if isinstance(text, str) else ""
    return ""


def _text(node: ast.Module | Definition, name: str) -> str:
    text = ast.get_docstring(node)
    if not text:
        raise ValueError(f"{name} is public and has no docstring")
    return text


def _module(path: Path, shown: str) -> Iterator[str]:
    tree = ast.parse(path.read_text())
    yield from (_text(tree, shown), "")
    for node in tree.body:
        if isinstance(node, Function) and not node.name.startswith("_"):
            yield from _function(node, f"{shown}.{node.name}", "####")


def _value(found: Found, shown: str) -> Iterator[str]:
    yield from ("```python", ast.unparse(found.node), "```", "")
    if found.below:
        yield from (found.below, "")


def _function(node: Function, shown: str, heading: str = "") -> Iterator[str]:
    if heading:
        yield from (f"{heading} {shown}", "")
    is_property = any(
        ast.unparse(each).split(".")[-1] in ("property", "cached_property")
        for each in node.decorator_list
    )
    if is_property:
        kind = ast.unparse(node.returns) if node.returns else ""
        yield from ("```python", f"{shown}: {_plain(kind)}", "```", "")
    else:
        yield from ("```python", _signature(node, shown), "```", "")
    yield from (_text(node, shown), "")


def _signature(node: Function, shown: str) -> str:
    start = "async " if isinstance(node, ast.AsyncFunctionDef) else ""
    returns = f" -> {_plain(ast.unparse(node.returns))}" if node.returns else ""
    given = [*_parameters(node.args)]
    line = f"{start}{shown}({', '.join(given)}){returns}"
    if len(line) <= WIDTH or not given:
        return line
    inside = "".join(f"    {each},\n" for each in given)
    return f"{start}{shown}(\n{inside}){returns}"


def _parameters(arguments: ast.arguments) -> Iterator[str]:
    plain = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(plain) - len(arguments.defaults)) + arguments.defaults
    for one, default in zip(plain, defaults, strict=True):
        if one.arg not in ("self", "cls"):
            yield _parameter(one, default)
    if arguments.vararg:
        yield f"*{_parameter(arguments.vararg, None)}"
    elif arguments.kwonlyargs:
        yield "*"
    for one, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        yield _parameter(one, default)
    if arguments.kwarg:
        yield f"**{_parameter(arguments.kwarg, None)}"


def _parameter(one: ast.arg, default: ast.expr | None) -> str:
    kind = f": {_plain(ast.unparse(one.annotation))}" if one.annotation else ""
    if default is None:
        return f"{one.arg}{kind}"
    return (
        f"{one.arg}{kind} = {ast.unparse(default)}" if kind else f"{one.arg}={ast.unparse(default)}"
    )


def _plain(kind: str) -> str:
    """Return an annotation without quotes, which it has if its class is defined later."""
    return kind.strip("'\"")


def _class(node: ast.ClassDef, shown: str, module: ast.Module) -> Iterator[str]:
    bases = ", ".join(ast.unparse(base) for base in node.bases)
    yield from ("```python", f"class {shown}({bases})" if bases else f"class {shown}", "```", "")
    yield from (_text(node, shown), "")
    if shown in ELSEWHERE:
        yield from (ELSEWHERE[shown], "")
        return
    rows = [*_attributes(node)]
    if rows:
        yield from ("| attribute | type | default | description |", "| --- | --- | --- | --- |")
        yield from (*rows, "")
    for each in node.body:
        if isinstance(each, Function):
            if each.name == "__init__" and [*_parameters(each.args)]:
                yield from ("```python", _signature(each, shown).split(" -> ")[0], "```", "")
            elif not each.name.startswith("_"):
                yield from _function(each, f"{shown}.{each.name}", "####")
        elif made := _made(each, module):
            yield from _function(made, f"{shown}.{made.name}", "####")


def _made(node: ast.stmt, module: ast.Module) -> Function | None:
    """Return the method that `get = _blocking(Calls.get)` creates. It is asynchronous if its maker
    creates an asynchronous one."""
    match node:
        case ast.Assign(
            targets=[ast.Name(id=name)],
            value=ast.Call(
                func=ast.Name(id=maker), args=[ast.Attribute(value=ast.Name(id=owner), attr=method)]
            ),
        ):
            functions = _named(module.body, maker), _named(_body(module, owner), method)
        case _:
            return None
    wrapper, original = functions
    if not isinstance(wrapper, Function) or not isinstance(original, Function):
        return None
    is_async = any(isinstance(each, ast.AsyncFunctionDef) for each in ast.walk(wrapper))
    sort = ast.AsyncFunctionDef if is_async else ast.FunctionDef
    return sort(
        name=name, args=original.args, body=original.body, decorator_list=[],
        returns=original.returns,
    )  # fmt: skip


def _body(module: ast.Module, name: str) -> list[ast.stmt]:
    found = _named(module.body, name)
    return found.body if isinstance(found, ast.ClassDef) else []


def _named(body: list[ast.stmt], name: str) -> ast.stmt | None:
    return next((node for node in body if name in _defined(node)), None)


def _attributes(node: ast.ClassDef) -> Iterator[str]:
    for each, after in _followed(node.body):
        if not isinstance(each, ast.AnnAssign):
            continue
        name = ast.unparse(each.target)
        if name.startswith("_"):
            continue
        default, about = _default(each.value)
        about = _string(after) or about
        cells = (f"`{name}`", f"`{_plain(ast.unparse(each.annotation))}`", default, about)
        yield f"| {' | '.join(map(_cell, cells))} |"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _default(value: ast.expr | None) -> tuple[str, str]:
    """Return the default of an attribute, and the description of a pydantic field."""
    if value is None:
        return "", ""
    if not isinstance(value, ast.Call) or ast.unparse(value.func) not in ("Field", "field"):
        return f"`{ast.unparse(value)}`", ""
    named = {each.arg: each.value for each in value.keywords}
    given = value.args[0] if value.args else named.get("default", named.get("default_factory"))
    about = named.get("description")
    text = str(ast.literal_eval(about)) if about is not None else ""
    shown = ast.unparse(given) if given is not None else ""
    if "default_factory" in named:
        shown += "()"
    return f"`{shown}`" if shown else "", text
