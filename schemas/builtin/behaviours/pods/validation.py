"""What is wrong with pod specs and templates. Follows core validation ValidatePodSpec."""

from collections.abc import Sequence

from inkube.schemas import fielderrors, selectors
from inkube.schemas.builtin.behaviours import (
    addresses,
    checks,
    metadata,
    naming,
    requirements,
    scheduling,
)
from inkube.schemas.builtin.behaviours.pods import containers, securitycontexts, volumes
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.metadata import names
from inkube.schemas.objects import Object

_RESTART = ("Always", "OnFailure", "Never")
_DNS = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_MAX_SERVERS, _MAX_SEARCHES, _MAX_SEARCH_CHARS = 3, 32, 2048
_MIRROR = "kubernetes.io/config.mirror"
_DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
_SECCOMP_POD = "seccomp.security.alpha.kubernetes.io/pod"
_SECCOMP_CONTAINER = "container.seccomp.security.alpha.kubernetes.io/"
_APP_ARMOR = "container.apparmor.security.beta.kubernetes.io/"
_MEMBERS = ("containers", "initContainers", "ephemeralContainers")


def pod(obj: Object) -> list[FieldError]:
    """validatePodMetadataAndSpec; the usual metadata is checked elsewhere."""
    spec = obj.get("spec") or {}
    errors = _annotations(obj["metadata"].get("annotations") or {}, spec)
    errors += pod_spec(spec, "spec")
    if not spec.get("serviceAccountName"):
        for index, volume in enumerate(spec.get("volumes") or ()):
            for at, source in enumerate((volume.get("projected") or {}).get("sources") or ()):
                if source.get("serviceAccountToken") is not None:
                    place = f"spec.volumes[{index}].projected.sources[{at}].serviceAccountToken"
                    why = "must not be specified when serviceAccountName is not set"
                    errors.append(fielderrors.forbidden(place, why))
    for member in ("containers", "initContainers"):
        for index, container in enumerate(spec.get(member) or ()):
            errors += containers.untrimmed(container, f"spec.{member}[{index}]")
            if spec.get("hostNetwork") and member == "containers":
                errors += _same_ports(container, f"spec.{member}[{index}]")
    return errors


def _same_ports(container: Object, path: str) -> list[FieldError]:
    """A pod in the host's network listens on the host's ports (validatePodHostNetworkDeps)."""
    why = "must match `containerPort` when `hostNetwork` is true"
    return [
        fielderrors.invalid(f"{path}.ports[{index}].hostPort", port.get("hostPort", 0), why)
        for index, port in enumerate(container.get("ports") or ())
        if port.get("hostPort", 0) != port.get("containerPort", 0)
    ]


def only_new(obj: Object) -> list[FieldError]:
    """What a new pod may not have and an old one may (ValidatePodCreate)."""
    spec = obj.get("spec") or {}
    errors = []
    if spec.get("ephemeralContainers"):
        why = "cannot be set on create"
        errors.append(fielderrors.forbidden("spec.ephemeralContainers", why))
    if spec.get("nodeName") and spec.get("schedulingGates"):
        why = "cannot be set until all schedulingGates have been cleared"
        errors.append(fielderrors.forbidden("spec.nodeName", why))
    return errors


def _annotations(given: dict[str, str], spec: Object) -> list[FieldError]:
    """ValidatePodSpecificAnnotations."""
    path = "metadata.annotations"
    errors = []
    if _MIRROR in given and not spec.get("nodeName"):
        why = "must set spec.nodeName if mirror pod annotation is set"
        errors.append(fielderrors.invalid(f"{path}[{_MIRROR}]", given[_MIRROR], why))
    cost = given.get(_DELETION_COST)
    if cost is not None and not _is_int32(cost):
        why = "must be a 32bit integer"
        errors.append(fielderrors.invalid(f"{path}[{_DELETION_COST}]", cost, why))
    known = {one.get("name") for member in _MEMBERS for one in spec.get(member) or ()}
    for key, profile in sorted(given.items()):
        if key == _SECCOMP_POD or key.startswith(_SECCOMP_CONTAINER):
            errors += _seccomp(profile, f"{path}.{key}")
        elif key.startswith(_APP_ARMOR):
            place, name = f"{path}[{key}]", key.removeprefix(_APP_ARMOR)
            if name not in known:
                errors.append(fielderrors.invalid(place, name, "container not found"))
            known_profile = profile in ("", "runtime/default", "unconfined")
            if not known_profile and not profile.startswith("localhost/"):
                why = f'invalid AppArmor profile name: "{profile}"'
                errors.append(fielderrors.invalid(place, profile, why))
    return errors


