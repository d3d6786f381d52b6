"""The form of a response: JSON, YAML or protobuf; the object itself, a Table or its metadata.

Follows apiserver/pkg/endpoints/handlers/negotiation. Tables are never protobuf. For custom
resources, only metadata has a form in protobuf.
"""

from typing import NamedTuple

from aiohttp import hdrs, web
from multidict import MultiMapping

from inkube.schemas import caches, status

JSON = "application/json"
YAML = "application/yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"
EVENTS = "text/event-stream"
"""Server-Sent Events, for an EventSource: only for watches, and not a form of kube-apiserver."""
MEDIA_TYPES = f"{JSON}, {YAML}, {PROTOBUF}"
STREAM_TYPES = f"{JSON};stream=watch, {PROTOBUF};stream=watch"
WITHOUT_TABLES = ("PartialObjectMetadata", "PartialObjectMetadataList")
_ROUTED_MEDIA = (JSON, YAML, PROTOBUF, "*/*")
TRANSFORMS = ("Table", *WITHOUT_TABLES)
_PEOPLE = ("curl", "Wget", "Mozilla/5.0")
_TRUE = frozenset({"1", "t", "T", "true", "TRUE", "True"})  # strconv.ParseBool
_META_VERSIONS = ("v1", "v1beta1")


class Form(NamedTuple):
    """The form of a response. `kind` is "" for the object itself, else the kind of the transform.

    A tuple, because C code hashes it: it is part of the key of every watch event.
    """

    media: str = JSON
    kind: str = ""
    version: str = "v1"
    pretty: bool = False
    include: str = ""
    """`includeObject` of a Table: Metadata (also ""), Object or None."""

    @property
    def plain_json(self) -> bool:
        """Whether the stored bytes are the response."""
        return self.media == JSON and not self.kind and not self.pretty

    @property
    def compact_table(self) -> bool:
        """Whether the response contains the encoded rows unchanged."""
        return self.media == JSON and self.kind == "Table" and not self.pretty

    @property
    def protobuf(self) -> bool:
        """Whether objects are encoded as protobuf messages."""
        return self.media == PROTOBUF

    def without_transform(self) -> "Form":
        """Return the form without a transform: deletes and errors are never tables."""
        return Form(self.media, pretty=self.pretty) if self.kind else self


COMPACT_JSON = Form()
PROTOBUF_FORM = Form(PROTOBUF)
INDENTED_JSON = Form(pretty=True)
_GO_CLIENTS = (f"{PROTOBUF},{JSON}", PROTOBUF)
"""Accept headers of generated clients, compared first, because a cache lookup takes 1 µs."""


class _Clause(NamedTuple):
    """One media range of an Accept header."""

    media: str
    parameters: tuple[tuple[str, str], ...]
    quality: float

    def parameter(self, name: str) -> str:
        return dict(self.parameters).get(name, "")

    def precedes(self, other: "_Clause") -> bool:
        """Return whether the range stands before the other; not an order, as in goautoneg."""
        kind, subtype = self.media.split("/")
        other_kind, other_subtype = other.media.split("/")
        return (
            self.quality > other.quality
            or (kind != "*" and other_kind == "*")
            or (subtype != "*" and other_subtype == "*")
        )


@caches.of_texts(512)
def clauses(header: str) -> tuple[_Clause, ...]:
    """Return the media ranges of a header, in the order in which they are tried.

    Follows goautoneg.ParseAccept: types without a slash and parameters without a value are ignored,
    and a quality of 0 is only the last choice.
    """
    ranges: list[_Clause] = []
    for part in header.split(",")[:64]:
        media, *parameters = part.split(";")
        media = "/".join(piece.strip(" ") for piece in media.split("/"))
        if media == "*":
            media = "*/*"
        if media.count("/") == 1 and not media.endswith("/"):
            ranges.append(_clause(media, parameters))
    return tuple(_sorted(ranges))


def _clause(media: str, parameters: list[str]) -> _Clause:
    quality, own = 1.0, []
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if not value or "=" in value:
            continue
        if name.strip(" ") == "q":
            quality = _quality(value)
        else:
            own.append((name.strip(" "), value.strip(" ")))
    return _Clause(media, tuple(own), quality)


def _quality(value: str) -> float:
    try:
        return float(value) if value.strip() == value else 0.0
    except ValueError:
        return 0.0


