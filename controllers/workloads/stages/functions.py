"""The functions that templates of stages can call: sprig's plain helpers and KWOK's functions.

KWOK's follow pkg/kwok/controllers/{node_controller,pod_controller}.go and pkg/utils/gotpl. These
functions do not read files, the environment or the clock of the machine.
"""

import base64
import binascii
import hashlib
import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Protocol

from inkube.controllers.workloads.stages import gotemplates
from inkube.controllers.workloads.stages.gotemplates import (
    Function,
    RunError,
    format_value,
    is_true,
)
from inkube.formats import format_time, gotext
from inkube.kinds import Clock

VERSION = "v1.36.2"
"""The version of a simulated kubelet."""
LONGEST = 64 * 1024
"""Characters or items that `repeat` and `until` return, at most."""


class Addresses(Protocol):
    """The addresses of pods and nodes, for templates."""

    def node(self, name: str) -> str:
        """Return the address of a node."""
        ...

    def pod(self, node: str, *, host_network: bool, uid: str) -> str:
        """Return the address of a pod; it does not change while the pod exists."""
        ...


def helpers(clock: Clock, addresses: Addresses) -> Mapping[str, Function]:
    """Return all functions by name."""
    started = format_time(clock.now())

    def pod_address(node: Any, host_network: Any = False, uid: Any = "", *names: Any) -> str:
        return addresses.pod(_text(node), host_network=is_true(host_network), uid=_text(uid))

    return {
        **_SPRIG,
        "Now": lambda: format_time(clock.now()),
        "now": lambda: format_time(clock.now()),
        "StartTime": lambda: started,
        "Version": lambda: VERSION,
        "Quote": lambda value: json.dumps(format_value(value) if value is not None else ""),
        "YAML": _yaml,
        "NodeConditions": lambda: node_conditions(format_time(clock.now())),
        "NodeIPWith": lambda node: addresses.node(_text(node)),
        "NodeIPsWith": lambda node: [addresses.node(_text(node))],
        "PodIPWith": pod_address,
        "PodIPsWith": lambda *about: [pod_address(*about)],
    }


def checking() -> Mapping[str, Function]:
    """Return functions with the same names that do nothing, to compile a template
    only for a check."""
    return dict.fromkeys(helpers(_NoClock(), _NoAddresses()), lambda *values: None)


