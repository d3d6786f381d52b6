"""Levels, versions, and the policy that the labels of a namespace select.

Follows k8s.io/pod-security-admission/api/helpers.go (PolicyToEvaluate, CompareLevels).
"""

import math
import re
from collections.abc import Callable, Mapping
from enum import IntEnum
from typing import NamedTuple

from inkube.schemas import fielderrors
from inkube.schemas.fielderrors import FieldError

PREFIX = "pod-security.kubernetes.io/"
LABELS = tuple(
    f"{PREFIX}{mode}{suffix}"
    for mode in ("enforce", "audit", "warn")
    for suffix in ("", "-version")
)
_VERSION = re.compile(r"v1\.(0|[1-9][0-9]*)")
_LEVELS = "must be one of privileged, baseline, restricted"
_VERSIONS = 'must be "latest" or "v1.x"'


class Level(IntEnum):
    """The strictness. Each level includes the restrictions of the lower levels."""

    PRIVILEGED = 0
    BASELINE = 1
    RESTRICTED = 2


LATEST = math.inf
"""The newest definition of a level. Other versions are minor versions of Kubernetes 1."""


_BY_NAME = {level.name.lower(): level for level in Level}


class Standard(NamedTuple):
    """A level in the form of one version of Kubernetes, such as `baseline:v1.30`."""

    level: Level = Level.PRIVILEGED
    version: float = LATEST

    def __str__(self) -> str:
        version = "latest" if self.version == LATEST else f"v1.{self.version:.0f}"
        return f"{self.level.name.lower()}:{version}"


class Policy(NamedTuple):
    """The standards of a namespace: for refusals, for the audit log and for warnings."""

    enforce: Standard = Standard()
    audit: Standard = Standard()
    warn: Standard = Standard()


PRIVILEGED = Policy()


def read(
    labels: Mapping[str, str], defaults: Policy = PRIVILEGED
) -> tuple[Policy, list[FieldError]]:
    """Return the policy of a namespace with these labels, and the errors in them.

    An unknown level counts as restricted, and an unknown version as the latest. Without a label,
    the standard of `defaults` applies. Without a label for warnings, `warn` is at least as strict
    as `enforce`.
    """
    errors: list[FieldError] = []
    enforce = _standard(labels, "enforce", defaults.enforce, errors)
    audit = _standard(labels, "audit", defaults.audit, errors)
    warn = _standard(labels, "warn", defaults.warn, errors)
    if f"{PREFIX}warn" not in labels and enforce.level > warn.level:
        known = f"{PREFIX}warn-version" in labels
        warn = Standard(enforce.level, warn.version if known else enforce.version)
    return Policy(enforce, audit, warn), errors


def defaults(members: Mapping[str, str]) -> tuple[Policy, list[FieldError]]:
    """Return the policy in the `defaults` of a PodSecurityConfiguration, and the errors in it:
    `enforce`, `enforce-version` and so on (admission/api/load, validation)."""
    errors: list[FieldError] = []
    found = [
        _parsed(members, mode, f"{mode}-version", Standard(), "defaults.{}".format, errors)
        for mode in ("enforce", "audit", "warn")
    ]
    return Policy(*found), errors


def _standard(
    labels: Mapping[str, str], mode: str, default: Standard, errors: list[FieldError]
) -> Standard:
    label = f"{PREFIX}{mode}"
    return _parsed(labels, label, f"{label}-version", default, "metadata.labels[{}]".format, errors)


def _parsed(
    texts: Mapping[str, str],
    mode: str,
    versioned: str,
    default: Standard,
    path_of: Callable[[str], str],
    errors: list[FieldError],
) -> Standard:
    level, version = default
    if mode in texts:
        try:
            level = _BY_NAME[texts[mode]]
        except KeyError:
            level = Level.RESTRICTED
            errors.append(fielderrors.invalid(path_of(mode), texts[mode], _LEVELS))
    text = texts.get(versioned)
    if text is not None:
        version = LATEST
        match = _VERSION.fullmatch(text)
        if match is not None:
            version = int(match[1])
        elif text != "latest":
            errors.append(fielderrors.invalid(path_of(versioned), text, _VERSIONS))
    return Standard(level, version)
