"""Go's formatting of values in the reference's messages (`%q`, `%v`, JSON)."""

import ast
import json
import re
from typing import Any

_ESCAPES = {
    "\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v",
    "\\": "\\\\", '"': '\\"',
}  # fmt: skip

_HTML = {ord(char): f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"}
_OF_HTML = re.compile("[<>&\u2028\u2029]")
# `json.dumps` with options creates an encoder at each call, which takes longer than a short text
_encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, sort_keys=True).encode


def quote(text: str) -> str:
    """`strconv.Quote`: double quotes, Go's escapes, printable unicode as it is."""
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return '"' + "".join(map(_quoted, text)) + '"'


def unquote(text: str) -> str:
    """Return the text that `quote` returned this for."""
    value: str = ast.literal_eval(text)  # these escapes of Go mean the same in Python
    return value


def _quoted(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    if char.isprintable():
        return char
    code = ord(char)
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def number(value: float) -> str:
    """`%v` of an int64 or float64: `%g` with the shortest digits, exponents from 1e+21 on."""
    if isinstance(value, int):
        return str(value)
    if value != value or value in (float("inf"), float("-inf")):
        return {"nan": "NaN", "inf": "+Inf", "-inf": "-Inf"}[str(value)]
    if value == 0:
        return "-0" if str(value).startswith("-") else "0"
    digits, _, exponent = f"{value!r}".partition("e")
    if 1e-4 <= abs(value) < 1e21:
        return str(int(value)) if value.is_integer() else _positional(value)
    if not exponent:
        digits, _, exponent = f"{value:e}".partition("e")
        digits = digits.rstrip("0").rstrip(".")
    sign, power = exponent[:1], exponent.lstrip("+-")
    return f"{digits}e{'-' if sign == '-' else '+'}{int(power):02d}"


def _positional(value: float) -> str:
    text = repr(value)
    return text if "e" not in text else f"{value:.20f}".rstrip("0")


def ordered_json(value: Any) -> str:
    """Return JSON as `compact_json`, with the members in the order that they have."""
    return escaped_html(json.dumps(value, separators=(",", ":"), ensure_ascii=False))


def compact_json(value: Any) -> str:
    """`json.Marshal`: sorted keys, no spaces, `<`, `>` and `&` escaped."""
    return escaped_html(_encode(value))


def escaped_html(text: str) -> str:
    """Return JSON with the escapes of `json.Marshal` for HTML and JavaScript."""
    return text.translate(_HTML) if _OF_HTML.search(text) else text


def json_kind(value: Any) -> str:
    """Return the name of a value's type in errors of `encoding/json`, such as object or array."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int | float):
        return "number"
    names = {dict: "object", list: "array", str: "string", type(None): "null"}
    return names[type(value)]


def plain(value: Any) -> str:
    """`%v` of a JSON value: `map[a:1 b:[x y]]`, strings bare, null `<nil>`."""
    if isinstance(value, dict):
        return "map[" + " ".join(f"{key}:{plain(value[key])}" for key in sorted(value)) + "]"
    if isinstance(value, list):
        return "[" + " ".join(map(plain, value)) + "]"
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "<nil>"
    return value if isinstance(value, str) else number(value)


def as_text(value: Any) -> str:
    """`%s` of a JSON value. Values other than strings are marked: `%!s(bool=true)`."""
    if isinstance(value, str | dict | list):
        return plain(value)
    return "%!s(<nil>)" if value is None else f"%!s({type_name(value)}={plain(value)})"


def type_name(value: Any) -> str:
    """Return the Go type of a decoded JSON value, as `%T` prints it."""
    names = {
        "object": "map[string]interface {}", "array": "[]interface {}", "string": "string",
        "bool": "bool", "null": "<nil>",
    }  # fmt: skip
    kind = json_kind(value)
    return names.get(kind) or ("float64" if isinstance(value, float) else "int64")


def pointer(value: Any) -> str:
    """`%v` of a pointer to a struct with this value as its only field: `&{[a]}`."""
    return f"&{{{plain(value)}}}"


def syntax(value: Any) -> str:
    """`%#v` of a JSON value: `map[string]interface {}{"a":1}`."""
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, list):
        return "[]interface {}{" + ", ".join(map(syntax, value)) + "}"
    if isinstance(value, dict):
        pairs = ", ".join(f"{quote(name)}:{syntax(value[name])}" for name in sorted(value))
        return f"map[string]interface {{}}{{{pairs}}}"
    return plain(value) if value is not None else "interface {}(nil)"


def go_strings(texts: list[str]) -> str:
    """`%#v` of a []string."""
    return "[]string{" + ", ".join(map(quote, texts)) + "}"


def open_error(path: object, error: OSError) -> str:
    """Return the text of an error of a file as Go prints it (io/fs.PathError of os.Open)."""
    return f"open {path}: {(error.strerror or str(error)).lower()}"