CONDITIONS = (
    ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
    ("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),  # noqa: E501
    ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    ("NetworkUnavailable", "False", "RouteCreated", "RouteController created a route"),
)  # fmt: skip


def node_conditions(now: str) -> list[dict[str, Any]]:
    """Return the conditions of a healthy node."""
    return [
        {
            "type": kind,
            "status": status,
            "reason": reason,
            "message": message,
            "lastHeartbeatTime": now,
            "lastTransitionTime": now,
        }
        for kind, status, reason, message in CONDITIONS
    ]


class _NoClock:
    def now(self) -> Any:
        return datetime.min.replace(tzinfo=UTC)

    def monotonic(self) -> float:
        return 0.0

    async def sleep(self, seconds: float) -> None:
        raise NotImplementedError("nothing waits while a template is checked")


class _NoAddresses:
    def node(self, name: str) -> str:
        return ""

    def pod(self, node: str, *, host_network: bool, uid: str) -> str:
        return ""


def _text(value: Any) -> str:
    return "" if value is None else format_value(value)


def _yaml(value: Any, indent: Any = 0) -> str:
    """Return the value as JSON, which is YAML in one line, so that `indent` has no effect."""
    return json.dumps(value)


def _int(value: Any) -> int:
    """Return an integer like sprig's `int`: 0 for a value that is not a number."""
    if isinstance(value, (bool, int, float)):
        return int(value)
    try:
        return int(str(value), 0)
    except ValueError:
        return 0


def _float(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return 0.0


def _dict(*pairs: Any) -> dict[str, Any]:
    keys = [_text(key) for key in pairs[::2]]
    values = [*pairs[1::2], *([""] if len(pairs) % 2 else [])]
    return dict(zip(keys, values, strict=True))


def _default(fallback: Any, value: Any = None) -> Any:
    return value if is_true(value) else fallback


def _coalesce(*values: Any) -> Any:
    return next((value for value in values if is_true(value)), None)


def _indent(spaces: Any, text: Any) -> str:
    if not 0 <= _int(spaces) <= 1000:
        raise RunError("so many blanks")
    pad = " " * _int(spaces)
    return pad + _text(text).replace("\n", f"\n{pad}")


def _repeat(count: Any, text: Any) -> str:
    if not 0 <= _int(count) * max(len(_text(text)), 1) <= LONGEST:
        raise RunError(f"at most {LONGEST} characters")
    return _text(text) * _int(count)


def _until(count: Any) -> list[int]:
    if abs(_int(count)) > LONGEST:
        raise RunError(f"at most {LONGEST} items")
    return list(range(_int(count))) if _int(count) >= 0 else list(range(0, _int(count), -1))


def _trunc(length: Any, text: Any) -> str:
    whole, size = _text(text), _int(length)
    return whole[:size] if size >= 0 else whole[size:]


def _divide(left: Any, right: Any) -> int:
    """Divide and round toward zero, like Go."""
    number, by = _int(left), _int(right)
    quotient = abs(number) // abs(by)
    return quotient if (number < 0) == (by < 0) else -quotient


def _remainder(left: Any, right: Any) -> int:
    return _int(left) - _int(right) * _divide(left, right)


def _fail(message: Any) -> Any:
    raise RunError(_text(message))


def _decode(text: Any) -> str:
    try:
        return base64.b64decode(_text(text), validate=True).decode("utf-8", "replace")
    except binascii.Error as error:
        raise RunError(str(error)) from error


def _product(*values: Any) -> int:
    found = 1
    for value in values:
        found *= _int(value)
        if abs(found) >= 1 << 63:
            raise RunError("integer overflow")
    return found


def _title(text: Any) -> str:
    return " ".join(word[:1].upper() + word[1:] for word in _text(text).split(" "))


def _has_key(mapping: Any, key: Any) -> bool:
    return isinstance(mapping, dict) and key in mapping


def _as_list(value: Any) -> list[Any]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise RunError(f"no list: {gotext.json_kind(value)}")
    return value


_KINDS: dict[type, str] = {
    dict: "map", list: "slice", str: "string", bool: "bool", int: "int64", float: "float64",
}  # fmt: skip

_SPRIG: dict[str, Callable[..., Any]] = {
    "default": _default,
    "empty": lambda value: not is_true(value),
    "coalesce": _coalesce,
    "ternary": lambda yes, no, test: yes if is_true(test) else no,
    "fail": _fail,
    "dict": _dict,
    "list": lambda *values: list(values),
    "get": lambda mapping, key: mapping.get(key, ""),
    "hasKey": _has_key,
    "keys": lambda *maps: [key for one in maps for key in sorted(one)],
    "values": lambda mapping: [mapping[key] for key in sorted(mapping)],
    "pick": lambda mapping, *keys: {key: mapping[key] for key in keys if key in mapping},
    "omit": lambda mapping, *keys: {k: v for k, v in mapping.items() if k not in keys},
    "merge": lambda first, *others: {
        k: v for one in (*others[::-1], first) for k, v in one.items()
    },
    "first": lambda items: items[0] if items else None,
    "last": lambda items: items[-1] if items else None,
    "rest": lambda items: _as_list(items)[1:],
    "initial": lambda items: _as_list(items)[:-1],
    "append": lambda items, item: [*_as_list(items), item],
    "prepend": lambda items, item: [item, *_as_list(items)],
    "concat": lambda *lists: [item for one in lists for item in _as_list(one)],
    "has": lambda item, items: item in _as_list(items),
    "without": lambda items, *gone: [item for item in _as_list(items) if item not in gone],
    "reverse": lambda items: _as_list(items)[::-1],
    "uniq": lambda items: [x for at, x in enumerate(_as_list(items)) if x not in items[:at]],
    "compact": lambda items: [item for item in _as_list(items) if is_true(item)],
    "sortAlpha": lambda items: sorted(_text(item) for item in _as_list(items)),
    "join": lambda by, items: _text(by).join(_text(item) for item in _as_list(items)),
    "splitList": lambda by, text: _text(text).split(_text(by)),
    "until": _until,
    "lower": lambda text: _text(text).lower(),
    "upper": lambda text: _text(text).upper(),
    "title": _title,
    "trim": lambda text: _text(text).strip(),
    "trimAll": lambda cut, text: _text(text).strip(_text(cut)),
    "trimPrefix": lambda head, text: _text(text).removeprefix(_text(head)),
    "trimSuffix": lambda tail, text: _text(text).removesuffix(_text(tail)),
    "hasPrefix": lambda head, text: _text(text).startswith(_text(head)),
    "hasSuffix": lambda tail, text: _text(text).endswith(_text(tail)),
    "contains": lambda part, text: _text(part) in _text(text),
    "replace": lambda old, new, text: _bounded(_text(text).replace(_text(old), _text(new))),
    "quote": lambda *values: " ".join(
        gotext.quote(_text(one)) for one in values if one is not None
    ),
    "squote": lambda *values: " ".join(f"'{_text(one)}'" for one in values if one is not None),
    "cat": lambda *values: " ".join(_text(value) for value in values if value is not None),
    "indent": _indent,
    "nindent": lambda spaces, text: "\n" + _indent(spaces, text),
    "repeat": _repeat,
    "trunc": _trunc,
    "substr": lambda start, end, text: _text(text)[_int(start) : _int(end)],
    "toString": _text,
    "toJson": lambda value: json.dumps(value, separators=(",", ":")),
    "fromJson": lambda text: json.loads(_text(text)),
    "int": _int,
    "int64": _int,
    "atoi": _int,
    "float64": _float,
    "add": lambda *values: sum(_int(value) for value in values),
    "add1": lambda value: _int(value) + 1,
    "sub": lambda left, right: _int(left) - _int(right),
    "mul": _product,
    "div": _divide,
    "mod": _remainder,
    "max": lambda *values: max(_int(value) for value in values),
    "min": lambda *values: min(_int(value) for value in values),
    "kindOf": lambda value: _KINDS.get(type(value), "invalid"),
    "kindIs": lambda kind, value: _KINDS.get(type(value), "invalid") == kind,
    "b64enc": lambda text: base64.b64encode(_text(text).encode()).decode(),
    "b64dec": _decode,
    "sha256sum": lambda text: hashlib.sha256(_text(text).encode()).hexdigest(),
}


def _bounded(text: str) -> str:
    if len(text) > gotemplates.LONGEST:
        raise RunError(f"at most {gotemplates.LONGEST} characters")
    return text
