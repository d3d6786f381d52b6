"""Registrations of API groups. Follows kube-aggregator/pkg/apis/apiregistration (validation, v1
defaults) and pkg/registry/apiservice/strategy.go."""

from inkube.schemas import fielderrors
from inkube.schemas.aggregation import marks, registrations
from inkube.schemas.builtin.behaviours import checks
from inkube.schemas.builtin.behaviours.base import BuiltinStrategy
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.metadata import names
from inkube.schemas.objects import Object
from inkube.schemas.strategy import Context


class Registrations(BuiltinStrategy):
    """The name is the version and the group; the priorities have bounds."""

    def default(self, obj: Object) -> None:
        service = (obj.get("spec") or {}).get("service")
        if service is not None and service.get("port") is None:
            service["port"] = registrations.PORT

    def prepare_for_create(self, context: Context, obj: Object) -> None:
        """What leads nowhere else is available from the start."""
        super().prepare_for_create(context, obj)
        if not registrations.Registration.of(obj).is_remote:
            obj["status"] = {"conditions": [registrations.local(context.now)]}

    def check(self, obj: Object) -> list[FieldError]:
        meta, spec = obj["metadata"], obj.get("spec") or {}
        group, version = spec.get("group", ""), spec.get("version", "")
        errors = []
        for member in ("generateName", "name"):
            name = meta.get(member)
            if name and name != f"{version}.{group}" and not names.path_segment(name):
                why = f'must be `spec.version+"."+spec.group`: "{version}.{group}"'
                errors.append(fielderrors.invalid(f"metadata.{member}", name, why))
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
        return errors + _service(spec) + _url(meta)


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
    port = service.get("port", registrations.PORT)
    if checks.port(port, ""):
        why = f"port is not valid: {checks.IN_PORT_RANGE}"
        errors.append(fielderrors.invalid("spec.service.port", port, why))
    if skips and bundle:
        why = "may not be true if caBundle is present"
        errors.append(fielderrors.invalid("spec.insecureSkipTLSVerify", skips, why))
    return errors


def _url(meta: Object) -> list[FieldError]:
    """inkube's own way to say where a server is."""
    url = (meta.get("annotations") or {}).get(marks.URL)
    why = "" if url is None else registrations.url_problem(url)
    path = f"metadata.annotations[{marks.URL}]"
    return [fielderrors.invalid(path, url, why)] if why else []
