"""The functions of a server for modules that do the work of other parts of a cluster."""

import base64
from collections.abc import Callable
from functools import partial

from inkube.apiserver import auth, subresources
from inkube.apiserver.auth import PREFIX, ServiceAccountTokens
from inkube.apiserver.catalog import LiveCatalog
from inkube.apiserver.client import CONTROLLER, FaultInjection, InProcessClient
from inkube.apiserver.registry import Registry, Resource, Resources, SystemFields, intake
from inkube.controllers.client import Client
from inkube.controllers.modules import ServerAccess
from inkube.schemas.builtin import gates
from inkube.schemas.lazy import Lazy
from inkube.schemas.objects import Object
from inkube.schemas.strategy import Strategy

_CENTURY = 100 * 365 * 24 * 3600


def of(
    registry: Registry,
    resources: Resources,
    system_fields: SystemFields,
    *,
    tokens: ServiceAccountTokens,
    certificate: "auth.tls.Certificate | None",
    client_authority: "Callable[[], auth.tls.Authority]",
    faults: FaultInjection,
    minor: int,
) -> ServerAccess:
    """Return the functions of a server. They load other code when they are called."""
    return ServerAccess(
        client_as=partial(_client, registry, resources, faults),
        bind=partial(_bind, Lazy(lambda: subresources.Binder(registry)), resources),
        issue_token=partial(_issue_token, tokens, system_fields),
        authority=Lazy(lambda: _authority(certificate)),
        sign=partial(_sign, client_authority),
        find_kind=LiveCatalog(registry.store, resources).find,
        has_feature=lambda name: gates.is_on(name, minor),
        serve_metrics=partial(_serve_metrics, resources),
    )


def _client(
    registry: Registry, resources: Resources, faults: FaultInjection, manager: str
) -> Client:
    return InProcessClient(registry, resources, manager=manager, faults=faults)


async def _bind(
    binder: "Lazy[subresources.Binder]", resources: Resources, pod: Object, node: str
) -> None:
    """Bind a pod to a node. Raises StatusError as `Binder.bind`."""
    resource = resources.get("", "pods")
    assert resource is not None, "pods are built in"
    meta = pod["metadata"]
    request = intake.request(
        "create",
        resource,
        resource.storage,
        CONTROLLER,
        namespace=meta["namespace"],
        name=meta["name"],
        subresource="binding",
    )
    names = {member: meta[member] for member in ("namespace", "name", "uid")}
    await binder().bind(request, {"metadata": names, "target": {"kind": "Node", "name": node}})


def _authority(serving_certificate: "auth.tls.Certificate | None") -> str:
    """Return the authority of the server's certificate as PEM; of a server without TLS one of its
    own."""
    certificate = (
        auth.certificates.make_server() if serving_certificate is None else serving_certificate
    )
    return certificate.authority.decode()


def _sign(client_authority: "Callable[[], auth.tls.Authority]", request: Object) -> str:
    """Return the certificate of a CertificateSigningRequest, as base64 of PEM. Raises
    ValueError."""
    spec = request["spec"]
    signer_request = auth.signers.Request(
        spec["signerName"],
        base64.b64decode(spec["request"]),
        spec.get("usages") or (),
        spec.get("expirationSeconds"),
    )
    return base64.b64encode(auth.signers.sign(client_authority(), signer_request)).decode()


def _serve_metrics(resources: Resources) -> None:
    for definition in subresources.metrics.DEFINITIONS:
        resources.install(Resource(definition, Strategy))


def _issue_token(
    tokens: ServiceAccountTokens, system_fields: SystemFields, account: Object, secret: Object
) -> str:
    """Sign a token that is bound to a Secret and lives as long as it; it expires in a century."""
    now = int(system_fields.now().timestamp())
    metadata, namespace = account["metadata"], account["metadata"]["namespace"]
    claims = {
        "aud": list(tokens.audiences),
        "exp": now + _CENTURY,
        "iat": now,
        "iss": tokens.issuer,
        "jti": system_fields.uid(),
        "kubernetes.io": {
            "namespace": namespace,
            "secret": {name: secret["metadata"][name] for name in ("name", "uid")},
            "serviceaccount": {"name": metadata["name"], "uid": metadata["uid"]},
        },
        "nbf": now,
        "sub": f"{PREFIX}{namespace}:{metadata['name']}",
    }
    return tokens.issue(claims)
