"""A runtime configuration: the versions and kinds of Kubernetes that a server switches off.

Input: texts such as `batch/v1=false`. The table of kinds asks it about each version of each kind.
What is not served anyway stays so, whatever a configuration says. Follows apiserver/pkg/server,
options/api_enablement.go and resourceconfig/helpers.go, and pkg/controlplane/apiserver/options.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple, Self

PATTERNS: Mapping[str, re.Pattern[str]] = {
    "api/all": re.compile(""),
    "api/ga": re.compile(r"v\d+\Z"),
    "api/beta": re.compile(r"v\d+beta\d+\Z"),
    "api/alpha": re.compile(r"v\d+alpha\d+\Z"),
}
"""The names for many versions, and the versions that they mean. A later one takes precedence."""
_TRUTHS = {
    **dict.fromkeys(("", "1", "t", "T", "true", "TRUE", "True"), True),
    **dict.fromkeys(("0", "f", "F", "false", "FALSE", "False"), False),
}


class Place(NamedTuple):
    """What a text switches: a version, or with `plural` one kind of it."""

    group: str
    version: str
    plural: str = ""


_REGISTRATIONS = Place("apiregistration.k8s.io", "v1")


class RuntimeConfig(NamedTuple):
    """The switches of a runtime configuration. Those of a kind take precedence over those of its
    version, and these over those of many versions (PATTERNS)."""

    many: Mapping[str, bool]
    places: Mapping[Place, bool]

    @classmethod
    def read(cls, texts: Iterable[str], groups: Collection[str]) -> Self:
        """Read a configuration for a server that knows these groups. Raises ValueError."""
        switches = dict(_split(text) for text in texts)
        switches.pop("api/legacy", None)
        many = {}
        for name in PATTERNS:
            if name in switches:
                value = switches.pop(name)
                if value not in ("true", "false"):
                    raise ValueError(f"invalid value {name}={value}")
                many[name] = value == "true"
        if not switches and many == {"api/all": False}:
            raise ValueError("invalid runtime-config with only api/all=false")
        places = {_place(name): _truth(name, value) for name, value in switches.items()}
        unknown = {f"{each.group}/{each.version}" for each in places if each.group not in groups}
        if unknown:
            raise ValueError(f"unknown api groups {','.join(sorted(unknown))}")
        config = cls(many, places)
        if not config.is_on(_REGISTRATIONS):
            raise ValueError("API group/version apiregistration.k8s.io/v1 must be enabled")
        return config

    def is_on(self, place: Place) -> bool:
        """Return whether a kind of a version that exists is served."""
        for each in (place, place._replace(plural="")):
            if each in self.places:
                return self.places[each]
        matching = [
            is_on for name, is_on in self.many.items() if PATTERNS[name].match(place.version)
        ]
        return matching[-1] if matching else True


def _split(text: str) -> tuple[str, str]:
    """Return the name and the value of a switch. Several names mean the core group."""
    name, _, value = text.partition("=")
    is_core = name in ("v1", "api/v1") or name.startswith(("v1/", "api/v1/"))
    return "/v1" if is_core else name, value


def _place(name: str) -> Place:
    group, *rest = name.split("/")
    if len(rest) not in (1, 2) or not rest[0]:
        raise ValueError(f"runtime-config invalid key {name}")
    if len(rest) == 2 and rest[1] != rest[1].lower():
        raise ValueError(
            f"invalid key {name}: group/version/resource and resource is always lowercase plural, "
            f'not "{rest[1]}"'
        )
    return Place(group, *rest)


def _truth(name: str, value: str) -> bool:
    if value not in _TRUTHS:
        raise ValueError(
            f'invalid value of {name}: {value}, err: strconv.ParseBool: parsing "{value}": '
            "invalid syntax"
        )
    return _TRUTHS[value]
