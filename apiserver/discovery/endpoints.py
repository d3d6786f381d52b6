"""Paths that are no resources: health, version, metrics, the root."""

import platform
from collections.abc import Awaitable, Callable
from importlib import metadata
from typing import Any

from aiohttp import web
from multidict import CIMultiDict

from inkube.apiserver import http
from inkube.apiserver.discovery import issuer
from inkube.apiserver.http import negotiation, responses
from inkube.apiserver.http.delivery import Answer
from inkube.apiserver.http.metrics import Metrics
from inkube.apiserver.http.requests import RequestInfo
from inkube.apiserver.registry.calls import User
from inkube.apiserver.registry.resources import Resources
from inkube.schemas import caches, status

Object = dict[str, Any]
Endpoint = Callable[[web.BaseRequest, RequestInfo, User], Awaitable[web.StreamResponse]]

# The reference whose behaviour is served; clients compare it with their own version.
REFERENCE = "v1.36.2"
CHECKS = ("ping", "log", "etcd", "poststarthook/start-apiextensions-controllers")


def later(make: Callable[[], Endpoint]) -> Endpoint:
    """An endpoint that its first request makes, and whose module that imports."""
    made: Endpoint | None = None

    async def serve(request: web.BaseRequest, info: RequestInfo, user: User) -> web.StreamResponse:
        nonlocal made
        if made is None:
            made = make()
        return await made(request, info, user)

    return serve


@caches.of_values(1)
def version_document() -> Object:
    """`/version`: the reference's version, and our own in a field of its own."""
    major, minor, _ = REFERENCE.lstrip("v").split(".")
    return {
        "major": major,
        "minor": minor,
        "emulationMajor": major,
        "emulationMinor": minor,
        "minCompatibilityMajor": major,
        "minCompatibilityMinor": str(int(minor) - 1),
        "gitVersion": f"{REFERENCE}+inkube",
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "none",
        "compiler": platform.python_implementation(),
        "platform": f"{platform.system().lower()}/{platform.machine()}",
        "inkube": {"name": "inkube", "version": metadata.version("inkube")},
    }


class Endpoints:
    """Handlers of plain paths, each `(request, info, user) → response`."""

    def __init__(self, metrics: Metrics, resources: Resources) -> None:
        self._metrics = metrics
        self._resources = resources

    async def root(
        self, request: web.BaseRequest, info: RequestInfo, user: User
    ) -> web.StreamResponse:
        """`/`: the paths there are (apiserver/pkg/server/routes/index.go)."""
        paths = {"/api", "/apis", "/metrics", "/version", issuer.CONFIGURATION, issuer.KEYS}
        for probe in ("/healthz", "/livez", "/readyz"):
            paths |= {probe, *(f"{probe}/{check}" for check in CHECKS)}
        for resource in self._resources:
            base = f"/apis/{resource.group}" if resource.group else "/api"
            names = {version for version in resource.versions if resource.served(version)}
            paths |= {base, *(f"{base}/{version}" for version in names)}
        return responses.render({"paths": sorted(paths)}, negotiation.PLAIN)

    async def health(
        self, request: web.BaseRequest, info: RequestInfo, user: User
    ) -> web.StreamResponse:
        """`/healthz`, `/livez`, `/readyz`; `?verbose` lists the checks."""
        name = info.path.strip("/").split("/")[0]
        check = info.path.strip("/").partition("/")[2]
        if check and check not in CHECKS:
            return responses.plain_not_found()
        text = "ok"
        if "verbose" in info.query and not check:
            lines = [f"[+]{each} ok" for each in CHECKS]
            text = "\n".join([*lines, f"{name} check passed", ""])
        headers = {
            "Content-Type": "text/plain; charset=utf-8",
            "Cache-Control": "no-cache, private",
            "X-Content-Type-Options": "nosniff",
        }
        return web.Response(text=text, headers=headers)

    async def version(
        self, request: web.BaseRequest, info: RequestInfo, user: User
    ) -> web.StreamResponse:
        """`/version`."""
        if info.method not in ("GET", "HEAD"):
            raise status.method_not_allowed()
        return responses.render(version_document(), negotiation.PLAIN)

    async def metrics(
        self, request: web.BaseRequest, info: RequestInfo, user: User
    ) -> web.StreamResponse:
        """`/metrics` in the exposition format."""
        headers = {"Content-Type": "text/plain; version=0.0.4; charset=utf-8"}
        return Answer(http.exposition.text(self._metrics), CIMultiDict(headers))
