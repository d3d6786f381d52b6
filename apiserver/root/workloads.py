"""The parts of a server that `controllers.workloads` needs. Imported only with workloads."""

import base64
from collections.abc import Callable
from functools import partial
from typing import Any

from inkube.apiserver import auth
from inkube.apiserver.auth import PREFIX, ServiceAccountTokens
from inkube.apiserver.registry import Call, Registry, Resource, Resources, SystemFields
from inkube.apiserver.root.catalog import LiveCatalog
from inkube.apiserver.root.client import CONTROLLER, InProcessClient
from inkube.apiserver.root.core import Core
from inkube.apiserver.subresources import Binder, metrics
from inkube.controllers import workloads
from inkube.controllers.client import Client
from inkube.controllers.workloads import Cluster, Outside, kinds
from inkube.schemas import crds
from inkube.schemas.lazy import Late
from inkube.schemas.objects import Object
from inkube.schemas.strategy import Strategy

_CENTURY = 100 * 365 * 24 * 3600


def wanted(option: Any) -> workloads.Workloads:
    """The option `workloads` as a configuration: true means the defaults. Raises TypeError."""
    if isinstance(option, workloads.Workloads):
        return option
    if option is True:
        return workloads.Workloads()
    raise TypeError(f"workloads takes a bool or a Workloads, not {type(option).__name__}")


def install(
    config: workloads.Workloads, core: Core, client_authority: "Callable[[], auth.tls.Authority]"
) -> Cluster:
    """Serve the kinds of workloads, and let the manager run the controllers that `config` names."""
    registry, resources = core.registry, core.resources
    tokens, system_fields = core.security.authenticator.accounts, core.base.system_fields
    for module in kinds.modules():
        make = partial(crds.CustomStrategy, module.validate)
        resources.install(Resource(module.definition, make, since=core.base.store.revision))
    outside = Outside(
        client_as=partial(_client, registry, resources),
        bind=partial(_bind, Binder(registry), resources),
        issue_token=partial(_issue_token, tokens, system_fields),
        authority=Late(lambda: _authority(core.door.certificate)),
        sign=partial(_sign, client_authority),
        find_kind=LiveCatalog(core.base.store, resources).find,
        serve_metrics=partial(_serve_metrics, resources),
    )
    return workloads.add(core.manager, config, outside)


def _client(registry: Registry, resources: Resources, manager: str) -> Client:
    return InProcessClient(registry, resources, manager=manager)


async def _bind(binder: Binder, resources: Resources, pod: Object, node: str) -> None:
    """Bind a pod to a node. Raises StatusError as `Binder.bind`."""
    resource = resources.get("", "pods")
    assert resource is not None, "pods are built in"
    meta = pod["metadata"]
    call = Call(
        "create",
        resource,
        resource.storage,
        meta["namespace"],
        meta["name"],
        "binding",
        user=CONTROLLER,
    )
    names = {member: meta[member] for member in ("namespace", "name", "uid")}
    await binder.bind(call, {"metadata": names, "target": {"kind": "Node", "name": node}})


def _authority(shown: "auth.tls.Certificate | None") -> str:
    """The authority of the server's certificate as PEM; of a server without TLS one of its own."""
    found = auth.certificates.make() if shown is None else shown
    return found.authority.decode()


def _sign(client_authority: "Callable[[], auth.tls.Authority]", request: Object) -> str:
    """The certificate of a CertificateSigningRequest, as base64 of PEM. Raises ValueError."""
    spec = request["spec"]
    asked = auth.signers.Request(
        spec["signerName"],
        base64.b64decode(spec["request"]),
        spec.get("usages") or (),
        spec.get("expirationSeconds"),
    )
    return base64.b64encode(auth.signers.sign(client_authority(), asked)).decode()


def _serve_metrics(resources: Resources) -> None:
    for definition in metrics.DEFINITIONS:
        resources.install(Resource(definition, Strategy))


def _issue_token(
    tokens: ServiceAccountTokens, system_fields: SystemFields, account: Object, secret: Object
) -> str:
    """A token bound to a Secret lives as long as that does; it is dated to end in a century."""
    now = int(system_fields.now().timestamp())
    own, namespace = account["metadata"], account["metadata"]["namespace"]
    claims = {
        "aud": list(tokens.audiences),
        "exp": now + _CENTURY,
        "iat": now,
        "iss": tokens.issuer,
        "jti": system_fields.uid(),
        "kubernetes.io": {
            "namespace": namespace,
            "secret": {name: secret["metadata"][name] for name in ("name", "uid")},
            "serviceaccount": {"name": own["name"], "uid": own["uid"]},
        },
        "nbf": now,
        "sub": f"{PREFIX}{namespace}:{own['name']}",
    }
    return tokens.issue(claims)
