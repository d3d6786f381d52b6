"""The files of the console in `assets`, served without authentication because the sign-in needs
them.

Modules are also served as one script, SCRIPT, which the page loads (`bundle`). Each file is read
and compressed one time, and again after a change. Only existing files are served: a path outside
the folder is not found.
"""

import gzip
import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from aiohttp import hdrs, web

from inkube.apiserver.console import ROOT
from inkube.apiserver.console.bundle import bundle
from inkube.apiserver.http import RequestInfo, responses
from inkube.apiserver.registry import User
from inkube.schemas import status

FOLDER = Path(__file__).parent / "assets"
SCRIPT = "console.js"
_UNBUNDLED = frozenset({"recorded.js", "theme.js"})
"""Scripts that are not modules."""
_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
_HEADERS = {
    "Cache-Control": "no-cache",
    "Content-Security-Policy": _POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "Vary": "Accept-Encoding",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_READS = frozenset({"GET", "HEAD"})


class _File(NamedTuple):
    """One file, plain and compressed, in its state at the modification time `mtime` (in
    nanoseconds)."""

    mtime: int
    content: bytes
    gzipped: bytes
    tag: str
    type: str


class Pages:
    """Serves `/console/…`. The number of files bounds its cache."""

    def __init__(self, folder: Path = FOLDER) -> None:
        self._paths = {
            path.relative_to(folder).as_posix(): path
            for path in folder.rglob("*")
            if path.suffix in _TYPES
        }
        self._files: dict[str, _File] = {}

    async def __call__(
        self, request: web.BaseRequest, info: RequestInfo, user: User
    ) -> web.StreamResponse:
        """Respond to one request. Raises StatusError 405 for methods that do not read."""
        if info.method not in _READS:
            raise status.method_not_allowed()
        if info.path == ROOT.rstrip("/"):
            return web.Response(status=308, headers={"Location": ROOT})
        name = info.path.removeprefix(ROOT) or "index.html"
        if name == SCRIPT:
            file = self._script()
        elif name in self._paths:
            file = self._file(name)
        else:
            return responses.plain_not_found()
        headers = {**_HEADERS, "ETag": file.tag}
        if request.headers.get("If-None-Match") == file.tag:
            return web.Response(status=304, headers=headers)
        headers["Content-Type"] = file.type
        body = file.content
        if "gzip" in request.headers.get(hdrs.ACCEPT_ENCODING, ""):
            headers["Content-Encoding"] = "gzip"
            body = file.gzipped
        return web.Response(body=body, headers=headers)

    def _file(self, name: str) -> _File:
        path = self._paths[name]
        return self._current(name, path.stat().st_mtime_ns, path.read_bytes)

    def _script(self) -> _File:
        modules = {
            name: path
            for name, path in self._paths.items()
            if path.suffix == ".js" and name not in _UNBUNDLED
        }
        changed = max(path.stat().st_mtime_ns for path in modules.values())
        return self._current(SCRIPT, changed, lambda: _bundle(modules))

    def _current(self, name: str, mtime: int, read: Callable[[], bytes]) -> _File:
        """Return a file from the cache, or again from its source if it has changed."""
        file = self._files.get(name)
        if file is None or file.mtime != mtime:
            plain = read()
            packed = gzip.compress(plain, mtime=0)
            tag = f'"{hashlib.sha256(plain).hexdigest()[:20]}"'
            kind = _TYPES[name[name.rindex(".") :]]
            file = self._files[name] = _File(mtime, plain, packed, tag, kind)
        return file


def script() -> str:
    """Return all modules as one script."""
    paths = {path.relative_to(FOLDER).as_posix(): path for path in FOLDER.rglob("*.js")}
    return _bundle({name: path for name, path in paths.items() if name not in _UNBUNDLED}).decode()


def _bundle(modules: Mapping[str, Path]) -> bytes:
    return bundle({name: path.read_text("utf-8") for name, path in modules.items()}).encode()
