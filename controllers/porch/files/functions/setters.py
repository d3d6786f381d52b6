"""apply-setters and search-replace: change values found by comment, path or text."""

import re
from typing import Any

import re2

from inkube.client import Object
from inkube.controllers.porch.files import documents
from inkube.controllers.porch.files.documents import Document, Unreadable
from inkube.controllers.porch.files.functions.base import Failed, Package, Result, parameters

_SETTER = re.compile(r"\$\{([A-Za-z0-9_.-]+)\}")
_LINE = re.compile(
    r"^(?P<indent>[ \t]*(?:-[ \t]+)*)(?P<key>(?:[^\s#:'\"]+|'[^']*'|\"[^\"]*\")[ \t]*:)?"
    r"(?P<gap>[ \t]*)(?P<value>.*?)(?P<comment>[ \t]*#[ \t]*kpt-set:[ \t]*(?P<pattern>.*?)[ \t]*)$"
)
_MEMBER = re.compile(
    r"^([ ]*)((?:-[ \t]+)*)(?:([^\s#:'\"-][^\s#:'\"]*)[ \t]*:(?=[ \t]|$)|(?=[^\s#]))"
)
_UNQUOTED = re.compile(r"[A-Za-z0-9_./][A-Za-z0-9_./@:+-]*")


def apply_setters(config: Object, package: Package) -> list[Result]:
    """Set the values on lines with a comment `# kpt-set: …${name}…`."""
    setters = {str(key): value for key, value in parameters(config).items()}
    if not setters:
        raise Failed("config is needed: input setters list cannot be empty")
    found: list[Result] = []
    for document in package.selected:
        if "kpt-set:" in document.text and document.value.get("kind") != "Kptfile":
            found += _apply(document, setters)
    return found


def _apply(document: Document, setters: Object) -> list[Result]:
    lines = document.text.split("\n")
    found: list[Result] = []
    place = 0
    while place < len(lines):
        match = _LINE.match(lines[place])
        if match is not None and _SETTER.search(match["pattern"]):
            if match["value"].strip() or not match["key"]:
                found += _scalar(document, lines, place, match, setters)
            else:
                found += _list(document, lines, place, match, setters)
        place += 1
    document.replace("\n".join(lines))
    return found


def _scalar(
    document: Document, lines: list[str], index: int, match: re.Match[str], setters: Object
) -> list[Result]:
    pattern = match["pattern"]
    old = documents.parse(match["value"])
    values = _resolve(pattern, _text_of(old), setters)
    if values is None:
        return []
    text = _SETTER.sub(lambda each: values[each[1]], pattern)
    if text == _text_of(old):
        return []
    value = text if not isinstance(old, str) or _UNQUOTED.fullmatch(text) else _quote(text)
    if isinstance(old, str) and not isinstance(documents.parse(value or "''"), str):
        value = _quote(text)
    if match["value"].strip()[:1] in ("'", '"'):
        value = _quote(text, match["value"].strip()[0])
    head = f"{match['indent']}{match['key'] or ''}{match['gap']}"
    lines[index] = f"{head}{value or _quote('')}{match['comment']}"
    path = _path(lines, index)
    return [Result(f'set field value to "{text}"', document, path, _text_of(old), text)]


def _list(
    document: Document, lines: list[str], index: int, match: re.Match[str], setters: Object
) -> list[Result]:
    """Replace the sequence below a key with the value of one setter."""
    whole = _SETTER.fullmatch(match["pattern"])
    if whole is None or whole[1] not in setters:
        return []
    raw = setters[whole[1]]
    items = documents.parse(raw) if isinstance(raw, str) else raw
    if not isinstance(items, list):
        raise Failed(f"setter {whole[1]} must be a list: it is set at a sequence")
    indent = len(match["indent"])
    end = index + 1
    while end < len(lines) and re.match(rf"[ ]{{{indent},}}-[ \t]", lines[end]):
        end += 1
    margin = re.match(r"[ ]*", lines[index + 1] if end > index + 1 else match["indent"])
    assert margin is not None, "it matches anything"
    made = [f"{margin[0]}- {documents.dump([each])[2:].rstrip()}" for each in items]
    old = lines[index + 1 : end]
    if made == old:
        return []
    lines[index + 1 : end] = made
    text = str([_text_of(each) for each in items])
    return [Result(f'set field value to "{text}"', document, _path(lines, index))]


