"""Leader election among several servers: a Lease that one of them holds and renews.

Follows client-go/tools/leaderelection (leaderelection.go, resourcelock/leaselock.go), with its
fields: `holderIdentity`, `leaseDurationSeconds`, `acquireTime`, `renewTime`, `leaseTransitions`. No
server trusts the clock of another: a lease has expired if it was seen unchanged for its duration,
or if its holder is known to have ended. Unlike in client-go, waiting servers watch the Lease, and
take over a released one immediately.

A leader that could not renew for `deadline` seconds steps down. If it was suspended longer than
that, `storage.fences` rejects its writes.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from inkube.controllers.client import Client, Object, Selection, get_or_none
from inkube.controllers.informer import Change, Informer, Informers
from inkube.schemas import meta
from inkube.schemas.clock import Clock
from inkube.schemas.status import StatusError

logger = logging.getLogger(__name__)

LEASES = "coordination.k8s.io/v1/leases"
RELEASE_SECONDS = 1.0
"""Seconds of real time for a stopping server to give the lease back."""


class Timing(NamedTuple):
    """Durations in seconds: of a lease, until a holder without a renewal steps down, between two
    renewals, and between two attempts of waiting servers."""

    duration: int = 15
    deadline: float = 10.0
    period: float = 5.0
    retry: float = 2.0

    @classmethod
    def of(cls, duration: int) -> "Timing":
        """Return the default timing, scaled to a duration of leases in seconds."""
        usual = cls()
        part = duration / usual.duration
        return cls(duration, usual.deadline * part, usual.period * part, usual.retry * part)


class LeaseName(NamedTuple):
    """The namespace and name of the Lease."""

    namespace: str
    name: str


class Term(NamedTuple):
    """One period of leadership. It ends when another server becomes the leader."""

    holder: str
    transitions: int
    acquired: str

    @classmethod
    def of(cls, lease: Object) -> "Term":
        """Return the term that a Lease describes; its holder is "" if no server leads."""
        spec = lease.get("spec") or {}
        return cls(
            spec.get("holderIdentity") or "",
            spec.get("leaseTransitions") or 0,
            spec.get("acquireTime") or "",
        )


OnStartedLeading = Callable[[Term], Awaitable[None]]
OnStoppedLeading = Callable[[], Awaitable[None]]


class Elector:
    """Takes part in the election as `identity`. `has_ended` returns whether a holder has ended."""

    def __init__(
        self,
        client: Client,
        clock: Clock,
        lease_name: LeaseName,
        identity: str,
        *,
        timing: Timing | None = None,
        has_ended: Callable[[str], bool] = lambda holder: False,
    ) -> None:
        self.lease_name = lease_name
        self.identity = identity
        self.holder = ""
        """The current leader, as far as this server knows."""
        self._client = client
        self._clock = clock
        self._timing = timing or Timing()
        self._has_ended = has_ended
        self._term: Term | None = None
        self._may_hold = False
        """Whether the Lease can name this server: it began to write its name, and has not seen
        another one since."""
        self._renew_time = 0.0
        self._observed_record: tuple[str, ...] = ()
        self._seen_at = 0.0
        self._news = asyncio.Event()
        self._failed = False

    async def run(
        self,
        on_started_leading: OnStartedLeading,
        on_stopped_leading: OnStoppedLeading,
        informers: Informers,
        on_leader_known: Callable[[], None],
    ) -> None:
        """Take part until cancelled, and call the first two functions alternately.

        `on_leader_known` is called after each attempt, when it is known whether this server leads
        or that the lease cannot be read."""
        place = self.lease_name
        informer = informers.of(LEASES, Selection(place.namespace, fields=_named(place.name)))
        informer.subscribe(self._on_change)
        try:
            while True:
                self._news.clear()
                try:
                    await self._lead_term(on_started_leading, on_stopped_leading)
                except Exception:  # the election continues after any exception
                    logger.exception("a change of the leader failed")
                on_leader_known()
                await self._pause()
        finally:
            await _unsubscribe(informer, self._on_change, informers)

    def check(self) -> None:
        """Check the Lease immediately, because the leader has probably changed."""
        self._news.set()

    async def attempt(self) -> Term | None:
        """Acquire or renew the lease; returns the term of this server, None if another one leads.

        Raises StatusError (409 if the lease was changed concurrently), and other exceptions of the
        client.
        """
        began = self._clock.monotonic()
        place = self.lease_name
        lease = await get_or_none(self._client, LEASES, place.name, place.namespace)
        if lease is None:
            self._may_hold = True
            term = await self._create()
        else:
            self._observe(lease)
            if not self._is_free(lease):
                self.holder = Term.of(lease).holder
                self._may_hold = False
                return None
            self._may_hold = True
            term = await self._acquire(lease)
        self.holder, self._renew_time = self.identity, began
        return term

    async def release(self) -> None:
        """Release the lease, so that another server can lead immediately. If this fails, the lease
        expires."""
        if not self._may_hold:
            return
        self._term, self._may_hold = None, False
        try:
            async with asyncio.timeout(RELEASE_SECONDS):
                lease = await self._client.get(
                    LEASES, self.lease_name.name, self.lease_name.namespace
                )
                if Term.of(lease).holder != self.identity:
                    return
                now = self._now()
                lease["spec"] |= {
                    "holderIdentity": "",
                    "leaseDurationSeconds": 1,
                    "acquireTime": now,
                    "renewTime": now,
                }
                await self._client.update(lease)
        except Exception as error:  # noqa: BLE001 # the lease ends by itself
            logger.debug("the lease is not given back: %s", error)

    async def _lead_term(
        self, on_started_leading: OnStartedLeading, on_stopped_leading: OnStoppedLeading
    ) -> None:
        term = await self._outcome()
        if term != self._term and self._term is not None:
            self._term = None
            if self.holder == self.identity:  # no other server has taken it yet
                deadline = self._timing.deadline
                logger.warning("the lease was not renewed for %g s: this server rests", deadline)
            else:
                logger.warning(
                    "this server no longer leads; the leader is %s", self.holder or "unknown"
                )
            await on_stopped_leading()
        if term != self._term and term is not None:
            logger.debug("this server leads: %s", term.holder)
            self._term = term
            await on_started_leading(term)

    async def _outcome(self) -> Term | None:
        """Return the term of this server, or None. A leader that cannot reach the lease remains the
        leader until the deadline."""
        attempt = asyncio.ensure_future(self.attempt())
        waiting: set[asyncio.Future[Any]] = {attempt}
        if self._term is not None:
            # a suspended server can still hold the lease, so it makes one attempt
            left = self._renew_time + self._timing.deadline - self._clock.monotonic()
            left = max(left, self._timing.retry)
            waiting.add(asyncio.ensure_future(self._clock.sleep(left)))
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            if attempt.done():
                return self._result_of(attempt)
            return None
        finally:
            for task in waiting:
                task.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)

    def _result_of(self, attempt: "asyncio.Future[Term | None]") -> Term | None:
        error = attempt.exception()
        if error is None:
            if self._failed:
                logger.warning("the lease %s can be asked for again", self.lease_name.name)
            self._failed = False
            return attempt.result()
        if isinstance(error, StatusError) and error.code == 409:
            if self._term is not None:
                self.check()  # another server wrote the lease meanwhile
        elif not self._failed:
            self._failed = True
            logger.warning("the lease %s cannot be had: %s", self.lease_name.name, error)
        over = self._clock.monotonic() >= self._renew_time + self._timing.deadline
        return None if over else self._term

    async def _pause(self) -> None:
        """Wait until the next attempt is due or the Lease changes."""
        seconds = self._timing.period if self._term is not None else self._timing.retry
        if self._failed:
            seconds = min(seconds, self._timing.retry)
        sleep = asyncio.ensure_future(self._clock.sleep(seconds))
        news = asyncio.ensure_future(self._news.wait())
        try:
            await asyncio.wait((sleep, news), return_when=asyncio.FIRST_COMPLETED)
        finally:
            sleep.cancel()
            news.cancel()

    def _on_change(self, change: Change) -> None:
        """Record a change of the Lease. It causes an attempt if the Lease was released, or if
        another server took it from this one."""
        holder = Term.of(change.object).holder if change.new is not None else ""
        self.holder = holder or self.holder
        is_ours = holder == self.identity
        if not holder or (self._term is not None and not is_ours):
            self.check()

    def _observe(self, lease: Object) -> None:
        spec = lease.get("spec") or {}
        seen = (*map(str, Term.of(lease)), str(spec.get("renewTime")), lease["metadata"]["uid"])
        if seen != self._observed_record:
            self._observed_record, self._seen_at = seen, self._clock.monotonic()

    def _is_free(self, lease: Object) -> bool:
        """Return whether the lease has no holder, is held by this server, or has expired."""
        spec = lease.get("spec") or {}
        holder = spec.get("holderIdentity") or ""
        if holder in ("", self.identity):
            return True
        duration = spec.get("leaseDurationSeconds") or self._timing.duration
        if self._clock.monotonic() >= self._seen_at + duration:
            return True
        return self._has_ended(holder)

    async def _create(self) -> Term:
        now = self._now()
        lease = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": self.lease_name.name, "namespace": self.lease_name.namespace},
            "spec": self._spec(acquire_time=now, renew_time=now, transitions=0),
        }
        return Term.of(await self._client.create(lease))

    async def _acquire(self, lease: Object) -> Term:
        before, now = Term.of(lease), self._now()
        is_ours = before.holder == self.identity
        lease["spec"] = self._spec(
            acquire_time=before.acquired if is_ours and before.acquired else now,
            renew_time=now,
            transitions=before.transitions + (not is_ours),
        )
        return Term.of(await self._client.update(lease))

    def _spec(self, *, acquire_time: str, renew_time: str, transitions: int) -> Object:
        return {
            "holderIdentity": self.identity,
            "leaseDurationSeconds": self._timing.duration,
            "acquireTime": acquire_time,
            "renewTime": renew_time,
            "leaseTransitions": transitions,
        }

    def _now(self) -> str:
        return meta.format_micro_time(self._clock.now())


def _named(name: str) -> str:
    return f"metadata.name={name}"


async def _unsubscribe(
    informer: Informer, subscriber: Callable[[Change], None], informers: Informers
) -> None:
    informer.unsubscribe(subscriber)
    if not informer.is_used:
        with contextlib.suppress(asyncio.CancelledError):
            await informers.remove(informer)
