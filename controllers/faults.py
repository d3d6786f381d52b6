"""Fault of world.inkube.dev/v1: a kind with which users let requests to a server fail.

`apiserver.faults` applies the stored faults to requests. This module contains the fields of the
kind, their rules, and the controller that writes the numbers of affected requests.
"""

from collections.abc import Callable, Iterator
from typing import Any, Literal

from pydantic import Field

from inkube.client import Client, ignoring
from inkube.formats import selectors
from inkube.kinds import (
    Column,
    Controller,
    Counts,
    Environment,
    Invalid,
    Key,
    KindModule,
    Model,
    Problem,
    Required,
    Resource,
    Source,
    StatusError,
    validator,
)

GROUP = "world.inkube.dev"
Moment = Literal["BeforeWrite", "AfterWrite"]


class Match(Model):
    """The requests to which the fault applies. An empty list means any. All members must match."""

    verbs: list[str] = Field(default_factory=list)
    api_groups: list[str] = Field(
        default_factory=list, description='API groups; "" is the core group.'
    )
    resources: list[str] = Field(
        default_factory=list,
        description="pods, Pod, po, deployments.apps, apps/v1/deployments, pods/status, */status "
        "or *. Subresources are matched separately.",
    )
    namespaces: list[str] = Field(default_factory=list)
    names: list[str] = Field(default_factory=list)
    users: list[str] = Field(default_factory=list)
    groups: list[str] = Field(default_factory=list, description="Groups of the user.")
    user_agents: list[str] = Field(default_factory=list, description="Patterns such as kopf/*.")
    label_selector: str = Field(
        default="", description="Labels of the stored object, or of the object in a create request."
    )
    non_resource_urls: list[str] = Field(
        default_factory=list,
        alias="nonResourceURLs",
        description="Paths such as /version or /openapi/*.",
    )


class When(Model):
    """Which of the matching requests fail. The selection is the same in every run."""

    skip: int = Field(
        default=0, ge=0, description="The number of matching requests that succeed first."
    )
    every: int = Field(default=1, ge=1, description="Then, every n-th request fails.")
    times: int | None = Field(
        default=None, ge=1, description="The largest number of requests that fail."
    )
    probability: float = Field(default=1.0, ge=0, le=1)
    seed: int = Field(default=0, description="The seed of the probability and the jitter.")


class Delay(Model):
    """A delay before the request is processed, with up to `jitterSeconds` more."""

    seconds: float = Field(default=0.0, ge=0, le=3600)
    jitter_seconds: float = Field(default=0.0, ge=0, le=3600)


class Answer(Model):
    """A Status as the response. Without reason and message, they follow from the code."""

    code: int = Field(ge=400, le=599)
    reason: str = ""
    message: str = ""
    retry_after_seconds: int = Field(default=0, ge=0)
    details: dict[str, Any] | None = None
    moment: Moment = Field(
        default="BeforeWrite", description="AfterWrite: the request is processed first."
    )


class Hold(Model):
    """A request that waits until the Fault is deleted or its spec is changed. Something else can
    happen while it waits: a crash of its client, or a change of the object."""

    moment: Moment = Field(
        default="BeforeWrite",
        description="AfterWrite: the request is processed first, and its response waits.",
    )
    seconds: float = Field(
        default=60.0, gt=0, le=3600, description="The longest wait, in real time."
    )


class Watch(Model):
    """How a watch ends after a number of events, and what it leaves out or repeats."""

    events: int | None = Field(default=None, ge=0)
    end: Literal["Cut", "Close", "Expired", "Silent"] = Field(
        default="Cut",
        description="Expired: an ERROR event with code 410. Silent: nothing follows, but the watch "
        "stays open.",
    )
    without_bookmarks: bool = False
    merge_seconds: float = Field(
        default=0.0,
        ge=0,
        le=3600,
        description="The changes of an object within this real time become one event, or none if "
        "it is created and deleted meanwhile. Only for watches over HTTP.",
    )
    repeat: int = Field(
        default=0,
        ge=0,
        description="The number of changes before the start that are sent again, to a client that "
        "continues from a list.",
    )


class Stale(Model):
    """A get or list that returns the state before the last changes of the requested objects."""

    changes: int = Field(ge=1)


class Slow(Model):
    """A slow response."""

    bytes_per_second: int = Field(ge=1)


class FaultSpec(Model):
    """The requests that a fault matches, when it is active, and its effects."""

    match: Match = Field(default_factory=Match)
    when: When = Field(default_factory=When)
    controllers: bool = Field(
        default=False,
        description="Whether the fault also applies to the controllers in the server.",
    )
    delay: Delay | None = None
    hold: Hold | None = None
    answer: Answer | None = None
    cut: Moment | None = Field(
        default=None, description="Whether the connection is closed without a response."
    )
    watch: Watch | None = None
    stale: Stale | None = None
    slow: Slow | None = None


class FaultStatus(Model):
    """Counts since the last change of the spec."""

    matched: int = 0
    injected: int = 0
    held: int = Field(default=0, description="The number of requests that wait now.")


class Fault(
    Resource,
    group=GROUP,
    version="v1",
    namespaced=False,
    zero_status={"matched": 0, "injected": 0, "held": 0},
    columns=(
        Column("Verbs", "string", ".spec.match.verbs"),
        Column("Resources", "string", ".spec.match.resources"),
        Column("Matched", "integer", ".status.matched"),
        Column("Injected", "integer", ".status.injected"),
        Column("Held", "integer", ".status.held"),
        Column("Age", "date", ".metadata.creationTimestamp"),
    ),
):
    """Makes requests fail. Requests for Faults themselves never fail."""

    spec: FaultSpec = Field(default_factory=FaultSpec)
    status: FaultStatus = Field(default_factory=FaultStatus)  # type: ignore[assignment] # no checks


@validator(Fault, field="spec")
def does_something(fault: Fault, old: Fault | None) -> Iterator[Problem]:
    """Check that a fault has at least one effect, not both answer and cut, and a valid selector."""
    spec = fault.spec
    effects = spec.delay, spec.hold, spec.answer, spec.cut, spec.watch, spec.stale, spec.slow
    if not any(effects):
        yield Required("one of delay, hold, answer, cut, watch, stale, slow")
    if spec.answer is not None and spec.cut is not None:
        yield Invalid("answer and cut exclude each other", field="spec.cut")
    try:
        selectors.parse_labels(spec.match.label_selector)
    except StatusError as error:
        yield Invalid(error.message, field="spec.match.labelSelector")


def module(counts: Counts) -> KindModule[Fault]:
    """Return the kind, with the controller that writes its status."""

    def controllers(env: Environment) -> list[Controller]:
        return [_controller(env.client, counts)]

    return KindModule(Fault, validators=[does_something], extra_controllers=controllers)


def _controller(client: Client, counts: Counts) -> Controller:
    async def reconcile(key: Key) -> None:
        found = counts.counted(key.name)
        if found is None:
            return
        patch = {"status": dict(zip(("matched", "injected", "held"), found, strict=True))}
        with ignoring(404):
            await client.patch(Fault.gvr, key.name, patch=patch, subresource="status")

    return Controller("faults", reconcile, (), sources=(_source(counts),), everywhere=True)


def _source(counts: Counts) -> Source:
    def begin(add: Callable[[Key], None]) -> Callable[[], None]:
        return counts.listen(lambda name: add(Key("", name)))

    return begin