def _sorted(ranges: list[_Clause]) -> list[_Clause]:
    """Return the ranges sorted by insertion, as Go sorts a few: `precedes` is not an order."""
    placed: list[_Clause] = []
    for clause in ranges:
        at = len(placed)
        while at and clause.precedes(placed[at - 1]):
            at -= 1
        placed.insert(at, clause)
    return placed


def route(header: str | None, *, lists: bool = False) -> None:
    """Check an Accept header as go-restful does to find a route, before the object is read.

    It accepts only complete media types, and ignores parameters. `lists` means that the path can
    be watched, too. Raises StatusError 406 with go-restful's text.
    """
    if not header or header in _GO_CLIENTS:
        return
    if any(clause.media in _ROUTED_MEDIA for clause in clauses(header)):
        return
    streams = f", {STREAM_TYPES}" if lists else ""
    message = f"406: Not Acceptable\n\nAvailable representations: {MEDIA_TYPES}{streams}"
    raise status.StatusError(406, status.Reason.NOT_ACCEPTABLE, message, details={})


def negotiate(
    header: str | None,
    *,
    transforms: tuple[str, ...] = TRANSFORMS,
    any_application: bool = True,
    messages: bool = True,
) -> Form:
    """Return the form for an Accept header. Raises StatusError 406 if no form fits.

    `transforms` are the kinds that can replace the object in a response. With `any_application`,
    `application/*` means JSON. With `messages`, whole objects have a form in protobuf.
    """
    if not header or header in ("*/*", JSON):
        return COMPACT_JSON
    if messages and header in _GO_CLIENTS:
        return PROTOBUF_FORM
    form = _negotiate(header, transforms, any_application, messages)
    if form is None:
        raise status.not_acceptable(f"only the following media types are accepted: {MEDIA_TYPES}")
    return form


@caches.of_texts(512)
def _negotiate(
    header: str, transforms: tuple[str, ...], any_application: bool, messages: bool
) -> Form | None:
    for clause in clauses(header):
        media = _media(clause.media, any_application)
        if media is None or not _may_stream(clause, media):
            continue
        kind, group, version = map(clause.parameter, ("as", "g", "v"))
        pretty = clause.parameter("pretty") == "1"
        if not (kind or group or version):
            if media == PROTOBUF and not messages:
                continue
            return Form(media, pretty=pretty)
        if (
            kind in transforms
            and not (kind == "Table" and media == PROTOBUF)
            and group == "meta.k8s.io"
            and version in _META_VERSIONS
        ):
            return Form(media, kind, version, pretty)
    return None


def _may_stream(clause: _Clause, media: str) -> bool:
    """Return whether the parameters for streams and for the version of the server are known."""
    stream, server_version = clause.parameter("stream"), clause.parameter("sv")
    streams = not stream or (stream == "watch" and media != YAML)
    return streams and server_version in ("", "v1")


def _media(media: str, any_application: bool) -> str | None:
    if media in ("*/*", JSON) or (media == "application/*" and any_application):
        return JSON
    return media if media in (YAML, PROTOBUF) else None


def requested_form(
    request: web.BaseRequest,
    query: MultiMapping[str],
    *,
    transforms: tuple[str, ...] = TRANSFORMS,
    any_application: bool = True,
    messages: bool = True,
) -> Form:
    """Return the form for a request: `negotiate`, and indented if the query or the user agent
    requires it (negotiation.isPrettyPrint). Raises StatusError 406."""
    header = request.headers.get(hdrs.ACCEPT)
    form = negotiate(
        header, transforms=transforms, any_application=any_application, messages=messages
    )
    wanted = query.get("pretty") if query else ""
    if wanted:
        is_for_people = wanted in _TRUE
    else:
        is_for_people = request.headers.get(hdrs.USER_AGENT, "").startswith(_PEOPLE)
    return form._replace(pretty=True) if is_for_people else form


def error_form(request: web.BaseRequest, query: MultiMapping[str]) -> Form:
    """Return the form of an error. Never raises, and never a transform: a Status has every format.
    It is indented JSON if the client accepts none of them (responsewriters.WriteRawJSON)."""
    try:
        return requested_form(request, query, transforms=())
    except status.StatusError:
        return Form(pretty=True)
