"""What is wrong with containers. Follows core validation validateContainers and its siblings."""

from collections.abc import Collection
from typing import NamedTuple

from inkube.schemas import fielderrors
from inkube.schemas.builtin.behaviours import checks, naming, requirements
from inkube.schemas.builtin.behaviours.pods import fieldrefs, securitycontexts
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.objects import Object

PULL_POLICIES = ("Always", "IfNotPresent", "Never")
PROTOCOLS = ("SCTP", "TCP", "UDP")
_MESSAGES = ("File", "FallbackToLogsOnError")
_SOURCES = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc", "sleep")
_RESTARTS = ("Always", "Never", "OnFailure")
_NOT_EPHEMERAL = (
    "ports", "resources", "resizePolicy", "restartPolicy", "restartPolicyRules", "livenessProbe",
    "readinessProbe", "startupProbe", "lifecycle",
)  # fmt: skip
_ONCE = "may not be set for init containers without restartPolicy=Always"
_PROPAGATION = ("Bidirectional", "HostToContainer", "None")
_READ_ONLY = ("Disabled", "Enabled", "IfPossible")


class Pod(NamedTuple):
    """What containers are checked against: the rest of their pod.

    `volumes` are those nothing is wrong with, by name; `grace` is terminationGracePeriodSeconds.
    """

    volumes: dict[str, Object]
    claims: Collection[str]
    grace: int | None
    restart: str
    host_users: bool


def validate(spec: Object, pod: Pod, path: str) -> list[FieldError]:
    """All containers of a pod: the usual ones, those before them, those that come later."""
    own = spec.get("containers") or []
    if not own:
        errors = [fielderrors.required(f"{path}.containers")]
    else:
        errors = _usual(own, pod, f"{path}.containers")
    errors += _initial(spec, pod, f"{path}.initContainers")
    return errors + _ephemeral(spec, pod, f"{path}.ephemeralContainers")