def _is_int32(text: str) -> bool:
    """helper.GetDeletionCostFromPodAnnotations: as Go prints it, no plus, no leading zeros."""
    digits = text.removeprefix("-")
    if not digits.isascii() or not digits.isdecimal() or (digits[0] == "0" and digits != "0"):
        return False
    return -(2**31) <= int(text) < 2**31


def _seccomp(profile: str, path: str) -> list[FieldError]:
    if profile in ("runtime/default", "docker/default", "unconfined"):
        return []
    if profile.startswith("localhost/"):
        return checks.descending(profile.removeprefix("localhost/"), path)
    return [fielderrors.invalid(path, profile, "must be a valid seccomp profile")]


def pod_spec(spec: Object, path: str, claims: Sequence[Object] = ()) -> list[FieldError]:
    """Volumes, containers, policies, names; `claims` are volumes declared elsewhere."""
    errors, known = volumes.validate(spec.get("volumes") or [], f"{path}.volumes")
    known |= {one["name"]: {**one, "persistentVolumeClaim": {}} for one in claims if "name" in one}
    errors += _resource_claims(spec.get("resourceClaims") or [], f"{path}.resourceClaims")
    facts = containers.Pod(
        known,
        [one["name"] for one in spec.get("resourceClaims") or () if one.get("name")],
        spec.get("terminationGracePeriodSeconds"),
        spec.get("restartPolicy", ""),
        spec.get("hostUsers") is not False,
    )
    errors += containers.validate(spec, facts, path)
    errors += checks.one_of(spec.get("restartPolicy"), f"{path}.restartPolicy", _RESTART)
    errors += checks.one_of(spec.get("dnsPolicy"), f"{path}.dnsPolicy", _DNS)
    errors += metadata.labels(spec.get("nodeSelector") or {}, f"{path}.nodeSelector")
    errors += securitycontexts.of_pod(spec, path)
    errors += scheduling.affinity(spec.get("affinity") or {}, f"{path}.affinity")
    errors += _dns(spec, f"{path}.dnsConfig")
    for index, gate in enumerate(spec.get("readinessGates") or ()):
        place = f"{path}.readinessGates[{index}].conditionType"
        errors += checks.named(gate.get("conditionType", ""), place, names.label_key)
    errors += scheduling.gates(spec.get("schedulingGates") or [], f"{path}.schedulingGates")
    errors += scheduling.topology_spread(
        spec.get("topologySpreadConstraints") or [], f"{path}.topologySpreadConstraints"
    )
    errors += _scalars(spec, path)
    for index, toleration in enumerate(spec.get("tolerations") or []):
        errors += scheduling.toleration(toleration, f"{path}.tolerations[{index}]")
    for index, alias in enumerate(spec.get("hostAliases") or ()):
        place = f"{path}.hostAliases[{index}]"
        errors += addresses.check(alias.get("ip", ""), f"{place}.ip")
        for at, name in enumerate(alias.get("hostnames") or ()):
            errors += checks.named(name, f"{place}.hostnames[{at}]", naming.subdomain)
    if spec.get("overhead"):
        errors += requirements.of_container({"limits": spec["overhead"]}, f"{path}.overhead")
    return errors + securitycontexts.of_system(spec, path)


