"""The file of `--admission-control-config-file`: the settings of admission plugins.

The composition root reads it before it creates the plugins. A setting that no plugin here can
follow is an error, because it may be meant to protect something. Follows
apiserver/pkg/admission/config.go and the configuration types of the plugins.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from inkube.apiserver import auth
from inkube.apiserver.admission import coveringquotas, eventrates, names, podsecurity
from inkube.schemas import fielderrors, golang
from inkube.schemas.objects import Object

_VERSIONS = ("apiserver.config.k8s.io/v1", "apiserver.k8s.io/v1alpha1")
_KIND = "AdmissionConfiguration"


class Settings(NamedTuple):
    """The settings of all plugins that have some. The defaults are those without a file."""

    pod_security: "podsecurity.Settings | None" = None
    event_limits: Sequence["eventrates.Limit"] = ()
    node_selectors: Mapping[str, str] = {}
    default_tolerations: Sequence[Object] = ()
    allowed_tolerations: Sequence[Object] = ()
    quota_limits: Sequence["coveringquotas.Limit"] = ()
    mutating_users: "auth.webhookusers.Users | None" = None
    validating_users: "auth.webhookusers.Users | None" = None


def read(path: Path | None, enabled: Collection[str]) -> Settings:
    """Return the settings in a file; without one, the defaults. Raises OSError, and ValueError for
    a file that is no such configuration or lacks what an enabled plugin needs."""
    settings = Settings() if path is None else _read(path)
    if "EventRateLimit" in enabled and not settings.event_limits:
        why = "limits: must not be empty (--admission-control-config-file)"
        raise names.unstartable("EventRateLimit", why)
    return settings


def _read(path: Path) -> Settings:
    try:
        document = _load(path)
    except OSError as error:
        raise ValueError(
            f'unable to read admission control configuration from "{path}" '
            f"[{golang.gotext.open_error(path, error)}]"
        ) from error
    kind = document.get("apiVersion"), document.get("kind")
    if kind[0] not in _VERSIONS or kind[1] != _KIND:
        raise ValueError(
            f'unable to read admission control configuration from "{path}": expected '
            f"{_VERSIONS[0]} {_KIND}, not {' '.join(str(each) for each in kind if each) or 'this'}"
        )
    members: dict[str, Any] = {}
    for plugin in document.get("plugins") or ():
        name = plugin.get("name", "")
        configuration = plugin.get("configuration")
        if plugin.get("path"):
            configuration = _load(path.parent / plugin["path"])
        if configuration is None:
            continue
        if name not in _READERS:
            raise ValueError(f'{path}: the plugin "{name}" cannot be configured here')
        try:
            members |= _READERS[name](configuration)
        except (OSError, ValueError, TypeError, AttributeError) as error:
            raise ValueError(f'couldn\'t init admission plugin "{name}": {error}') from error
    return Settings(**members)


def _load(path: Path) -> Object:
    try:
        document = golang.goyaml.loads(path.read_bytes()).value
    except golang.unmarshal.DecodeError as error:
        raise ValueError(f"{path}: {error}") from error
    if not isinstance(document, dict):
        raise ValueError(f"{path} contains no object")  # noqa: TRY004 - of a file
    return document


def _check_kind(configuration: Object, group: str, kind: str) -> None:
    version = str(configuration.get("apiVersion", ""))
    if version.partition("/")[0] != group or configuration.get("kind") != kind:
        given = f"{version or 'no apiVersion'} {configuration.get('kind', '')}".strip()
        raise ValueError(f"expected {kind} of {group}, not {given}")


def _pod_security(configuration: Object) -> Object:
    _check_kind(configuration, "pod-security.admission.config.k8s.io", "PodSecurityConfiguration")
    return {"pod_security": podsecurity.Settings.of(configuration)}


def _event_limits(configuration: Object) -> Object:
    _check_kind(configuration, "eventratelimit.admission.k8s.io", "Configuration")
    return {"event_limits": eventrates.limits(configuration)}


def _node_selectors(configuration: Object) -> Object:
    selectors = configuration.get("podNodeSelectorPluginConfig") or {}
    return {"node_selectors": {name: str(text or "") for name, text in selectors.items()}}


def _tolerations(configuration: Object) -> Object:
    _check_kind(configuration, "podtolerationrestriction.admission.k8s.io", "Configuration")
    return {
        "default_tolerations": configuration.get("default") or [],
        "allowed_tolerations": configuration.get("whitelist") or [],
    }


def _quota_limits(configuration: Object) -> Object:
    if configuration.get("kind") == "Configuration":
        _check_kind(configuration, "resourcequota.admission.k8s.io", "Configuration")
    else:
        _check_kind(configuration, "apiserver.config.k8s.io", "ResourceQuotaConfiguration")
    return {"quota_limits": coveringquotas.limits(configuration)}


def _webhook_users(member: str, configuration: Object) -> Object:
    if configuration.get("kind") == "WebhookAdmission":
        _check_kind(configuration, "apiserver.config.k8s.io", "WebhookAdmission")
    else:
        _check_kind(configuration, "apiserver.config.k8s.io", "WebhookAdmissionConfiguration")
    if configuration.get("staticManifestsDir"):
        raise ValueError("staticManifestsDir is not supported")
    file = configuration.get("kubeConfigFile") or ""
    if not file:
        return {}
    if not Path(file).is_absolute():
        why = "must be an absolute file path"
        raise ValueError(fielderrors.invalid("kubeConfigFile", file, why).text())
    return {member: auth.webhookusers.Users.read(Path(file))}


_READERS: Mapping[str, Callable[[Object], Object]] = {
    "EventRateLimit": _event_limits,
    "MutatingAdmissionWebhook": partial(_webhook_users, "mutating_users"),
    "PodNodeSelector": _node_selectors,
    "PodSecurity": _pod_security,
    "PodTolerationRestriction": _tolerations,
    "ResourceQuota": _quota_limits,
    "ValidatingAdmissionWebhook": partial(_webhook_users, "validating_users"),
}
