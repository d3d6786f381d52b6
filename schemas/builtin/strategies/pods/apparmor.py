"""AppArmor profiles of new pods, in fields and in the annotations that the fields replaced.

Follows applyAppArmorVersionSkew of pkg/registry/core/pod/strategy.go.
"""

from collections.abc import Iterator

from inkube.schemas.builtin import rules
from inkube.schemas.builtin.rules.calls import core_containers
from inkube.schemas.objects import Object

KEY = core_containers.APP_ARMOR_KEY
_LISTS = ("initContainers", "containers", "ephemeralContainers")
_TEXTS = {kind: text for text, kind in core_containers.APP_ARMOR_PROFILES.items()}


def settle(obj: Object, *, annotates: bool) -> Iterator[str]:
    """Set profiles of containers that only have an annotation. Yields warnings about these
    annotations.

    `annotates`: also set annotations for profiles that only have a field, for older nodes.
    """
    spec, meta = obj["spec"], obj["metadata"]
    given: dict[str, str] = meta.get("annotations") or {}
    if (spec.get("os") or {}).get("name") == "windows":
        return
    if not annotates and not any(key.startswith(KEY) for key in given):
        return
    whole = (spec.get("securityContext") or {}).get("appArmorProfile")
    made = dict(given)
    for container in [each for name in _LISTS for each in spec.get(name) or ()]:
        key = f"{KEY}{container.get('name', '')}"
        own = (container.get("securityContext") or {}).get("appArmorProfile")
        if key not in made:
            text = _annotation(own or whole) if annotates else ""
            if text:
                made[key] = text
        elif own is None:
            found = _valid(core_containers.app_armor_of(made[key]))
            if found is not None and found != whole:
                context = container.get("securityContext") or {}
                container["securityContext"] = {**context, "appArmorProfile": found}
            if found is None or found != whole:
                yield core_containers.app_armor_warning(f"metadata.annotations[{key}]")
    if made != given:
        meta["annotations"] = made


def _annotation(profile: Object | None) -> str:
    """Return the annotation for a profile, or "" for a profile without one."""
    kind, local = (profile or {}).get("type", ""), (profile or {}).get("localhostProfile")
    if kind == "Localhost" and local is not None:
        return f"localhost/{local}"
    return _TEXTS.get(kind, "")


def _valid(profile: Object | None) -> Object | None:
    """Return the profile if it has no errors, or None."""
    if profile is None or rules.errors("core.v1.AppArmorProfile", profile):
        return None
    return profile
