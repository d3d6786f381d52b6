"""What is wrong with pod specs and templates. Follows core validation ValidatePodSpec."""

from collections.abc import Sequence

from inkube.schemas import fielderrors, selectors
from inkube.schemas.builtin.behaviours import checks, containers, metadata, naming, volumes
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.golang import gotext
from inkube.schemas.metadata import names
from inkube.schemas.objects import Object

_RESTART = ("Always", "OnFailure", "Never")
_DNS = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


def pod_spec(spec: Object, path: str, claims: Sequence[Object] = ()) -> list[FieldError]:
    """Volumes, containers, policies, names; `claims` are volumes declared elsewhere."""
    declared = spec.get("volumes") or []
    errors = volumes.validate(declared, f"{path}.volumes")
    declared = [*declared, *claims]
    if not spec.get("containers"):
        errors.append(fielderrors.required(f"{path}.containers"))
    for member in ("containers", "initContainers", "ephemeralContainers"):
        errors += containers.validate(spec.get(member) or [], declared, f"{path}.{member}")
    errors += _names_across(spec, path)
    errors += checks.one_of(spec.get("restartPolicy"), f"{path}.restartPolicy", _RESTART)
    errors += checks.one_of(spec.get("dnsPolicy"), f"{path}.dnsPolicy", _DNS)
    errors += _scalars(spec, path)
    for index, toleration in enumerate(spec.get("tolerations") or []):
        errors += _toleration(toleration, f"{path}.tolerations[{index}]")
    errors += metadata.labels(spec.get("nodeSelector") or {}, f"{path}.nodeSelector")
    return errors


def _names_across(spec: Object, path: str) -> list[FieldError]:
    """Init containers may not take the name of a container."""
    taken = {container.get("name") for container in spec.get("containers") or []}
    return [
        fielderrors.duplicate(f"{path}.initContainers[{index}].name", container["name"])
        for index, container in enumerate(spec.get("initContainers") or [])
        if container.get("name") in taken
    ]


def _scalars(spec: Object, path: str) -> list[FieldError]:
    errors = checks.not_negative(spec, path, "terminationGracePeriodSeconds")
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and not 1 <= deadline <= 2**31 - 1:
        why = "must be between 1 and 2147483647, inclusive"
        errors.append(fielderrors.invalid(f"{path}.activeDeadlineSeconds", deadline, why))
    for member, check in (
        ("serviceAccountName", naming.subdomain),
        ("nodeName", naming.subdomain),
        ("priorityClassName", naming.subdomain),
        ("runtimeClassName", naming.subdomain),
        ("hostname", naming.label),
        ("subdomain", naming.label),
    ):
        if spec.get(member):
            errors += checks.named(spec[member], f"{path}.{member}", check)
    return errors


def _toleration(toleration: Object, path: str) -> list[FieldError]:
    errors = []
    key, operator = toleration.get("key", ""), toleration.get("operator", "")
    if key:
        errors += checks.named(key, f"{path}.key", names.label_key)
    elif operator != "Exists":
        why = (
            "operator must be Exists when `key` is empty, which means "
            '"match all values and all keys"'
        )
        errors.append(fielderrors.invalid(f"{path}.operator", operator, why))
    if toleration.get("tolerationSeconds") is not None and toleration.get("effect") != "NoExecute":
        why = "effect must be 'NoExecute' when `tolerationSeconds` is set"
        errors.append(fielderrors.invalid(f"{path}.effect", toleration.get("effect", ""), why))
    if operator == "Exists" and toleration.get("value"):
        why = "value must be empty when `operator` is 'Exists'"
        errors.append(fielderrors.invalid(f"{path}.operator", toleration, why))
    elif operator not in ("", "Equal", "Exists"):
        choices = ("Equal", "Exists")
        errors.append(fielderrors.not_supported(f"{path}.operator", operator, choices))
    if toleration.get("effect"):
        errors += checks.one_of(toleration["effect"], f"{path}.effect", _EFFECTS)
    return errors


def template(given: Object, path: str, claims: Sequence[Object] = ()) -> list[FieldError]:
    """ValidatePodTemplateSpec; `claims` are volumes that the kind itself adds."""
    errors = metadata.template(given.get("metadata") or {}, f"{path}.metadata")
    errors += pod_spec(given.get("spec") or {}, f"{path}.spec", claims)
    if (given.get("spec") or {}).get("ephemeralContainers"):
        why = "ephemeral containers not allowed in pod template"
        errors.append(fielderrors.forbidden(f"{path}.spec.ephemeralContainers", why))
    return errors


def warnings(spec: Object, path: str) -> list[str]:
    """What works but surprises: a variable defined twice (pkg/api/pod/warnings.go)."""
    found = []
    for member in ("containers", "initContainers"):
        for index, container in enumerate(spec.get(member) or []):
            seen: set[str] = set()
            for at, variable in enumerate(container.get("env") or []):
                name = variable.get("name", "")
                if name in seen:
                    found.append(
                        f"{path}.{member}[{index}].env[{at}]: hides previous definition of "
                        f"{gotext.quote(name)}, which may be dropped when using apply"
                    )
                seen.add(name)
    return found


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
    if selector is None:
        return [fielderrors.required(place)]
    errors = checks.label_selector(selector, place)
    if not selector:
        why = f"empty selector is invalid for {kind}"
        errors.append(fielderrors.invalid(place, selector, why))
    labels = ((given or {}).get("metadata") or {}).get("labels") or {}
    if selector and not selectors.selects(selector, labels):
        why = "`selector` does not match template `labels`"
        value = labels or None
        errors.append(fielderrors.invalid(f"{path}.template.metadata.labels", value, why))
    return errors