def _resource_claims(given: list[Object], path: str) -> list[FieldError]:
    """validatePodResourceClaims."""
    errors = []
    seen: set[str] = set()
    members = ("resourceClaimName", "resourceClaimTemplateName")
    for index, claim in enumerate(given):
        name, place = claim.get("name", ""), f"{path}[{index}]"
        if not name:
            errors.append(fielderrors.required(f"{place}.name"))
        elif name in seen:
            errors.append(fielderrors.duplicate(f"{place}.name", name))
        else:
            errors += checks.named(name, f"{place}.name", naming.label)
            seen.add(name)
        told = [member for member in members if claim.get(member) is not None]
        shown = fielderrors.Verbatim(_claim_shown(claim))
        if len(told) > 1:
            why = (
                "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
            )
            errors.append(fielderrors.invalid(place, shown, why))
        elif not told:
            why = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
            errors.append(fielderrors.invalid(place, shown, why))
        for member in told:
            errors += checks.named(claim[member], f"{place}.{member}", naming.subdomain)
    return errors


def _claim_shown(claim: Object) -> str:
    def text(member: str) -> str:
        return "null" if claim.get(member) is None else f'"{claim[member]}"'

    return (
        f'{{"Name":"{claim.get("name", "")}","ResourceClaimName":{text("resourceClaimName")},'
        f'"ResourceClaimTemplateName":{text("resourceClaimTemplateName")}}}'
    )


def _dns(spec: Object, path: str) -> list[FieldError]:
    """validatePodDNSConfig."""
    config = spec.get("dnsConfig")
    if spec.get("dnsPolicy") == "None":
        if config is None:
            why = "must provide `dnsConfig` when `dnsPolicy` is None"
            return [fielderrors.required(path, why)]
        if not config.get("nameservers"):
            why = "must provide at least one DNS nameserver when `dnsPolicy` is None"
            return [fielderrors.required(f"{path}.nameservers", why)]
    config = config or {}
    servers, searches = config.get("nameservers") or [], config.get("searches") or []
    errors: list[FieldError] = []
    if len(servers) > _MAX_SERVERS:
        why = f"must not have more than {_MAX_SERVERS} nameservers"
        errors.append(fielderrors.invalid(f"{path}.nameservers", servers, why))
    for index, server in enumerate(servers):
        errors += addresses.check(server, f"{path}.nameservers[{index}]")
    if len(searches) > _MAX_SEARCHES:
        why = f"must not have more than {_MAX_SEARCHES} search paths"
        errors.append(fielderrors.invalid(f"{path}.searches", searches, why))
    if len(" ".join(searches)) > _MAX_SEARCH_CHARS:
        why = f"must not have more than {_MAX_SEARCH_CHARS} characters (including spaces) in the "
        errors.append(fielderrors.invalid(f"{path}.searches", searches, f"{why}search list"))
    for index, search in enumerate(searches):
        if search != ".":
            text = search.removesuffix(".")
            errors += checks.named(text, f"{path}.searches[{index}]", naming.search_domain)
    for index, option in enumerate(config.get("options") or ()):
        if not option.get("name"):
            errors.append(fielderrors.required(f"{path}.options[{index}]", "must not be empty"))
    return errors


def _scalars(spec: Object, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
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
    policy = spec.get("preemptionPolicy")
    if policy is not None:
        choices = ("PreemptLowerPriority", "Never")
        errors += checks.one_of(policy, f"{path}.preemptionPolicy", choices)
    return errors


def template(given: Object, path: str, claims: Sequence[Object] = ()) -> list[FieldError]:
    """ValidatePodTemplateSpec; `claims` are volumes that the kind itself adds."""
    errors = metadata.template(given.get("metadata") or {}, f"{path}.metadata")
    errors += pod_spec(given.get("spec") or {}, f"{path}.spec", claims)
    if (given.get("spec") or {}).get("ephemeralContainers"):
        why = "ephemeral containers not allowed in pod template"
        errors.append(fielderrors.forbidden(f"{path}.spec.ephemeralContainers", why))
    return errors


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
    errors = checks.label_selector(selector, place)
    if not selector:
        why = f"empty selector is invalid for {kind}"
        errors.append(fielderrors.invalid(place, selector, why))
    found = checks.label_selector(selector, place)
    if selector and not found and not selectors.selects(selector, labels):
        errors.append(_unselected(labels, path))
    return errors


def _unselected(labels: Object, path: str) -> FieldError:
    why = "`selector` does not match template `labels`"
    return fielderrors.invalid(f"{path}.template.metadata.labels", labels or None, why)
