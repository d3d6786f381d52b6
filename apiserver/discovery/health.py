"""Health checks with kube-apiserver's names, and the number of their requests.

Most checks always succeed, because what they check is complete before the port is open. If the log
fails, the server is alive but not ready. Follows apiserver/pkg/server/healthz/healthz.go.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from aiohttp import web

from inkube.apiserver.http import RequestInfo, responses
from inkube.apiserver.registry import User
from inkube.schemas import caches, releases

_FIRST = ("ping", "log")
_LIVENESS = ("loopback-serving-certificate[1.36..]", "etcd")
_HOOKS = """start-apiserver-admission-initializer generic-apiserver-start-informers
    priority-and-fairness-config-consumer priority-and-fairness-filter
    storage-object-count-tracker-hook start-apiextensions-informers
    start-apiextensions-controllers crd-informer-synced start-system-namespaces-controller
    peer-endpoint-reconciler-controller[1.36..] start-cluster-authentication-info-controller
    start-kube-apiserver-identity-lease-controller
    start-kube-apiserver-identity-lease-garbage-collector storage-readiness[1.36..]
    start-legacy-token-tracking-controller start-service-ip-repair-controllers
    rbac/bootstrap-roles scheduling/bootstrap-system-priority-classes
    priority-and-fairness-config-producer bootstrap-controller
    start-kubernetes-service-cidr-controller[1.33..] start-kube-aggregator-informers
    apiservice-status-local-available-controller apiservice-status-remote-available-controller
    apiservice-registration-controller apiservice-wait-for-first-sync
    apiservice-discovery-controller kube-apiserver-autoregistration autoregister-completion
    apiservice-openapi-controller apiservice-openapiv3-controller"""
_POST_START_HOOKS = tuple(
    name if name == "autoregister-completion" else f"poststarthook/{name}"
    for name in _HOOKS.split()
)
_LIVENESS_CHECKS = (*_FIRST, *_LIVENESS, *_POST_START_HOOKS)
_CHECKS = {
    "healthz": _LIVENESS_CHECKS,
    "livez": _LIVENESS_CHECKS,
    "readyz": (*_FIRST, "informer-sync", *_POST_START_HOOKS, "shutdown"),
}
"""The checks of each path in the order of the response, each with the minors that have it."""


@caches.of_values(len(releases.RECORDED))
def checks(minor: int = releases.NEWEST.minor) -> dict[str, tuple[str, ...]]:
    """Return the checks of each path in a minor, in the order of the response."""
    return {path: tuple(_of_minor(names, minor)) for path, names in _CHECKS.items()}


def _of_minor(names: Sequence[str], minor: int) -> Iterator[str]:
    for each in names:
        name, _, span = each.rstrip("]").partition("[")
        if not span or releases.holds(span, minor):
            yield name


def paths(minor: int) -> set[str]:
    """Return every path with a health check."""
    roots = {f"/{name}" for name in _CHECKS}
    return roots | {f"/{name}/{each}" for name, every in checks(minor).items() for each in every}


class Health:
    """Serves `/healthz`, `/livez` and `/readyz`. The `strict` ones fail while any check fails."""

    def __init__(
        self,
        failures: Callable[[], Mapping[str, str]],
        strict: Collection[str] = ("readyz",),
        minor: int = releases.NEWEST.minor,
    ) -> None:
        self.checks = checks(minor)
        self._strict = strict
        self._failures = failures
        """The current problem of each failing check."""
        self.request_counts: Counter[tuple[str, str]] = Counter()
        """The number of requests for each check of each path."""

    async def __call__(
        self, request: web.BaseRequest, info: RequestInfo, user: User
    ) -> web.StreamResponse:
        """Respond with one check, or all checks except those in `?exclude`. `?verbose` lists
        them."""
        name, slash, check = info.path.strip("/").partition("/")
        if info.path.endswith("/"):
            return responses.plain_not_found()
        if slash:
            if check not in self.checks[name]:
                return responses.plain_not_found()
            self.request_counts[name, check] += 1
            failure = self._failing_checks(name, [check]).get(check)
            return web.Response(
                text=failure or "ok", headers=responses.PLAIN_TEXT, status=500 if failure else 200
            )
        query = info.query
        excluded = set(query.getall("exclude", ()))
        selected = [each for each in self.checks[name] if each not in excluded]
        self.request_counts.update((name, each) for each in selected)
        failing = self._failing_checks(name, selected)
        if failing:
            return _failure_response(name, selected, failing)
        if "verbose" not in query:
            return web.Response(text="ok", headers=responses.PLAIN_TEXT)
        lines = [
            f"[+]{each} excluded: ok" if each in excluded else f"[+]{each} ok"
            for each in self.checks[name]
        ]
        unknown = sorted(excluded - set(self.checks[name]) - {""})
        if unknown:
            names = ", ".join(f'"{each}"' for each in unknown)
            lines.append(f"warn: some health checks cannot be excluded: no matches for {names}")
        return web.Response(
            text="\n".join([*lines, f"{name} check passed", ""]), headers=responses.PLAIN_TEXT
        )

    def _failing_checks(self, name: str, selected: Sequence[str]) -> dict[str, str]:
        """Return the failing checks among those requested; empty if all succeed. A server that is
        not ready is alive."""
        if name not in self._strict:
            return {}
        return {check: message for check, message in self._failures().items() if check in selected}


def _failure_response(
    name: str, selected: Sequence[str], failing: Mapping[str, str]
) -> web.Response:
    """Return a response that lists every check, requested or not, because one failed."""
    lines = [
        f"[-]{each} failed: {failing[each]}" if each in failing else f"[+]{each} ok"
        for each in selected
    ]
    text = "\n".join([*lines, f"{name} check failed", ""])
    return web.Response(text=text, headers=responses.PLAIN_TEXT, status=500)
