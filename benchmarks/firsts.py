"""The first request of each type after a start, which loads the code for it.

Each type has its own server, and is sent when /readyz has responded. The processor time of the
server is compared with that of importing `aiohttp.web`, in turns. The lowest of the turns is used
for both, because other work on the machine only increases it.
"""

from collections.abc import Iterable, Sequence
from contextlib import closing

from benchmarks import figures, servers
from benchmarks.costs import TABLE
from benchmarks.figures import Figure
from benchmarks.objects import definition, new
from benchmarks.servers import Request

TURNS = 4
SHORT = 0.2
"""50 ms, if the import takes 250 ms. Users do not notice it."""
_DISCOVERY = (
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
    "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json"
)
_PROTOBUF = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
_PODS = "/api/v1/namespaces/default/pods"
_MAPS = "/api/v1/namespaces/default/configmaps"
_DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
_HOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"


def measure() -> Iterable[Figure]:
    floors, costs = list[float](), dict[str, list[float]]()
    for _ in range(TURNS):
        for name, (asks, _) in _SORTS.items():
            floors.append(servers.floor())
            costs.setdefault(name, []).append(_cost(asks))
    floor = min(floors)
    for name, (_, most) in _SORTS.items():
        cost = min(costs[name])
        note = f"CPU {cost * 1000:.0f} ms beside {floor * 1000:.0f} ms"
        yield Figure(f"first {name}", cost / floor, "x import aiohttp.web", at_most=most, note=note)


def _cost(asks: Sequence[Request]) -> float:
    with servers.inkube() as server, closing(server.connect()) as connection:
        servers.ask(connection, Request("GET", "/readyz"))
        before = server.cpu_seconds
        for ask in asks:
            servers.ask(connection, ask)
        return server.cpu_seconds - before


_SPEC = {"containers": [{"name": "a", "image": "nginx"}]}
_LABELS = {"app": "a"}
_DEPLOYMENT = new(
    "apps/v1",
    "Deployment",
    "a",
    spec={
        "selector": {"matchLabels": _LABELS},
        "template": {"metadata": {"labels": _LABELS}, "spec": _SPEC},
    },
)
_NOBODY = {
    "name": "nobody.bench.example",
    "clientConfig": {"url": "https://127.0.0.1:1/"},
    "failurePolicy": "Ignore",
    "sideEffects": "None",
    "admissionReviewVersions": ["v1"],
    "rules": [
        {
            "apiGroups": [""], "apiVersions": ["v1"],
            "operations": ["CREATE"], "resources": ["configmaps"],
        }
    ],
}  # fmt: skip
_HOOK = new(
    "admissionregistration.k8s.io/v1",
    "ValidatingWebhookConfiguration",
    "nobody",
    webhooks=[_NOBODY],
)
_MAP = Request("POST", _MAPS, new("v1", "ConfigMap", "a"))
_FIND = [Request("GET", path, accept=_DISCOVERY) for path in ("/api", "/apis")]
_APPLY = Request(
    "PATCH",
    f"{_DEPLOYMENTS}/a?fieldManager=kubectl&force=true",
    _DEPLOYMENT,
    "application/apply-patch+yaml",
)
_DOCUMENTS = [Request("GET", path) for path in ("/openapi/v3", "/openapi/v3/apis/apps/v1")]
_SORTS: dict[str, tuple[Sequence[Request], float]] = {
    "kubectl get pods": ([*_FIND, Request("GET", f"{_PODS}?limit=500", accept=TABLE)], SHORT),
    "kubectl apply of a Deployment": ([*_FIND, *_DOCUMENTS, _APPLY], 2 * SHORT),
    "Table": ([Request("GET", _PODS, accept=TABLE)], SHORT),
    "create of a Pod": ([Request("POST", _PODS, new("v1", "Pod", "a", spec=_SPEC))], SHORT),
    "apply of a Deployment": ([_APPLY], SHORT),
    "CRD": (
        [Request("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition())],
        SHORT,
    ),
    "webhook": (
        [Request("POST", _HOOKS, _HOOK), _MAP],
        SHORT,
    ),
    "document of OpenAPI v3": (_DOCUMENTS, SHORT),
    # it contains the kinds of modules, which are loaded for it
    "OpenAPI v2 as protobuf": ([Request("GET", "/openapi/v2", accept=_PROTOBUF)], 2.0),
}
"""The requests, and their limit as a ratio to the import."""


if __name__ == "__main__":
    figures.main(measure)
