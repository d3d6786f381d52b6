"""ConfigMaps and Secrets: keys, immutability, stringData, the types of secrets.

Follows pkg/apis/core/validation ValidateConfigMap, ValidateSecret and pkg/registry/core/secret.
"""

import base64

from inkube.schemas import fielderrors
from inkube.schemas.builtin.behaviours import checks, naming
from inkube.schemas.builtin.behaviours.base import BuiltinStrategy
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.golang import gojson, unmarshal
from inkube.schemas.objects import Object
from inkube.schemas.strategy import Context

MAX_SIZE = 1024 * 1024
"""Bytes of all values of a Secret or ConfigMap together."""
_WHEN_SET = "field is immutable when `immutable` is set"
_REDACTED = "<secret contents redacted>"
_ACCOUNT = "kubernetes.io/service-account.name"
_NEEDS: dict[str, tuple[str, ...]] = {
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
}


def _bad_keys(data: Object, member: str) -> list[FieldError]:
    return [
        error
        for key in sorted(data)
        for error in checks.named(key, f"{member}[{key}]", naming.config_key)
    ]


def _frozen(obj: Object, old: Object, *members: str) -> list[FieldError]:
    """What changed of an object that is immutable."""
    if not old.get("immutable"):
        return []
    errors = [
        fielderrors.forbidden(member, _WHEN_SET)
        for member in members
        if (obj.get(member) or {}) != (old.get(member) or {})
    ]
    if not obj.get("immutable"):
        errors.append(fielderrors.forbidden("immutable", _WHEN_SET))
    return errors


class ConfigMaps(BuiltinStrategy):
    """Keys of data and binaryData do not meet; immutable ones stay."""

    def check(self, obj: Object) -> list[FieldError]:
        data, binary = obj.get("data") or {}, obj.get("binaryData") or {}
        errors = _bad_keys(data, "data") + _bad_keys(binary, "binaryData")
        for key in sorted(data.keys() & binary.keys()):
            why = "duplicate of key present in binaryData"
            errors.append(fielderrors.invalid(f"data[{key}]", key, why))
        size = sum(len(value.encode()) for value in data.values())
        size += sum(len(base64.b64decode(value or "")) for value in binary.values())
        if size > MAX_SIZE:
            errors.append(fielderrors.too_long("", MAX_SIZE))
        return errors

    def check_update(self, obj: Object, old: Object) -> list[FieldError]:
        return _frozen(obj, old, "data", "binaryData") + self.check(obj)


class Secrets(BuiltinStrategy):
    """stringData is folded into data; types demand their keys and do not change."""

    def default(self, obj: Object) -> None:
        plain = obj.pop("stringData", None) or {}
        if plain:
            encoded = {
                key: base64.b64encode(value.encode()).decode() for key, value in plain.items()
            }
            obj["data"] = {**(obj.get("data") or {}), **encoded}
        obj.setdefault("type", "Opaque")

    def check(self, obj: Object) -> list[FieldError]:
        data: dict[str, str] = obj.get("data") or {}
        errors = _bad_keys(data, "data")
        if sum(len(base64.b64decode(value or "")) for value in data.values()) > MAX_SIZE:
            errors.append(fielderrors.too_long("data", MAX_SIZE))
        return errors + self._typed(obj, data)

    def _typed(self, obj: Object, data: dict[str, str]) -> list[FieldError]:
        kind = obj["type"]
        if kind == "kubernetes.io/service-account-token":
            if not (obj["metadata"].get("annotations") or {}).get(_ACCOUNT):
                return [fielderrors.required(f"metadata.annotations[{_ACCOUNT}]")]
            return []
        if kind == "kubernetes.io/basic-auth":
            if not data.keys() & {"username", "password"}:
                return [fielderrors.required(f"data[{key}]") for key in ("username", "password")]
            return []
        errors = [
            fielderrors.required(f"data[{key}]") for key in _NEEDS.get(kind, ()) if key not in data
        ]
        if "docker" in kind and kind in _NEEDS and not errors:
            key = _NEEDS[kind][0]
            why = _json_problem(base64.b64decode(data[key] or ""))
            if why:
                errors.append(fielderrors.invalid(f"data[{key}]", _REDACTED, why))
        return errors

    def check_update(self, obj: Object, old: Object) -> list[FieldError]:
        errors = checks.immutable(obj, old, "", "type")
        return errors + _frozen(obj, old, "data") + self.check(obj)


def _json_problem(content: bytes) -> str:
    """What encoding/json says of it, "" when it is JSON."""
    try:
        gojson.loads(content)
    except unmarshal.DecodeError as error:
        return error.text
    return ""


class Accounts(BuiltinStrategy):
    """ServiceAccounts."""

    def warnings_on_create(self, context: Context, obj: Object) -> list[str]:
        return _mountable_warnings(obj, {})

    def warnings_on_update(self, context: Context, obj: Object, old: Object) -> list[str]:
        return _mountable_warnings(obj, old)


def _mountable_warnings(obj: Object, old: Object) -> list[str]:
    """pkg/registry/core/serviceaccount, warnIfHasEnforceMountableSecretsAnnotation."""
    key = "kubernetes.io/enforce-mountable-secrets"
    new, before = ((one.get("metadata") or {}).get("annotations") or {} for one in (obj, old))
    if key not in new or key in before:
        return []
    advice = "prefer separate namespaces to isolate access to mounted secrets"
    return [f"metadata.annotations[{key}]: deprecated in v1.32+; {advice}"]
