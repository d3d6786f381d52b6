"""What is wrong with containers. Follows core validation validateContainers."""

from typing import Any

from inkube.schemas import fielderrors, quantity
from inkube.schemas.builtin.behaviours import checks, limits, naming
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.objects import Object

PULL_POLICIES = ("Always", "IfNotPresent", "Never")
PROTOCOLS = ("SCTP", "TCP", "UDP")
_MESSAGES = ("FallbackToLogsOnError", "File")
_SOURCES = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc", "sleep")


def validate(containers: list[Object], volumes: list[Object], path: str) -> list[FieldError]:
    """All containers of a list; their names are unique."""
    places = [f"{path}[{index}]" for index in range(len(containers))]
    known = {volume.get("name") for volume in volumes}
    errors = []
    for container, place in zip(containers, places, strict=True):
        errors += _container(container, known, place)
    names = [container.get("name") for container in containers]
    return errors + checks.duplicates(names, [f"{place}.name" for place in places])


def _container(container: Object, volumes: set[Any], path: str) -> list[FieldError]:
    errors = _identity(container, path)
    errors += checks.one_of(
        container.get("imagePullPolicy"), f"{path}.imagePullPolicy", PULL_POLICIES
    )
    policy = container.get("terminationMessagePolicy")
    errors += checks.one_of(policy, f"{path}.terminationMessagePolicy", _MESSAGES)
    errors += _ports(container.get("ports") or [], f"{path}.ports")
    errors += _environment(container, path)
    errors += _mounts(container.get("volumeMounts") or [], volumes, f"{path}.volumeMounts")
    errors += resources(container.get("resources") or {}, f"{path}.resources")
    for member in _PROBES:
        if container.get(member) is not None:
            errors += _probe(container[member], f"{path}.{member}", member)
    return errors


def _identity(container: Object, path: str) -> list[FieldError]:
    name, image = container.get("name", ""), container.get("image", "")
    if name:
        errors = checks.named(name, f"{path}.name", naming.label)
    else:
        errors = [fielderrors.required(f"{path}.name")]
    if not image:
        errors.append(fielderrors.required(f"{path}.image"))
    elif image != image.strip():
        why = "must not have leading or trailing whitespace"
        errors.append(fielderrors.invalid(f"{path}.image", image, why))
    return errors


def _ports(ports: list[Object], path: str) -> list[FieldError]:
    errors = []
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
    errors = []
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
    sources = [member for member in _SOURCES if variable["valueFrom"].get(member) is not None]
    errors = []
    if variable.get("value"):
        why = "may not be specified when `value` is not empty"
        errors.append(fielderrors.invalid(path, "", why))
    elif len(sources) > 1:
        why = "may not have more than one field specified at a time"
        errors.append(fielderrors.invalid(path, "", why))
    elif not sources:
        named = ", ".join(f"`{source}`" for source in _SOURCES[:-1])
        why = f"must specify one of: {named} or `{_SOURCES[-1]}`"
        errors.append(fielderrors.invalid(path, "", why))
    for source in sources:
        if not source.endswith("KeyRef"):
            continue
        reference = variable["valueFrom"][source]
        key = reference.get("key", "")
        if not key:
            errors.append(fielderrors.required(f"{path}.{source}.key"))
        elif source != "fileKeyRef":
            errors += checks.named(key, f"{path}.{source}.key", naming.config_key)
    return errors


def _env_from(source: Object, path: str) -> list[FieldError]:
    given = [member for member in ("configMapRef", "secretRef") if source.get(member) is not None]
    errors = []
    if not given:
        why = "must specify one of: `configMapRef` or `secretRef`"
        errors.append(fielderrors.invalid(path, "", why))
    elif len(given) > 1:
        why = "may not have more than one field specified at a time"
        errors.append(fielderrors.invalid(path, "", why))
    errors += [
        fielderrors.required(f"{path}.{member}.name")
        for member in given
        if not source[member].get("name")
    ]
    return errors


def _mounts(mounts: list[Object], volumes: set[Any], path: str) -> list[FieldError]:
    errors = []
    seen: set[str] = set()
    for index, mount in enumerate(mounts):
        place = f"{path}[{index}]"
        name, target = mount.get("name", ""), mount.get("mountPath", "")
        if not name:
            errors.append(fielderrors.required(f"{place}.name"))
        elif name not in volumes:
            errors.append(fielderrors.not_found(f"{place}.name", name))
        if not target:
            errors.append(fielderrors.required(f"{place}.mountPath"))
        elif target in seen:
            errors.append(fielderrors.invalid(f"{place}.mountPath", target, "must be unique"))
        seen.add(target)
        if mount.get("subPath", "").startswith("/"):
            why = "must be a relative path"
            errors.append(fielderrors.invalid(f"{place}.subPath", mount["subPath"], why))
    return errors


def resources(given: Object, path: str) -> list[FieldError]:
    """Names and amounts of requests and limits; a request is not above its limit."""
    errors = []
    bounds, requests = given.get("limits") or {}, given.get("requests") or {}
    for member, amounts in (("limits", bounds), ("requests", requests)):
        for name, amount in sorted(amounts.items()):
            place = f"{path}.{member}[{name}]"
            errors += _container_resource(name, f"{path}.{member}")
            errors += checks.quantity_not_negative(amount, place)
    for name, amount in sorted(requests.items()):
        bound = bounds.get(name)
        if bound is not None and quantity.parse(amount) > quantity.parse(bound):
            why = f"must be less than or equal to {name} limit of {bound}"
            errors.append(fielderrors.invalid(f"{path}.requests", amount, why))
    return errors


def _container_resource(name: str, path: str) -> list[FieldError]:
    errors = limits.resource_name(name, path)
    standard = name in ("cpu", "memory", "ephemeral-storage") or name.startswith("hugepages-")
    if not errors and "/" not in name and not standard:
        why = "must be a standard resource for containers"
        errors.append(fielderrors.invalid(path, name, why))
    return errors


def _probe(probe: Object, path: str, member: str) -> list[FieldError]:
    errors = checks.not_negative(
        probe, path, "initialDelaySeconds", "timeoutSeconds", "periodSeconds",
        "successThreshold", "failureThreshold",
    )  # fmt: skip
    given = [handler for handler in _HANDLERS if probe.get(handler) is not None]
    if not given:
        errors.append(fielderrors.required(path, "must specify a handler type"))
    errors += [
        fielderrors.forbidden(f"{path}.{handler}", "may not specify more than 1 handler type")
        for handler in given[1:]
    ]
    if "httpGet" in given:
        errors += checks.port_or_name(probe["httpGet"].get("port", 0), f"{path}.httpGet.port")
    if "tcpSocket" in given:
        errors += checks.port_or_name(probe["tcpSocket"].get("port", 0), f"{path}.tcpSocket.port")
    if "exec" in given and not probe["exec"].get("command"):
        errors.append(fielderrors.required(f"{path}.exec.command"))
    if member != "readinessProbe" and probe.get("successThreshold", 1) != 1:
        value = probe["successThreshold"]
        errors.append(fielderrors.invalid(f"{path}.successThreshold", value, "must be 1"))
    return errors
