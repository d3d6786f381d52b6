"""Irregular rules of networking.k8s.io: hosts, paths, backends, address ranges."""

import ipaddress

from inkube.schemas import fielderrors
from inkube.schemas.builtin import addresses, naming
from inkube.schemas.builtin.rules import compiler, words
from inkube.schemas.builtin.rules.calls import core_containers
from inkube.schemas.builtin.rules.frames import Frame
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.metadata import names
from inkube.schemas.objects import Object

_CLASS = "kubernetes.io/ingress.class"

# ingresses


def class_in_two_places(value: Object, _path: str, _frame: Frame) -> list[FieldError]:
    """Check that a new Ingress with both the annotation and the field for its class has equal
    values."""
    annotated = (value["metadata"].get("annotations") or {}).get(_CLASS)
    name = (value.get("spec") or {}).get("ingressClassName")
    if annotated is None or name is None or annotated == name:
        return []
    why = "must match `ingressClassName` when both are specified"
    return [fielderrors.invalid(f"annotations.{_CLASS}", annotated, why)]


def has_class_annotation(frame: Frame) -> bool:
    """Return whether the deprecated annotation names the class."""
    return _CLASS in (frame.obj["metadata"].get("annotations") or {})


def is_address(member: str, frame: Frame) -> bool:
    """Return whether a text is an IP address."""
    return addresses.parse(frame.obj.get(member, "")) is not None


def host(value: str, path: str, _frame: Frame) -> list[FieldError]:
    """Check that a host is a domain name, with an optional wildcard."""
    check = naming.wildcard_domain if "*" in value else names.dns1123_subdomain
    return [fielderrors.invalid(path, value, why) for why in check(value)]


def had_bad_secrets(frame: Frame) -> bool:
    """Return whether the old Ingress had an invalid name of a Secret. The new one may then have
    one, too."""
    given = ((frame.root.old or {}).get("spec") or {}).get("tls") or ()
    return any(names.subdomain(each["secretName"]) for each in given if each.get("secretName"))


def had_bad_wildcards(frame: Frame) -> bool:
    """Return whether a rule for a wildcard host may be invalid, because the old Ingress had such a
    rule."""
    if "*" not in frame.obj.get("host", ""):
        return False
    given = ((frame.root.old or {}).get("spec") or {}).get("rules") or ()
    return any(
        "*" in rule.get("host", "")
        and compiler.errors("networking.v1.HTTPIngressRuleValue", rule.get("http") or {})
        for rule in given
    )


def plain_path(value: str, path: str, _frame: Frame) -> list[FieldError]:
    """Check that a path is unambiguous: without empty, `.`, `..` and encoded segments."""
    wrong = [
        f"must not contain '{part}'"
        for part in ("//", "/./", "/../", "%2f", "%2F")
        if part in value
    ]
    wrong += [f"cannot end with '{end}'" for end in ("/..", "/.") if value.endswith(end)]
    return [fielderrors.invalid(path, value, why) for why in wrong]


def port(value: Object, path: str, frame: Frame) -> list[FieldError]:
    """Check a port by its name or its number. An error about both of them has the path of the
    backend."""
    name, number = value.get("name"), value.get("number")
    whole = frame.path.rpartition(".")[0]
    if name and number:
        return [fielderrors.invalid(whole, "", "cannot set both port name & port number")]
    if name:
        return core_containers.port(name, f"{path}.name", frame)
    if number:
        return core_containers.port(number, f"{path}.number", frame)
    return [fielderrors.required(whole, "port name or number is required")]


# network policies


def policy_types(spec: Object) -> list[str]:
    """Return Ingress, and Egress if the policy has egress rules (SetDefaults_NetworkPolicy)."""
    return ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]


def has_selector(frame: Frame) -> bool:
    """Return whether a selector selects the peers."""
    return any(frame.obj.get(each) is not None for each in ("podSelector", "namespaceSelector"))


