"""Paths outside resources: health, version, metrics, the root."""

import platform
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from aiohttp import hdrs, web
from multidict import CIMultiDict

from inkube.apiserver import http
from inkube.apiserver.discovery import health, issuer
from inkube.apiserver.http import BodyResponse, Metrics, RequestInfo, negotiation, responses
from inkube.apiserver.registry import Resources, User, keys
from inkube.apiserver.samples import Samples
from inkube.schemas import caches, lazy, status
from inkube.schemas.objects import Object
from inkube.schemas.releases import Release
from inkube.storage import Durations, Store

Endpoint = Callable[[web.BaseRequest, RequestInfo, User], Awaitable[web.StreamResponse]]

_BUILD = {
    "build_date": "buildDate", "compiler": "compiler", "git_commit": "gitCommit",
    "git_tree_state": "gitTreeState", "git_version": "gitVersion", "go_version": "goVersion",
    "major": "major", "minor": "minor", "platform": "platform",
}  # fmt: skip
"""Labels of kubernetes_build_info, with the names in `/version`."""
_METRICS = "text/plain; version=0.0.4; charset=utf-8; escaping="
_ESCAPING_MINOR = 32
"""The minor since which names of metrics can contain any character, and are escaped."""


_SIZE_SAMPLE = 1_000  # objects of a kind whose sizes estimate those of all
_PAGES_MINOR = 36
_EMULATION_MINOR = 33
"""The minor since which `/version` includes the emulated version
(apimachinery/pkg/version.Info)."""


@caches.of_values(16)
def version_document(release: Release) -> Object:
    """Return `/version`: the served release, and the version of inkube in a separate member."""
    major, minor = "1", str(release.minor)
    emulated = {
        "emulationMajor": major,
        "emulationMinor": minor,
        "minCompatibilityMajor": major,
        "minCompatibilityMinor": str(release.minor - 1),
    }
    return {
        "major": major,
        "minor": minor,
        **(emulated if release.minor >= _EMULATION_MINOR else {}),
        "gitVersion": f"{release}+inkube",
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "none",
        "compiler": platform.python_implementation(),
        "platform": f"{platform.system().lower()}/{platform.machine()}",
        "inkube": {
            "name": "inkube",
            "version": lazy.named("importlib.metadata", "version")("inkube"),
        },
    }


class Siblings(Protocol):
    """The other processes of the same server."""

    async def fetch(self, *, resets: bool = False) -> Sequence[Object]:
        """Return the metrics of each responding worker; see `Endpoints.figures`."""
        ...


