"""Registrations of API groups. Follows kube-aggregator/pkg/apis/apiregistration/validation."""

from inkube.schemas import fielderrors
from inkube.schemas.builtin.behaviours import checks
from inkube.schemas.builtin.behaviours.base import Behaviour
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.metadata import names
from inkube.schemas.objects import Object


class Registrations(Behaviour):
    """The name is the version and the group; the priorities have bounds."""

    def check(self, obj: Object) -> list[FieldError]:
        spec, name = obj.get("spec") or {}, obj["metadata"].get("name", "")
        group, version = spec.get("group", ""), spec.get("version", "")
        errors = []
        if name != f"{version}.{group}":
            why = f'must be `spec.version+"."+spec.group`: "{version}.{group}"'
            errors.append(fielderrors.invalid("metadata.name", name, why))
        if group:
            errors += checks.named(group, "spec.group", names.dns1123_subdomain)
        elif version != "v1":
            why = "only v1 may have an empty group and it better be legacy kube"
            errors.append(fielderrors.required("spec.group", why))
        errors += checks.named(version, "spec.version", names.dns1035_label)
        for member, most in (("groupPriorityMinimum", 20_000), ("versionPriority", 1_000)):
            value = spec.get(member, 0)
            if not 1 <= value <= most:
                why = f"must be positive and less than {most}"
                errors.append(fielderrors.invalid(f"spec.{member}", value, why))
        return errors + _service(spec)


def _service(spec: Object) -> list[FieldError]:
    service, bundle = spec.get("service"), spec.get("caBundle") or ""
    skips, errors = spec.get("insecureSkipTLSVerify") or False, []
    if service is None:
        if bundle:
            why = "local APIServices may not have a caBundle"
            errors.append(fielderrors.invalid("spec.caBundle", bundle, why))
        if skips:
            why = "local APIServices may not have insecureSkipTLSVerify"
            errors.append(fielderrors.invalid("spec.insecureSkipTLSVerify", skips, why))
        return errors
    errors += [
        fielderrors.required(f"spec.service.{member}")
        for member in ("namespace", "name")
        if not service.get(member)
    ]
    errors += checks.port(service.get("port", 443), "spec.service.port")
    if skips and bundle:
        why = "may not be true if caBundle is present"
        errors.append(fielderrors.invalid("spec.insecureSkipTLSVerify", skips, why))
    return errors
