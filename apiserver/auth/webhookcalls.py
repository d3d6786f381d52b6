"""Webhooks of authentication, authorization and audit: their kubeconfig files, and calls with
retries.

Follows apiserver/pkg/util/webhook (webhook.go) and client-go/tools/clientcmd.
"""

import asyncio
import base64
import errno
import ssl
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit, urlunsplit

from inkube.apiserver import http
from inkube.apiserver.auth import frontproxy
from inkube.apiserver.auth.outgoing import CallError, Outgoing
from inkube.schemas import golang
from inkube.schemas.objects import Object

SECONDS = 30.0
"""The limit of one call (defaultRequestTimeout)."""
_TRIES, _DELAY, _FACTOR = 5, 0.5, 1.5
_REPEATED = frozenset({429, 500, 504})


class Target(NamedTuple):
    """Where a webhook is, and how it is called: `options` are those of aiohttp."""

    url: str
    context: ssl.SSLContext
    options: Mapping[str, Any]


def read(path: Path) -> Target:
    """Return the webhook that the current context of a kubeconfig names. Raises ValueError,
    OSError."""
    config = load(path)
    context = _named(config, "contexts", "context", config.get("current-context") or "")
    cluster = _named(config, "clusters", "cluster", context.get("cluster") or "")
    user = _named(config, "users", "user", context.get("user") or "")
    url = cluster.get("server") or ""
    if not url:
        raise ValueError(f"{path}: invalid configuration: no server in the current context")
    try:
        return Target(url, _tls(path, cluster, user), _options(path, cluster, user))
    except ssl.SSLError as error:
        raise ValueError(f"{path}: {error}") from error


def load(path: Path) -> Object:
    """Return the content of a kubeconfig. Raises ValueError, OSError."""
    try:
        document = golang.goyaml.loads(path.read_bytes()).value
    except golang.unmarshal.DecodeError as error:
        raise ValueError(f"{path}: {error}") from error
    return document if isinstance(document, dict) else {}


def _named(config: Object, plural: str, member: str, name: str) -> Object:
    """Return a member of a kubeconfig by name; without a current context, the only one."""
    every = config.get(plural) or ()
    for each in every:
        if each.get("name") == name or (not name and len(every) == 1):
            found: Object = each.get(member) or {}
            return found
    return {}


def _data(path: Path, owner: Object, name: str) -> bytes:
    """Return a file or its data, which takes precedence; b"" without."""
    if owner.get(f"{name}-data"):
        return base64.b64decode(owner[f"{name}-data"])
    return (path.parent / owner[name]).read_bytes() if owner.get(name) else b""


def _tls(path: Path, cluster: Object, user: Object) -> ssl.SSLContext:
    bundle = base64.b64encode(_data(path, cluster, "certificate-authority")).decode()
    context = http.dialing.client_context(bundle)
    if cluster.get("insecure-skip-tls-verify"):
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    certificate = certificate_of(path, user)
    if certificate:
        frontproxy.Identity(b"", certificate).configure(context)
    return context


def certificate_of(path: Path, user: Object) -> bytes:
    """Return the client certificate of a user with its key as PEM; b"" without. Raises OSError."""
    certificate = _data(path, user, "client-certificate")
    return certificate + b"\n" + _data(path, user, "client-key") if certificate else b""


def _options(path: Path, cluster: Object, user: Object) -> Object:
    options: Object = {}
    if cluster.get("tls-server-name"):
        options["server_hostname"] = cluster["tls-server-name"]
    headers = headers_of(path, user)
    return {**options, "headers": headers} if headers else options


def headers_of(path: Path, user: Object) -> dict[str, str]:
    """Return the headers that identify a user of a kubeconfig. Raises OSError."""
    token = user.get("token") or ""
    if user.get("tokenFile"):
        token = (path.parent / user["tokenFile"]).read_text().strip()
    if token:
        return {"Authorization": f"Bearer {token}"}
    if user.get("username"):
        pair = f"{user['username']}:{user.get('password', '')}".encode()
        return {"Authorization": f"Basic {base64.b64encode(pair).decode()}"}
    return {}


def _passes(error: CallError) -> bool:
    """Return whether a call that fails so may succeed later (DefaultShouldRetry)."""
    cause = error.__cause__
    is_reset = isinstance(cause, OSError) and cause.errno == errno.ECONNRESET
    return is_reset or error.code in _REPEATED


class Webhook:
    """Sends reviews to one webhook. `seconds` is the limit of one call, `delay` the time before the
    second one.

    `observe` is called with the result (`result_of`) and the seconds of each call. `repeats`
    returns whether an error is followed by another call, and `wait` waits for it.
    """

    def __init__(
        self,
        target: Target,
        client: Outgoing,
        seconds: float = SECONDS,
        *,
        delay: float = _DELAY,
        observe: Callable[[str, float], None] = lambda result, seconds: None,
        repeats: Callable[[CallError], bool] = _passes,
        wait: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._url = _called(target.url, seconds)
        self._target = target
        self._client = client
        self._seconds = seconds
        self._delay = delay
        self._observe = observe
        self._repeats = repeats
        self._wait = wait

    async def send(self, document: Object) -> Object:
        """Send an object, and return that of the answer. Repeats the call after some errors. Raises
        CallError."""
        delay = self._delay
        for _ in range(_TRIES - 1):
            try:
                return await self._call(document)
            except CallError as error:
                if not self._repeats(error):
                    raise
            await self._wait(delay)
            delay *= _FACTOR
        return await self._call(document)

    async def _call(self, document: Object) -> Object:
        begun, result = time.perf_counter(), "success"
        _, context, options = self._target
        try:
            return await self._client.post(self._url, context, self._seconds, document, options)
        except CallError as error:
            result = result_of(error)
            raise
        finally:
            self._observe(result, time.perf_counter() - begun)


def _called(server: str, seconds: float) -> str:
    """Return the URL of a call, with its limit as client-go's REST client sends it."""
    url = urlsplit(server)
    limit = f"timeout={golang.gotime.format_duration(round(seconds * 1e9))}"
    return urlunsplit((url.scheme, url.netloc, f"/{url.path.strip('/')}", limit, ""))


def result_of(error: CallError) -> str:
    """Return the result of a failed call in metrics: `timeout` or `error`."""
    return "timeout" if error.is_timeout else "error"


class Remembered:
    """Answers that are valid for some seconds of a monotonic clock."""

    def __init__(self, monotonic: Callable[[], float], bound: int) -> None:
        self._monotonic = monotonic
        self._bound = bound
        self._answers: dict[Any, tuple[float, Any]] = {}

    def get(self, key: Any) -> Any:
        """Return the answer to a question; None without a valid one."""
        found = self._answers.get(key)
        return found[1] if found is not None and self._monotonic() < found[0] else None

    def put(self, key: Any, value: Any, seconds: float) -> None:
        """Remember an answer. The oldest answers make room for others."""
        if seconds <= 0:
            return
        self._answers.pop(key, None)
        while len(self._answers) >= self._bound:
            del self._answers[next(iter(self._answers))]
        self._answers[key] = (self._monotonic() + seconds, value)