def port_range(value: Object, path: str, frame: Frame) -> list[FieldError]:
    """Check the ports of a rule: a number can have an endPort, a name cannot
    (ValidateNetworkPolicyPort)."""
    first, last, place = value.get("port"), value.get("endPort"), f"{path}.endPort"
    if first is None:
        why = "may not be specified when `port` is not specified"
        return [] if last is None else [fielderrors.invalid(place, last, why)]
    errors: list[FieldError] = []
    if isinstance(first, str):
        if last is not None:
            why = "may not be specified when `port` is non-numeric"
            errors.append(fielderrors.invalid(place, last, why))
        return errors + core_containers.port(first, f"{path}.port", frame)
    errors += core_containers.port(first, f"{path}.port", frame)
    if last is not None:
        if last < first:
            why = "must be greater than or equal to `port`"
            errors.append(fielderrors.invalid(place, first, why))
        errors += core_containers.port(last, place, frame)
    return errors


def block_warnings(value: str, path: str, _frame: Frame) -> list[str]:
    """Return the warnings about a CIDR."""
    return addresses.block_warnings(value, path)


def exception(how: str, value: str, path: str, frame: Frame) -> list[FieldError]:
    """Check that an exception is a smaller CIDR in the block, if the block is valid. `how`:
    `strict`, or `lenient` as before the gate StrictIPCIDRValidation was on."""
    outer = _network(frame.obj.get("cidr", ""))
    if outer is None:
        return []
    errors = addresses.check_block(value, path, strict=how == "strict")
    inner = _network(value)
    if inner is None:
        return errors
    is_within = inner.version == outer.version and inner[0] in outer
    if not is_within or inner.prefixlen <= outer.prefixlen:
        errors.append(fielderrors.invalid(path, value, "must be a strict subset of `cidr`"))
    return errors


def _network(text: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    """Return the network of a CIDR; leading zeros are valid."""
    parsed = addresses.block(text)
    return None if parsed is None else ipaddress.ip_network(parsed, strict=False)


# addresses


def address_as_name(value: Object, _path: str, _frame: Frame) -> list[FieldError]:
    """Check that the name of an IPAddress is the address in its canonical form."""
    errors: list[FieldError] = []
    for member in ("generateName", "name"):
        text, place = value["metadata"].get(member), f"metadata.{member}"
        if not text:
            continue
        errors += addresses.check_canonical(text, place)
    return errors


def ranges(value: list[str], path: str, _frame: Frame) -> list[FieldError]:
    """Check that there is at most one range for each IP family."""
    errors: list[FieldError] = []
    if len(value) > 2:
        errors.append(fielderrors.invalid(path, value, "must only hold 2 values"))
    families = {found.version for text in value if (found := addresses.parse(text.split("/")[0]))}
    for index, text in enumerate(value):
        errors += addresses.check_block(text, f"{path}[{index}]")
    if len(value) == 2 and not errors and len(families) < 2:
        why = (
            "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and "
            "2001:db8::/64"
        )
        errors.append(fielderrors.invalid(path, value, why))
    return errors


def kept_ranges(value: list[str] | None, path: str, frame: Frame) -> list[FieldError]:
    """Check that an update keeps the ranges; it can add a second one, and then all are checked
    (ValidateServiceCIDRUpdate)."""
    before: list[str] = ((frame.old or {}).get("spec") or {}).get("cidrs") or []
    given = value or []
    if len(given) == len(before):
        pairs = enumerate(zip(given, before, strict=True))
        changed = [index for index, (new, old) in pairs if new != old]
    elif len(given) == 2 and len(before) == 1:
        changed = [] if given[0] == before[0] else [0]
    else:
        return [fielderrors.invalid(path, value, words.IMMUTABLE)]
    errors = [fielderrors.invalid(f"{path}[{at}]", given[at], words.IMMUTABLE) for at in changed]
    return errors if len(given) == len(before) else errors + ranges(given, path, frame)