def _usual(containers: list[Object], pod: Pod, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, container in enumerate(containers):
        errors += _common(container, pod, f"{path}[{index}]")
        errors += _running(container, pod, f"{path}[{index}]")
        errors += _restarts(container, f"{path}[{index}]")
    names = [container.get("name") for container in containers]
    places = [f"{path}[{index}].name" for index in range(len(containers))]
    return errors + checks.duplicates(names, places) + _host_ports(containers, path)


def _initial(spec: Object, pod: Pod, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    taken = {container.get("name") for container in spec.get("containers") or []}
    for index, container in enumerate(spec.get("initContainers") or []):
        place, name = f"{path}[{index}]", container.get("name", "")
        errors += _common(container, pod, place)
        errors += _restarts(container, place)
        if name in taken:
            errors.append(fielderrors.duplicate(f"{place}.name", name))
        elif name:
            taken.add(name)
        errors += _host_ports([container], path)
        if container.get("restartPolicy") == "Always":
            errors += _running(container, pod, place)
            continue
        errors += [
            fielderrors.forbidden(f"{place}.{member}", _ONCE)
            for member in ("lifecycle", *_PROBES)
            if container.get(member) is not None
        ]
    return errors


def _ephemeral(spec: Object, pod: Pod, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    others = {
        container.get("name")
        for member in ("containers", "initContainers")
        for container in spec.get(member) or []
    }
    taken = set(others)
    for index, container in enumerate(spec.get("ephemeralContainers") or []):
        place, name = f"{path}[{index}]", container.get("name", "")
        errors += _common(container, pod, place)
        errors += untrimmed(container, place)
        if name in taken:
            errors.append(fielderrors.duplicate(f"{place}.name", name))
        taken.add(name)
        target = container.get("targetContainerName")
        if target and target not in others:
            errors.append(fielderrors.not_found(f"{place}.targetContainerName", target))
        why = "cannot be set for an Ephemeral Container"
        errors += [
            fielderrors.forbidden(f"{place}.{member}", why)
            for member in _NOT_EPHEMERAL
            if container.get(member)
        ]
        for at, mount in enumerate(container.get("volumeMounts") or []):
            errors += [
                fielderrors.forbidden(f"{place}.volumeMounts[{at}].{member}", why)
                for member in ("subPath", "subPathExpr")
                if mount.get(member)
            ]
    return errors


def untrimmed(container: Object, path: str) -> list[FieldError]:
    """Blanks around the image, which templates may have (validateContainerOnlyForPod)."""
    image = container.get("image", "")
    if image == image.strip():
        return []
    why = "must not have leading or trailing whitespace"
    return [fielderrors.invalid(f"{path}.image", image, why)]


def _common(container: Object, pod: Pod, path: str) -> list[FieldError]:
    """validateContainerCommon."""
    name = container.get("name", "")
    if name:
        errors = checks.named(name, f"{path}.name", naming.label)
    else:
        errors = [fielderrors.required(f"{path}.name")]
    if not container.get("image"):
        errors.append(fielderrors.required(f"{path}.image"))
    policy = container.get("terminationMessagePolicy")
    errors += checks.one_of(policy, f"{path}.terminationMessagePolicy", _MESSAGES)
    errors += _ports(container.get("ports") or [], f"{path}.ports")
    errors += _environment(container, path)
    errors += _mounts(container, pod, f"{path}.volumeMounts")
    errors += _devices(container, pod, f"{path}.volumeDevices")
    errors += checks.one_of(
        container.get("imagePullPolicy"), f"{path}.imagePullPolicy", PULL_POLICIES
    )
    needs = container.get("resources") or {}
    errors += requirements.of_container(needs, f"{path}.resources", pod.claims)
    errors += _resize(container.get("resizePolicy") or [], pod, f"{path}.resizePolicy")
    context = container.get("securityContext")
    return errors + securitycontexts.of_container(
        context, f"{path}.securityContext", host_users=pod.host_users
    )


def _running(container: Object, pod: Pod, path: str) -> list[FieldError]:
    """What only containers have that run beside the others."""
    errors: list[FieldError] = []
    for member, hook in sorted((container.get("lifecycle") or {}).items()):
        if member in ("postStart", "preStop") and hook is not None:
            errors += _handler(hook, f"{path}.lifecycle.{member}", pod.grace)
    for member in _PROBES:
        if container.get(member) is not None:
            errors += _probe(container[member], f"{path}.{member}", member, pod.grace)
    return errors


def _restarts(container: Object, path: str) -> list[FieldError]:
    policy = container.get("restartPolicy")
    if policy is None or policy in _RESTARTS:
        return []
    return [fielderrors.not_supported(f"{path}.restartPolicy", policy, _RESTARTS)]


def _resize(policies: list[Object], pod: Pod, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[str] = set()
    for index, one in enumerate(policies):
        name, policy = one.get("resourceName", ""), one.get("restartPolicy", "")
        if name in seen:
            errors.append(fielderrors.duplicate(f"{path}[{index}]", name))
        seen.add(name)
        errors += checks.one_of(name, path, ("cpu", "memory"))
        errors += checks.one_of(policy, path, ("NotRequired", "RestartContainer"))
        if pod.restart == "Never" and policy != "NotRequired":
            why = "must be 'NotRequired' when `restartPolicy` is 'Never'"
            errors.append(fielderrors.invalid(path, policy, why))
    return errors


def _host_ports(containers: list[Object], path: str) -> list[FieldError]:
    errors = []
    seen: set[str] = set()
    for index, container in enumerate(containers):
        for at, port in enumerate(container.get("ports") or []):
            if not port.get("hostPort"):
                continue
            shown = f"{port.get('protocol', '')}/{port.get('hostIP', '')}/{port['hostPort']}"
            if shown in seen:
                place = f"{path}[{index}].ports[{at}].hostPort"
                errors.append(fielderrors.duplicate(place, shown))
            seen.add(shown)
    return errors


def _ports(ports: list[Object], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    names: list[str] = []
    for index, port in enumerate(ports):
        place = f"{path}[{index}]"
        name = port.get("name", "")
        if name:
            problems = checks.named(name, f"{place}.name", naming.port_name)
            if not problems and name in names:
                problems = [fielderrors.duplicate(f"{place}.name", name)]
            names.append(name)
            errors += problems
        if not port.get("containerPort"):
            errors.append(fielderrors.required(f"{place}.containerPort"))
        else:
            errors += checks.port(port["containerPort"], f"{place}.containerPort")
        if port.get("hostPort"):
            errors += checks.port(port["hostPort"], f"{place}.hostPort")
        errors += checks.one_of(port.get("protocol"), f"{place}.protocol", PROTOCOLS)
    return errors


def _environment(container: Object, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, variable in enumerate(container.get("env") or []):
        place = f"{path}.env[{index}]"
        name = variable.get("name", "")
        if name:
            errors += checks.named(name, f"{place}.name", naming.env_name)
        else:
            errors.append(fielderrors.required(f"{place}.name"))
        if variable.get("valueFrom") is not None:
            errors += _value_from(variable, f"{place}.valueFrom")
    for index, source in enumerate(container.get("envFrom") or []):
        errors += _env_from(source, f"{path}.envFrom[{index}]")
    return errors


def _value_from(variable: Object, path: str) -> list[FieldError]:
    given = variable["valueFrom"]
    sources = [member for member in _SOURCES if given.get(member) is not None]
    errors: list[FieldError] = []
    for source in sources:
        reference, place = given[source], f"{path}.{source}"
        if source == "fieldRef":
            errors += fieldrefs.field(reference, place, fieldrefs.IN_VARIABLES)
        elif source == "resourceFieldRef":
            errors += fieldrefs.resource(reference, place)
        elif source != "fileKeyRef":
            errors += fieldrefs.keys(reference, place, naming.config_key)
        else:
            errors += _file_key(reference, place)
    if not sources:
        named = ", ".join(f"`{source}`" for source in _SOURCES[:-1])
        why = f"must specify one of: {named} or `{_SOURCES[-1]}`"
        errors.append(fielderrors.invalid(path, "", why))
    elif variable.get("value"):
        why = "may not be specified when `value` is not empty"
        errors.append(fielderrors.invalid(path, "", why))
    elif len(sources) > 1:
        why = "may not have more than one field specified at a time"
        errors.append(fielderrors.invalid(path, "", why))
    return errors


def _file_key(reference: Object, path: str) -> list[FieldError]:
    errors = []
    key = reference.get("key", "")
    if not key:
        errors.append(fielderrors.required(f"{path}.key"))
    else:
        errors += checks.named(key, f"{path}.key", naming.env_name)
    if not reference.get("volumeName"):
        errors.append(fielderrors.required(f"{path}.volumeName"))
    if not reference.get("path"):
        errors.append(fielderrors.required(f"{path}.path"))
    else:
        errors += checks.unreserved(reference["path"], f"{path}.path")
    return errors


def _env_from(source: Object, path: str) -> list[FieldError]:
    given = [member for member in ("configMapRef", "secretRef") if source.get(member) is not None]
    errors: list[FieldError] = []
    if source.get("prefix"):
        errors += checks.named(source["prefix"], f"{path}.prefix", naming.env_name)
    if not given:
        why = "must specify one of: `configMapRef` or `secretRef`"
        errors.append(fielderrors.invalid(path, "", why))
    elif len(given) > 1:
        why = "may not have more than one field specified at a time"
        errors.append(fielderrors.invalid(path, "", why))
    for member in given:
        name, place = source[member].get("name", ""), f"{path}.{member}.name"
        if not name:
            errors.append(fielderrors.required(place))
        else:
            errors += checks.named(name, place, naming.subdomain)
    return errors


def _mounts(container: Object, pod: Pod, path: str) -> list[FieldError]:
    """ValidateVolumeMounts; some of its paths leave the index out."""
    errors: list[FieldError] = []
    seen: set[str] = set()
    devices = {
        one.get("name"): one.get("devicePath") for one in container.get("volumeDevices") or ()
    }
    for index, mount in enumerate(container.get("volumeMounts") or []):
        place = f"{path}[{index}]"
        name, target = mount.get("name", ""), mount.get("mountPath", "")
        if not name:
            errors.append(fielderrors.required(f"{place}.name"))
        if name not in pod.volumes:
            errors.append(fielderrors.not_found(f"{place}.name", name))
        if not target:
            errors.append(fielderrors.required(f"{place}.mountPath"))
        if target in seen:
            errors.append(fielderrors.invalid(f"{place}.mountPath", target, "must be unique"))
        seen.add(target)
        if name in devices:
            why = "must not already exist in volumeDevices"
            errors.append(fielderrors.invalid(f"{place}.name", name, why))
        if target in devices.values():
            why = "must not already exist as a path in volumeDevices"
            errors.append(fielderrors.invalid(f"{place}.mountPath", target, why))
        errors += _part_of_volume(mount, pod, path, place)
        errors += _propagation(mount, container, path)
    return errors


def _part_of_volume(mount: Object, pod: Pod, path: str, place: str) -> list[FieldError]:
    part, expression = mount.get("subPath", ""), mount.get("subPathExpr", "")
    errors: list[FieldError] = []
    if (pod.volumes.get(mount.get("name", "")) or {}).get("image") is not None and expression:
        why = "not allowed in image volume sources"
        errors.append(fielderrors.invalid(f"{place}.subPathExpr", expression, why))
    if part:
        errors += checks.descending(part, f"{path}.subPath")
    if expression:
        if part:
            why = "subPathExpr and subPath are mutually exclusive"
            errors.append(fielderrors.invalid(f"{place}.subPathExpr", expression, why))
        errors += checks.descending(expression, f"{path}.subPathExpr")
    return errors


def _propagation(mount: Object, container: Object, path: str) -> list[FieldError]:
    mode, read_only = mount.get("mountPropagation"), mount.get("recursiveReadOnly")
    errors: list[FieldError] = []
    if mode is not None and mode not in _PROPAGATION:
        errors.append(fielderrors.not_supported(f"{path}.mountPropagation", mode, _PROPAGATION))
    privileged = (container.get("securityContext") or {}).get("privileged")
    if mode == "Bidirectional" and not privileged:
        why = "Bidirectional mount propagation is available only to privileged containers"
        errors.append(fielderrors.forbidden(f"{path}.mountPropagation", why))
    place = f"{path}.recursiveReadOnly"
    if read_only is not None and read_only not in _READ_ONLY:
        errors.append(fielderrors.not_supported(place, read_only, _READ_ONLY))
    elif read_only in ("Enabled", "IfPossible"):
        if not mount.get("readOnly"):
            why = "may only be specified when readOnly is true"
            errors.append(fielderrors.forbidden(place, why))
        if mode not in (None, "None"):
            why = "may only be specified when mountPropagation is None or not specified"
            errors.append(fielderrors.forbidden(place, why))
    return errors


def _devices(container: Object, pod: Pod, path: str) -> list[FieldError]:
    """ValidateVolumeDevices."""
    mounts = {one.get("name"): one.get("mountPath") for one in container.get("volumeMounts") or ()}
    errors: list[FieldError] = []
    names: set[str] = set()
    paths: set[str] = set()
    for index, device in enumerate(container.get("volumeDevices") or []):
        place = f"{path}[{index}]"
        name, target = device.get("name", ""), device.get("devicePath", "")
        volume = pod.volumes.get(name)
        if not name:
            errors.append(fielderrors.required(f"{place}.name"))
        if name in names:
            errors.append(fielderrors.invalid(f"{place}.name", name, "must be unique"))
        if volume is None:
            errors.append(fielderrors.not_found(f"{place}.name", name))
        elif not {"persistentVolumeClaim", "ephemeral"} & volume.keys():
            why = (
                "can only use volume source type of PersistentVolumeClaim or Ephemeral for block "
                "mode"
            )
            errors.append(fielderrors.invalid(f"{place}.name", name, why))
        where = f"{place}.devicePath"
        if not target:
            errors.append(fielderrors.required(where))
        if target in paths:
            errors.append(fielderrors.invalid(where, target, "must be unique"))
        if ".." in target.split("/"):
            errors.append(fielderrors.invalid(where, target, "can not contain backsteps ('..')"))
        else:
            paths.add(target)
        if name in mounts:
            why = "must not already exist in volumeMounts"
            errors.append(fielderrors.invalid(f"{place}.name", name, why))
        if target in mounts.values():
            why = "must not already exist as a path in volumeMounts"
            errors.append(fielderrors.invalid(where, target, why))
        if name:
            names.add(name)
    return errors


def _handler(given: Object, path: str, grace: int | None) -> list[FieldError]:
    """validateHandler: exactly one way to act."""
    kinds = [handler for handler in _HANDLERS if given.get(handler) is not None]
    if not kinds:
        return [fielderrors.required(path, "must specify a handler type")]
    kind, place = kinds[0], f"{path}.{kinds[0]}"
    errors: list[FieldError] = []
    if kind == "exec" and not given["exec"].get("command"):
        errors.append(fielderrors.required(f"{place}.command"))
    elif kind == "httpGet":
        errors += _http(given["httpGet"], place)
    elif kind in ("tcpSocket", "grpc"):
        errors += checks.port_or_name(given[kind].get("port", 0), f"{place}.port")
    elif kind == "sleep" and grace is not None:
        seconds = given["sleep"].get("seconds", 0)
        if not 0 <= seconds <= grace:
            why = f"must be non-negative and less than terminationGracePeriodSeconds ({grace})"
            errors.append(fielderrors.invalid(place, seconds, why))
    return errors + [
        fielderrors.forbidden(f"{path}.{extra}", "may not specify more than 1 handler type")
        for extra in kinds[1:]
    ]


def _http(given: Object, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    if not given.get("path"):
        errors.append(fielderrors.required(f"{path}.path"))
    errors += checks.port_or_name(given.get("port", 0), f"{path}.port")
    scheme = given.get("scheme", "")
    if scheme not in ("HTTP", "HTTPS"):
        errors.append(fielderrors.not_supported(f"{path}.scheme", scheme, ("HTTP", "HTTPS")))
    for header in given.get("httpHeaders") or ():
        errors += checks.named(header.get("name", ""), f"{path}.httpHeaders", naming.http_header)
    return errors


def _probe(probe: Object, path: str, member: str, grace: int | None) -> list[FieldError]:
    errors = _handler(probe, path, grace)
    errors += checks.not_negative(
        probe, path, "initialDelaySeconds", "timeoutSeconds", "periodSeconds",
        "successThreshold", "failureThreshold",
    )  # fmt: skip
    seconds, place = probe.get("terminationGracePeriodSeconds"), "terminationGracePeriodSeconds"
    if seconds is not None and seconds <= 0:
        why = "must be greater than 0"
        errors.append(fielderrors.invalid(f"{path}.{place}", seconds, why))
    if member == "readinessProbe":
        if seconds is not None:
            why = "must not be set for readinessProbes"
            errors.append(fielderrors.invalid(f"{path}.{place}", seconds, why))
    elif probe.get("successThreshold", 1) != 1:
        value = probe["successThreshold"]
        errors.append(fielderrors.invalid(f"{path}.successThreshold", value, "must be 1"))
    return errors