def _resolve(pattern: str, old: str, setters: Object) -> dict[str, str] | None:
    """Return the text of each setter: the given value, or its part of the present value. None if no
    setter of the pattern is given. Raises Failed."""
    names = [match[1] for match in _SETTER.finditer(pattern)]
    if not any(name in setters for name in names):
        return None
    missing = [name for name in names if name not in setters]
    present: dict[str, str] = {}
    if missing:
        shape = "".join(
            f"(?P<s{at // 2}>.*)" if at % 2 else re.escape(part)
            for at, part in enumerate(_SETTER.split(pattern))
        )
        match = re.fullmatch(shape, old)
        if match is None:
            raise Failed(
                f"values for setters [{', '.join('${' + m + '}' for m in missing)}] "
                "must be provided"
            )
        present = {name: match[f"s{at}"] for at, name in enumerate(names)}
    return {name: _text_of(setters[name]) if name in setters else present[name] for name in names}


def _text_of(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


def _quote(text: str, quote: str = '"') -> str:
    if quote == "'":
        return "'" + text.replace("'", "''") + "'"
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _path(lines: list[str], index: int) -> str:
    """Return the path of the field on a line, derived from indentation."""
    parts: list[str] = []
    limit = -1
    for at in range(index, -1, -1):
        match = _MEMBER.match(lines[at])
        if match is None:
            continue
        column = len(match[1]) + len(match[2])
        if limit < 0 or column < limit:
            if match[3]:
                parts.append(f".{match[3]}")
            limit = column
        elif not (column == limit and match[2]):
            continue
        if match[2]:
            parts.append(f"[{_position(lines, at, len(match[1]))}]")
            limit = len(match[1]) + 1
    return "".join(reversed(parts)).removeprefix(".")


def _position(lines: list[str], number: int, indent: int) -> int:
    """Return the index in its list of the item that begins on a line."""
    position = 0
    for line in reversed(lines[:number]):
        depth = len(line) - len(line.lstrip())
        if line.strip() and (depth < indent or (depth == indent and line[depth] != "-")):
            break
        position += depth == indent and line[depth : depth + 1] == "-"
    return position


def search_replace(config: Object, package: Package) -> list[Result]:
    """Find values by path, text or pattern, and replace them if `put-value` is given."""
    given = parameters(config)
    wanted = {key: str(value) for key, value in given.items()}
    unknown = wanted.keys() - {"by-path", "by-value", "by-value-regex", "put-value", "by-file-path"}
    if unknown:
        raise Failed(f"invalid matcher {min(unknown)!r}")
    if not wanted.keys() & {"by-path", "by-value", "by-value-regex"}:
        raise Failed("config is needed: at least one of by-path, by-value, by-value-regex")
    if "by-value" in wanted and "by-value-regex" in wanted:
        raise Failed("only one of by-value and by-value-regex can be given")
    found: list[Result] = []
    for document in package.mutable:
        found += _replace(document, wanted)
    return found


def _replace(document: Document, config: dict[str, str]) -> list[Result]:
    found: list[Result] = []
    put = config.get("put-value")
    shape = _path_shape(config["by-path"]) if "by-path" in config else None

    def change(tree: Any) -> None:
        for path, holder, key, value in list(documents.scalars(tree)):
            text = _text_of(value)
            if shape is not None and not shape.fullmatch(path):
                continue
            new = _replaced(text, config, put)
            if new is None:
                continue
            if put is None:
                found.append(Result(f'Matched field value "{text}"', document, path, text))
            elif new != text:
                holder[key] = _typed(new, value)
                found.append(Result(f'Mutated field value to "{new}"', document, path, text, new))

    document.edit(change)
    return found


def _replaced(text: str, config: dict[str, str], put: str | None) -> str | None:
    """Return the new text; None if the value does not match."""
    if "by-value" in config:
        return (put if put is not None else text) if text == config["by-value"] else None
    if "by-value-regex" in config:
        try:
            match = re2.search(config["by-value-regex"], text)
        except re2.error as error:
            raise Failed(f"by-value-regex cannot be read: {error}") from error
        if match is None:
            return None
        if put is None:
            return text
        return re.sub(r"\$\{(\d+)\}", lambda each: match.group(int(each[1])) or "", put)
    return put if put is not None else text


def _typed(text: str, old: Any) -> Any:
    """Return the text parsed to a scalar, unless the old value is a string; the text itself if that
    fails."""
    if isinstance(old, str):
        return text
    try:
        value = documents.parse(text)
    except Unreadable:
        return text
    return value if isinstance(value, str | int | float | bool) else text


def _path_shape(path: str) -> Any:
    steps = {"**": r".*", "*": r"[^.\[\]]*", "[*]": r"\[\d+\]", ".": r"\."}
    found = re.findall(r"\*\*|\*|\[\*\]|\[\d+\]|[^.\[\]*]+|\.", path)
    parts = [steps.get(part) or re2.escape(part) for part in found]
    return re2.compile("".join(parts).replace(r".*\.", r"(?:.*\.)?"))
