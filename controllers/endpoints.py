"""What answers beside the verbs of a kind: subresources that are no objects, namespaced endpoints.

    async def refs(question, env): return Reply({"kind": "RefList", "items": […]})
    KindModule(Repository, subresources=[Subresource("refs", refs, kind="RefList")])

The composition root asks with a Question and sends the Reply. What is refused is raised as
`schemas.status.StatusError`, as everywhere.
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
    """One request. `name` is the object's, "" for an endpoint of a namespace."""

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
        """The body's value, JSON or YAML. Raises StatusError 400."""
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


Answer = Callable[[Question, Environment], Awaitable[Reply]]


@dataclass(frozen=True, slots=True)
class Subresource:
    """`PLURAL/NAME/name[/…]`; `kind` is what discovery says it answers with.

    Other verbs are 405. Whether there is an object of that name is for `answer` to find out, and
    where it `is_open`, who asks: no login is needed, a signature in the request may prove it.
    """

    name: str
    answer: Answer
    kind: str
    verbs: tuple[str, ...] = ("get",)
    is_open: bool = False


@dataclass(frozen=True, slots=True)
class Endpoint:
    """`namespaces/NS/name`: something to read about a namespace; no resource, not discovered."""

    name: str
    answer: Answer