class Endpoints:
    """Handlers of plain paths, each `(request, info, user) → response`."""

    def __init__(
        self,
        metrics: Metrics,
        samples: Samples,
        gauges: Callable[[], Iterable[Sequence[str]]],
        resources: Resources,
        store: Store,
        data: Path | None,
        failures: Callable[[], Mapping[str, str]],
        release: Release,
        allowed_labels: Mapping[str, str],
        disabled_metrics: Collection[str],
        connection_loop: Callable[[], str],
        siblings: Siblings | None = None,
    ) -> None:
        """`gauges` returns metrics that are read when they are shown: each is a name, labels and a
        value. `data` is the file of the store, if it has one. `allowed_labels` are the option
        `allow_metric_labels`, and `disabled_metrics` are metrics that are not shown."""
        self.health = health.Health(failures, minor=release.minor)
        self.requests = metrics
        """The metrics of requests in this process."""
        self.samples = samples
        self._gauges = gauges
        self.page_paths = ("/flagz", "/statusz") if release.minor >= _PAGES_MINOR else ()
        """The pages for people, which exist since 1.36."""
        self._release = release
        self._connection_loop = connection_loop
        escaping = "underscores" if release.minor >= _ESCAPING_MINOR else "values"
        self._headers = {
            "Content-Type": f"{_METRICS}{escaping}",
            "Cache-Control": "no-cache, private",
        }
        self._siblings = siblings
        self._resources = resources
        self._store = store
        self._data = data
        self._allowed_labels = allowed_labels
        self._disabled_metrics = disabled_metrics

    @property
    def paths(self) -> dict[str, Endpoint]:
        """The handler of each path. One that ends with a slash includes all paths below."""
        return {
            "/": self.root,
            "/index.html": self.root,
            "/healthz/": self.health,
            "/livez/": self.health,
            "/readyz/": self.health,
            "/version": self.version,
            "/metrics": self.metrics,
            "/metrics/slis": self.levels,
        }

    def figures(self, *, resets: bool = False) -> Object:
        """Return the metrics of this process, for other workers. All of them are recorded from now
        on. With `resets`, counters and histograms begin again after that."""
        self.samples.observe_all()
        found = self._figures()
        if resets:
            self.samples.reset(http.sampling.LONG_RUNNING)
            self.requests.reset()
            self._store.durations.reset()
        return found

    def _figures(self) -> Object:
        return {
            "samples": self.samples.snapshot(),
            "gauges": [[*gauge] for gauge in self._gauges()],
            "requests": self.requests.snapshot(),
            "commits": self._store.durations.snapshot(),
            "caches": {cache.name: cache.entries() for cache in caches.every()},
            "checks": [[*check, number] for check, number in self.health.request_counts.items()],
        }

    async def _all_figures(self, *, resets: bool = False) -> list[Object]:
        """Return the metrics of all processes, with this process first."""
        others = [] if self._siblings is None else await self._siblings.fetch(resets=resets)
        return [self.figures(resets=resets), *others]

    async def root(
        self, request: web.BaseRequest, info: RequestInfo, user: User
    ) -> web.StreamResponse:
        """Serve `/`: the list of paths (apiserver/pkg/server/routes/index.go)."""
        paths = {"/api", "/apis", "/metrics", "/version", issuer.CONFIGURATION, issuer.KEYS}
        paths |= {"/metrics/slis", *health.paths(self._release.minor)}
        for definition in await self._resources.definitions():
            base = f"/apis/{definition.group}" if definition.group else "/api"
            names = {version.name for version in definition.served()}
            paths |= {base, *(f"{base}/{version}" for version in names)}
        for group, version in self._resources.delegates:
            paths |= {f"/apis/{group}", f"/apis/{group}/{version}"}
        return responses.render({"paths": sorted(paths)}, negotiation.INDENTED_JSON)

    async def version(
        self, request: web.BaseRequest, info: RequestInfo, user: User
    ) -> web.StreamResponse:
        """Serve `/version`, with the loop that serves new connections (`Options.http`)."""
        if info.method not in ("GET", "HEAD"):
            raise status.method_not_allowed()
        document = version_document(self._release)
        inkube = {**document["inkube"], "http": self._connection_loop()}
        return responses.render({**document, "inkube": inkube}, negotiation.INDENTED_JSON)

    async def metrics(
        self, request: web.BaseRequest, info: RequestInfo, user: User
    ) -> web.StreamResponse:
        """Serve `/metrics` in Prometheus' exposition format, as gzip for clients that accept it.
        DELETE resets all metrics (component-base/metrics/registry.go, HandlerWithReset)."""
        if info.method == "DELETE":
            await self._all_figures(resets=True)
            return web.Response(text="metrics reset\n")
        every, total, entries = await self._all_figures(), Metrics(), Counter[str]()
        commits, samples, kinds = Durations(), Samples(), [*self._resources.installed()]
        for figures in every:
            total.add(figures["requests"])
            samples.merge(figures["samples"])
            for *series, number in figures["gauges"]:
                samples.add(*series, by=float(number))
            commits.add(figures["commits"])
            entries.update(figures["caches"])
        for *series, number in _unavailable_servers(self._store):
            samples.add(*series, by=float(number))
        version = version_document(self._release)
        exposed = http.exposition.Figures(
            requests=total,
            entries=entries,
            workers=0 if self._siblings is None else len(every),
            samples=samples,
            objects={(each.group, each.plural): self._store.count(each.prefix) for each in kinds},
            sizes={(each.group, each.plural): self._size(each.prefix) for each in kinds},
            kinds={each.prefix: (each.group, each.plural) for each in reversed(kinds)},
            stored_bytes=None if self._data is None else self._data.stat().st_size,
            commits=commits,
            deprecated_resources={
                (each.group, name, each.plural)
                for each in kinds
                for name, served in each.versions.items()
                if served.version.deprecated
            },
            allowed_labels=self._allowed_labels,
            disabled=self._disabled_metrics,
            build={name: version[member] for name, member in _BUILD.items()},
        )
        text = http.exposition.text(exposed)
        response = BodyResponse(text, CIMultiDict(self._headers))
        accepted = request.headers.get(hdrs.ACCEPT_ENCODING, "")
        responses.compress(response, accepted, smallest=0)  # as promhttp.HandlerFor
        return response

    def _size(self, prefix: str) -> int:
        """Estimate the bytes of the objects below a prefix, from the first ones."""
        count = self._store.count(prefix)
        sample = self._store.list(prefix, _SIZE_SAMPLE).data if count else []
        return count * sum(map(len, sample)) // len(sample) if sample else 0

    async def levels(
        self, request: web.BaseRequest, info: RequestInfo, user: User
    ) -> web.StreamResponse:
        """Serve `/metrics/slis`: the health checks (component-base/metrics/prometheus/slis)."""
        checks = {(kind, name): 1 for kind, names in self.health.checks.items() for name in names}
        requested = Counter[tuple[str, str]]()
        for figures in await self._all_figures():
            requested.update({(kind, name): number for kind, name, number in figures["checks"]})
        body = http.exposition.checks(checks, requested)
        return web.Response(body=body, headers=self._headers)


def _unavailable_servers(store: Store) -> Iterator[tuple[str, ...]]:
    """Yield the metric of APIServices (kube-aggregator/pkg/controllers/status/metrics)."""
    registration_type = lazy.named("inkube.schemas.aggregation", "Registration")
    for entry in store.list(keys.prefix("apiservices")):
        registration = registration_type.of(entry.value)
        is_unavailable = str(int(not registration.available))
        yield "aggregator_unavailable_apiservice", registration.name, is_unavailable
