"""Which form an answer takes: JSON or YAML; the object itself, a Table or its metadata only.

Follows apiserver/pkg/endpoints/handlers/negotiation. Protobuf is never served: clients that ask for
it name JSON as well.
"""

from typing import NamedTuple

from aiohttp import web

from inkube.schemas import caches, status

JSON = "application/json"
YAML = "application/yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"
ACCEPTED = f"{JSON}, {YAML}, {PROTOBUF}"
WITHOUT_TABLES = ("PartialObjectMetadata", "PartialObjectMetadataList")
TRANSFORMS = ("Table", *WITHOUT_TABLES)
_PEOPLE = ("curl", "Wget", "Mozilla/5.0")
_TRUE = frozenset({"1", "t", "T", "true", "TRUE", "True"})  # strconv.ParseBool
_META_VERSIONS = ("v1", "v1beta1")


class Form(NamedTuple):
    """How to answer. `kind` is "" for the object as it is, else the transform's kind.

    A tuple, so that it is hashed without Python: it is part of the key of every watch event.
    """

    media: str = JSON
    kind: str = ""
    version: str = "v1"
    pretty: bool = False
    include: str = ""
    """`includeObject` of a Table: Metadata (also ""), Object or None."""

    @property
    def plain_json(self) -> bool:
        """Whether stored bytes serve as they are."""
        return self.media == JSON and not self.kind and not self.pretty

    def without_transform(self) -> "Form":
        """The same media type, the object as it is: deletes and errors are never tables."""
        return Form(self.media, pretty=self.pretty) if self.kind else self


PLAIN = Form()
INDENTED = Form(pretty=True)


class _Clause(NamedTuple):
    """One media range of an Accept header."""

    media: str
    parameters: tuple[tuple[str, str], ...]
    quality: float

    def parameter(self, name: str) -> str:
        return dict(self.parameters).get(name, "")


@caches.of_texts(512)
def clauses(header: str) -> tuple[_Clause, ...]:
    """The media ranges, best quality first, order kept among equals."""
    found = []
    for part in header.split(",")[:64]:
        media, *parameters = (piece.strip() for piece in part.split(";"))
        pairs = [tuple(p.partition("=")[::2]) for p in parameters]
        quality = 1.0
        for name, value in pairs:
            if name == "q":
                try:
                    quality = float(value)
                except ValueError:
                    quality = 0.0
        kept = tuple((name, value) for name, value in pairs if name != "q")
        found.append(_Clause(media, kept, quality))
    return tuple(sorted(found, key=lambda clause: -clause.quality))


def choose(
    header: str | None, *, transforms: tuple[str, ...] = TRANSFORMS, any_application: bool = True
) -> Form:
    """The form for an Accept header. Raises StatusError 406 when there is none.

    `transforms` are the kinds that may be served instead of the object, `any_application` says
    whether `application/*` is JSON.
    """
    if not header or header in ("*/*", JSON):
        return PLAIN
    form = _choose(header, transforms, any_application)
    if form is None:
        raise status.not_acceptable(f"only the following media types are accepted: {ACCEPTED}")
    return form


@caches.of_texts(512)
def _choose(header: str, transforms: tuple[str, ...], any_application: bool) -> Form | None:
    for clause in clauses(header):
        media = _media(clause.media, any_application)
        if media is None or clause.quality == 0:
            continue
        kind = clause.parameter("as")
        pretty = clause.parameter("pretty") == "1"
        if not kind:
            return Form(media, pretty=pretty)
        version = clause.parameter("v") or "v1"
        if (
            kind in transforms
            and clause.parameter("g") == "meta.k8s.io"
            and version in _META_VERSIONS
        ):
            return Form(media, kind, version, pretty)
    return None


def _media(media: str, any_application: bool) -> str | None:
    if media in ("*/*", JSON) or (media == "application/*" and any_application):
        return JSON
    return YAML if media == YAML else None


def asked(
    request: web.BaseRequest,
    *,
    transforms: tuple[str, ...] = TRANSFORMS,
    any_application: bool = True,
) -> Form:
    """The form a request asks for: `choose`, indented for people. Raises StatusError 406."""
    header = request.headers.get("Accept")
    form = choose(header, transforms=transforms, any_application=any_application)
    return form._replace(pretty=True) if _is_for_people(request) else form


def _is_for_people(request: web.BaseRequest) -> bool:
    """Whether a query or a user agent asks for indentation (negotiation.isPrettyPrint)."""
    if "pretty" in request.rel_url.raw_query_string:
        said = request.rel_url.query.get("pretty")
        if said:
            return said in _TRUE
    return request.headers.get("User-Agent", "").startswith(_PEOPLE)


def safe(request: web.BaseRequest) -> Form:
    """The form an error takes: never fails, never a transform."""
    try:
        return asked(request).without_transform()
    except status.StatusError:
        return Form(pretty=_is_for_people(request))
