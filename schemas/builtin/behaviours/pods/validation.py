"""What kinds with templates of pods check of these and of their selectors."""

from collections.abc import Sequence

from inkube.schemas import fielderrors, selectors
from inkube.schemas.builtin import rules
from inkube.schemas.builtin.behaviours import checks, naming
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.gotypes import internal
from inkube.schemas.objects import Object


def template(
    book: "rules.Rulebook",
    given: Object,
    path: str,
    claims: Sequence[str] = (),
    kind: str = "core.v1.PodTemplateSpec",
) -> list[FieldError]:
    """What a `kind` of template demands; `claims` are names of volumes that the owner adds."""
    if claims:
        spec = given.get("spec") or {}
        added = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in claims]
        spec = {**spec, "volumes": [*(spec.get("volumes") or ()), *added]}
        given = {**given, "spec": spec}
    return book.errors(kind, given, path)


def name_warnings(name: str, where: str) -> list[str]:
    """A name that is no DNS label makes odd hostnames."""
    problems = naming.label(name)
    if not problems:
        return []
    listed = " ".join(problems)
    advice = f"which can result in surprising behavior; a DNS label is recommended: [{listed}]"
    return [f"metadata.name: this is used in {where}, {advice}"]


def always_restarting(given: Object, path: str, owner: str) -> list[FieldError]:
    """Templates of what runs for ever restart always and have no deadline."""
    spec = given.get("spec") or {}
    errors = []
    if spec.get("restartPolicy") != "Always":
        value = spec.get("restartPolicy", "")
        errors.append(fielderrors.not_supported(f"{path}.spec.restartPolicy", value, ["Always"]))
    if spec.get("activeDeadlineSeconds") is not None:
        why = f"activeDeadlineSeconds in {owner} is not Supported"
        errors.append(fielderrors.forbidden(f"{path}.spec.activeDeadlineSeconds", why))
    return errors


def selector_and_template(
    selector: Object | None, given: Object | None, path: str, kind: str
) -> list[FieldError]:
    """A selector that selects something, and its own template."""
    place = f"{path}.selector"
    labels = ((given or {}).get("metadata") or {}).get("labels") or {}
    if selector is None:  # which selects nothing, the template neither
        return [fielderrors.required(place), _unselected(labels, path)]
    found = checks.label_selector(selector, place)
    errors = list(found)
    selects_all = not any(selector.values())
    if selects_all:
        why = f"empty selector is invalid for {kind}"
        errors.append(
            fielderrors.invalid(place, internal.value("meta.LabelSelector", selector), why)
        )
    if not selects_all and not found and not selectors.selects(selector, labels):
        errors.append(_unselected(labels, path))
    return errors


def _unselected(labels: Object, path: str) -> FieldError:
    why = "`selector` does not match template `labels`"
    return fielderrors.invalid(f"{path}.template.metadata.labels", labels or None, why)
