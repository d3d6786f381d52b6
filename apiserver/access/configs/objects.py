"""Objects of `apiserver.config.k8s.io` in files, or given as they are in a file.

An unknown member is an error, because it may be meant to protect something. Follows the strict
decoder of apiserver/pkg/apis/apiserver/load.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from inkube.schemas import golang
from inkube.schemas.objects import Object

GROUP = "apiserver.config.k8s.io"
VERSIONS = ("v1", "v1beta1", "v1alpha1")
Shape = Mapping[str, Any]
"""Name of a member → its own shape, a list with the shape of its items, or None for a value."""


def read(source: "Path | str | Mapping[str, Any]", kind: str, shape: Shape, label: str) -> Object:
    """Return an object of a kind. `label` names it in errors. Raises ValueError."""
    if isinstance(source, Mapping):
        return _checked(dict(source), kind, shape, f"invalid {label}")
    failure = f'failed to load {label} from file "{source}"'
    try:
        document = golang.goyaml.loads(Path(source).read_bytes()).value
    except OSError as error:
        raise ValueError(f"{failure}: {golang.gotext.open_error(Path(source), error)}") from error
    except golang.unmarshal.DecodeError as error:
        raise ValueError(f"{failure}: {error}") from error
    return _checked(document if isinstance(document, dict) else {}, kind, shape, failure)


def _checked(document: Object, kind: str, shape: Shape, failure: str) -> Object:
    group, _, version = str(document.get("apiVersion", "")).partition("/")
    if group != GROUP or version not in VERSIONS or document.get("kind") != kind:
        raise ValueError(f"{failure}: expected {kind} of {GROUP}")
    try:
        _check(document, {"apiVersion": None, "kind": None, **shape}, "")
    except ValueError as error:
        raise ValueError(f"{failure}: strict decoding error: {error}") from error
    return document


def _check(value: Any, shape: Any, path: str) -> None:
    """Raise ValueError for an unknown member and for a value of another type."""
    if value is None or shape is None:
        return
    if isinstance(shape, Mapping):
        if not isinstance(value, dict):
            raise ValueError(f'"{path}" is not an object')  # noqa: TRY004 - of a file
        for name, member in value.items():
            where = f"{path}.{name}" if path else str(name)
            if name not in shape:
                raise ValueError(f'unknown field "{where}"')
            _check(member, shape[name], where)
    else:
        if not isinstance(value, Sequence) or isinstance(value, str):
            raise ValueError(f'"{path}" is not a list')  # noqa: TRY004 - of a file
        for index, item in enumerate(value):
            _check(item, shape[0], f"{path}[{index}]")
