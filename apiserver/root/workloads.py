"""Workloads on a server: what `controllers.workloads` needs of it. Imported only where wanted."""

import base64
from collections.abc import Callable
from functools import cache, partial
from typing import Any

from inkube.apiserver import auth
from inkube.apiserver.auth.serviceaccounts import PREFIX, ServiceAccountTokens
from inkube.apiserver.registry.calls import Call
from inkube.apiserver.registry.registry import Registry
from inkube.apiserver.registry.resources import Resource, Resources
from inkube.apiserver.registry.stamps import Stamps
from inkube.apiserver.root.client import CONTROLLER, InProcessClient
from inkube.apiserver.root.security import Security
from inkube.apiserver.subresources import metrics
from inkube.apiserver.subresources.binding import Binder
from inkube.controllers import workloads
from inkube.controllers.client import Client
from inkube.controllers.core.catalog import Kind
from inkube.controllers.manager import Manager
from inkube.controllers.workloads.cluster import Cluster, Outside
from inkube.controllers.workloads.stages import kinds
from inkube.schemas import crds
from inkube.schemas.meta import split_api_version
from inkube.schemas.objects import Object
from inkube.schemas.strategy import Strategy


def wanted(option: Any) -> workloads.Workloads | None:
    """The option `workloads` as a configuration: true means the defaults. Raises TypeError."""
    if isinstance(option, workloads.Workloads):
        return option
    if isinstance(option, bool):
        return workloads.Workloads() if option else None
    raise TypeError(f"workloads takes a bool or a Workloads, not {type(option).__name__}")


def install(
    config: workloads.Workloads,
    manager: Manager,
    *,
    registry: Registry,
    resources: Resources,
    guards: Security,
    client_authority: Callable[[], "auth.tls.Authority"],
) -> Cluster:
    """Let the manager run what `config` names, over this registry."""

    def client_as(name: str) -> Client:
        return InProcessClient(registry, resources, manager=name)

    binder = Binder(registry)

    async def bind(pod: Object, node: str) -> None:
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

    @cache
    def authority() -> str:
        found = guards.certificate
        return (
            found.authority if found is not None else auth.certificates.make().authority
        ).decode()

    def issue_token(account: Object, secret: Object) -> str:
        tokens = guards.authenticator.accounts
        return tokens.issue(_claims(account, secret, registry.stamps, tokens))

    def sign(request: Object) -> str:
        spec = request["spec"]
        asked = auth.signers.Request(
            spec["signerName"],
            base64.b64decode(spec["request"]),
            spec.get("usages") or (),
            spec.get("expirationSeconds"),
        )
        return base64.b64encode(auth.signers.sign(client_authority(), asked)).decode()

    def find_kind(api_version: str, kind: str) -> Kind | None:
        group, version = split_api_version(api_version)
        found = resources.by_kind(group, kind)
        served = found.served(version) if found is not None else None
        if found is None or served is None:
            return None
        return Kind(served.gvr, kind, found.namespaced, frozenset(found.definition.verbs))

    def serve_metrics() -> None:
        for definition in metrics.DEFINITIONS:
            resources.install(Resource(definition, Strategy))

    for module in kinds.modules():
        make = partial(crds.CustomStrategy, module.validate)
        resources.install(Resource(module.definition, make, since=registry.store.revision))
    outside = Outside(client_as, bind, issue_token, authority, sign, find_kind, serve_metrics)
    return workloads.add(manager, config, outside)


def _claims(
    account: Object, secret: Object, stamps: Stamps, tokens: ServiceAccountTokens
) -> Object:
    """A token bound to a Secret lives as long as that does; it is dated to end in a century."""
    now = int(stamps.now().timestamp())
    own, namespace = account["metadata"], account["metadata"]["namespace"]
    return {
        "aud": list(tokens.audiences),
        "exp": now + _CENTURY,
        "iat": now,
        "iss": tokens.issuer,
        "jti": stamps.uid(),
        "kubernetes.io": {
            "namespace": namespace,
            "secret": {name: secret["metadata"][name] for name in ("name", "uid")},
            "serviceaccount": {"name": own["name"], "uid": own["uid"]},
        },
        "nbf": now,
        "sub": f"{PREFIX}{namespace}:{own['name']}",
    }


_CENTURY = 100 * 365 * 24 * 3600
