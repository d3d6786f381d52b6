"""The pages `/flagz` and `/statusz`: the options of the server, and its version and age.

They are plain text for people, and objects of `config.k8s.io` for programs. Loaded with the first
request for one of them. Follows component-base/zpages.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from aiohttp import hdrs, web

from inkube.apiserver.discovery.endpoints import version_document
from inkube.apiserver.http import Form, RequestInfo, negotiation, responses
from inkube.apiserver.registry import User
from inkube.schemas import status
from inkube.schemas.objects import Object
from inkube.schemas.options import Option
from inkube.schemas.releases import Release

_GROUP = "config.k8s.io"
_VERSIONS = ("v1beta1", "v1alpha1")
_DEPRECATED = "v1alpha1"
_TEXTS = ("*/*", "text/*", "text/plain")
_DATA = (negotiation.JSON, negotiation.YAML)
_HEAD = """
apiserver {name}
Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility \
guarantees and is for debugging purposes only.
"""
_PASSWORD = re.compile(r"(//[^:/@]*):[^@]*@")
_PATHS = ("/flagz", "/healthz", "/livez", "/metrics", "/readyz", "/statusz", "/version")


class Pages:
    """Serves both pages."""

    def __init__(
        self,
        release: Release,
        started: datetime,
        options: object,
        fields: Sequence[Option],
    ) -> None:
        """`fields` describe the options of the server, whose attributes are their values."""
        self._version = f"1.{release.minor}"
        self._go_version = version_document(release)["goVersion"]
        self._options = options
        self._fields = fields
        self._started = started

    async def __call__(
        self, request: web.BaseRequest, info: RequestInfo, user: User
    ) -> web.StreamResponse:
        """Serve a page in the first form of the header Accept that there is. Raises StatusError 406
        without one."""
        name = info.path.strip("/")
        accept = request.headers.get(hdrs.ACCEPT) or "*/*"
        for clause in negotiation.clauses(accept):
            if clause.media in _TEXTS:
                return web.Response(text=_HEAD.format(name=name) + self._text(name))
            version = _version(clause.media, dict(clause.parameters), name.capitalize())
            if version:
                return self._object(name, version, clause.media)
        accepted = ", ".join((*_DATA, "text/plain"))
        raise status.not_acceptable(f"only the following media types are accepted: {accepted}")

    def _object(self, name: str, version: str, media: str) -> web.StreamResponse:
        kind = name.capitalize()
        value: Object = {
            "kind": kind,
            "apiVersion": f"{_GROUP}/{version}",
            "metadata": {"name": "apiserver"},
            **(self._status() if name == "statusz" else {"flags": self._flags()}),
        }
        text = f"This version of the {name} endpoint is deprecated. Please use a newer version."
        warnings = [text] if version == _DEPRECATED else []
        response = responses.render(value, Form(media, pretty=True), warnings=warnings)
        response.headers[hdrs.CONTENT_TYPE] = f"{media};g={_GROUP};v={version};as={kind}"
        return response

    def _text(self, name: str) -> str:
        if name == "flagz":
            return "".join(f"{flag}: {value}\n" for flag, value in self._flags().items())
        seconds = self._seconds()
        lines = {
            "Started": f"{self._started:%a %b %d %H:%M:%S UTC %Y}",
            "Up": f"{seconds // 3600} hr {seconds // 60 % 60:02d} min {seconds % 60:02d} sec",
            "Go version": self._go_version,
            "Binary version": self._version,
            "Emulation version": self._version,
            "Paths": " ".join(_PATHS),
        }
        return "\n" + "".join(f"{line}: {value}\n" for line, value in lines.items())

    def _flags(self) -> dict[str, str]:
        """Return the flags of the command line with their values, without passwords."""
        return {
            each.flag_name.removeprefix("--"): _PASSWORD.sub(
                r"\1:***@", _flag_value(getattr(self._options, each.name))
            )
            for each in self._fields
            if each.group
        }

    def _status(self) -> Object:
        return {
            "startTime": f"{self._started:%Y-%m-%dT%H:%M:%SZ}",
            "uptimeSeconds": self._seconds(),
            "goVersion": self._go_version,
            "binaryVersion": self._version,
            "emulationVersion": self._version,
            "paths": list(_PATHS),
        }

    def _seconds(self) -> int:
        return int((datetime.now(UTC) - self._started).total_seconds())


def _flag_value(value: Any) -> str:
    """Return the value of a flag as pflag shows it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Sequence) and not isinstance(value, str):
        return f"[{','.join(map(str, value))}]"
    return "" if value is None else str(value)


def _version(media: str, parameters: Mapping[str, str], kind: str) -> str:
    """Return the requested version of the object; "" if no version of it is requested."""
    is_there = parameters.get("g") == _GROUP and parameters.get("as") == kind
    version = parameters.get("v", "")
    return version if media in _DATA and is_there and version in _VERSIONS else ""
