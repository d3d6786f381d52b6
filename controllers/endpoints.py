"""Subresources that return something other than the object, and endpoints of a namespace.

    async def refs(question, env): return Reply({"kind": "RefList", "items": […]})
    KindModule(Repository, subresources=[Subresource("refs", refs, kind="RefList")])

The composition root calls them with a Question and sends the Reply. To reject a request, they raise
a `schemas.status.StatusError`.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from inkube.controllers.client import Object
from inkube.controllers.environment import Environment
from inkube.schemas import bodies, status
from inkube.schemas.golang import DecodeError


@dataclass(frozen=True, slots=True)
class Question:
    """One request. `name` is the name of the object; "" for an endpoint of a namespace."""

    verb: str
    """get, create, update, patch or delete."""
    api_version: str
    namespace: str
    name: str = ""
    rest: tuple[str, ...] = ()
    """The segments of the path below the subresource."""
    is_directory: bool = False
    """Whether the path ends with a slash."""
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""

    def document(self) -> Any:
        """Return the body's value, JSON or YAML. Raises StatusError 400."""
        is_yaml = "yaml" in self.headers.get("Content-Type", "")
        media: bodies.Media = "yaml" if is_yaml else "json"
        try:
            return bodies.decode(self.body, media, want_duplicates=False).value
        except DecodeError as error:
            raise status.bad_request(error.text) from error


@dataclass(frozen=True, slots=True)
class Reply:
    """A response: a JSON value, or bytes of another media type."""

    body: Object | bytes
    code: int = 200
    media: str = "application/json"


VALIDATIONS = frozenset({"check", "test", "validate"})
"""Names that subresources cannot have."""
Answer = Callable[[Question, Environment], Awaitable[Reply]]


@dataclass(frozen=True, slots=True)
class Subresource:
    """`PLURAL/NAME/name[/…]`; `kind` is the kind of its responses in discovery.

    Other verbs return 405. `answer` must check whether the object exists. If it `is_open`, requests
    need no authentication, and `answer` must check them, for example by a signature. Responses of a
    `deprecated` one have a Warning. Raises ValueError for a name that promises a validation.
    """

    name: str
    answer: Answer
    kind: str
    verbs: tuple[str, ...] = ("get",)
    is_open: bool = False
    deprecated: bool = False

    def __post_init__(self) -> None:
        """Refuse an endpoint for what a dry run does."""
        if self.name in VALIDATIONS:
            raise ValueError(
                f"a subresource {self.name!r} would be a second way to validate an object: declare "
                "a @check, which runs for ?dryRun=All and fills status.fieldErrors"
            )


@dataclass(frozen=True, slots=True)
class Endpoint:
    """`namespaces/NS/name`: readable data about a namespace. It is not a resource and is not in
    discovery."""

    name: str
    answer: Answer
