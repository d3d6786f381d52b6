"""The seats of priority levels, and the queues of requests that wait for one.

A request takes a seat of its level while it runs. A level has a guaranteed number of seats, and
borrows seats that other levels lend and do not use. If there is none, the request waits in the
shortest of the few queues that belong to its flow, so that a flow with many requests does not delay
the others. Queues take turns. All queues are bounded, in length and in time.

Follows apiserver/pkg/util/flowcontrol (apf_controller.go, fairqueuing/queueset, shufflesharding).
Two things are simpler: each request needs one seat, and borrowed seats change hands immediately
instead of every 10 s.
"""

import asyncio
import hashlib
import math
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence

from inkube.apiserver.http import too_many_requests
from inkube.schemas import status
from inkube.schemas.objects import Object

_PREFIX = "apiserver_flowcontrol_"
_FULL, _LIMIT, _TIME = "queue-full", "concurrency-limit", "time-out"


class Usage:
    """What the requests of one flow schema do on one level."""

    __slots__ = ("dispatched", "executing", "refusals", "waiting")

    def __init__(self) -> None:
        self.executing = self.waiting = self.dispatched = 0
        self.refusals: Counter[str] = Counter()


class _Queue:
    """Requests that wait for a seat, in the order of their arrival."""

    __slots__ = ("requests", "turn")

    def __init__(self) -> None:
        self.requests: deque[asyncio.Future[None]] = deque()
        self.turn = 0
        """The level's count of dispatched requests at which the queue had its last turn."""


class Level:
    """A priority level. `configure` gives it its limits."""

    def __init__(self, name: str, pool: "Pool") -> None:
        self.name = name
        self.uid = ""
        self.is_exempt = False
        self.nominal = self.lower = self.upper = 0
        """Seats: the share of all, those that are never lent, and the most with borrowed ones."""
        self.used = 0
        self.waiting = 0
        self.usage: dict[str, Usage] = {}
        """By the name of the flow schema."""
        self.hand_size = 0
        self.deck_size = 0
        self._queue_limit = 0
        self._queues: list[_Queue] = []
        self._turn = 0
        self._pool = pool

    def configure(self, stored: Object, nominal: int) -> None:
        """Apply a stored PriorityLevelConfiguration. Waiting requests keep their place."""
        spec, self.uid = stored["spec"], stored["metadata"]["uid"]
        self.is_exempt = spec["type"] == "Exempt"
        limits = spec.get("exempt" if self.is_exempt else "limited") or {}
        self.nominal = nominal
        self.lower = nominal - round(nominal * (limits.get("lendablePercent") or 0) / 100)
        borrowed = limits.get("borrowingLimitPercent")
        self.upper = self._pool.size
        if borrowed is not None:
            self.upper = nominal + round(nominal * borrowed / 100)
        queuing = (limits.get("limitResponse") or {}).get("queuing") or {}
        self.deck_size = queuing.get("queues") or 0
        self.hand_size = min(queuing.get("handSize") or 0, self.deck_size)
        self._queue_limit = queuing.get("queueLengthLimit") or 0
        missing = self.deck_size - len(self._queues)
        self._queues += [_Queue() for _ in range(missing)]

    @property
    def active_queues(self) -> int:
        """The number of queues in which requests wait."""
        return sum(bool(each.requests) for each in self._queues)

    def usage_of(self, schema: str) -> Usage:
        """Return the usage of a flow schema."""
        return self.usage.setdefault(schema, Usage())

    def take(self) -> bool:
        """Take a seat, if there is one and no other request waits for it."""
        if self.waiting or not self._has_seat:
            return False
        self.used += 1
        return True

    @property
    def _has_seat(self) -> bool:
        return self.used < self.nominal or (self.used < self.upper and self._pool.lends_to(self))

    def release(self) -> None:
        """Give a seat back, to the next request that waits."""
        self.used -= 1
        self._pool.dispatch(self)

    async def wait(self, hand: Sequence[int], usage: Usage, seconds: float) -> int:
        """Wait in one of the queues of a flow until the request has a seat. Returns the length of
        the queue with this request. Raises StatusError 429, also after some seconds."""
        if not hand:
            raise self._refusal(usage, _LIMIT)
        queue = min((self._queues[card] for card in hand), key=lambda queue: len(queue.requests))
        if len(queue.requests) >= self._queue_limit:
            raise self._refusal(usage, _FULL)
        seat = asyncio.get_running_loop().create_future()
        if not queue.requests:
            queue.turn = max(queue.turn, self._turn)  # an idle queue saves no turns
        queue.requests.append(seat)
        length = len(queue.requests)
        self.waiting += 1
        usage.waiting += 1
        try:
            async with asyncio.timeout(seconds):
                await self._seated(seat)
        except TimeoutError:
            raise self._refusal(usage, _TIME) from None
        finally:
            usage.waiting -= 1
            if seat in queue.requests:
                self.waiting -= 1
                queue.requests.remove(seat)
        return length

    async def _seated(self, seat: "asyncio.Future[None]") -> None:
        try:
            await seat
        except asyncio.CancelledError:
            if not seat.cancelled():  # it had its seat already
                self.release()
            raise

    def _refusal(self, usage: Usage, reason: str) -> status.StatusError:
        usage.refusals[reason] += 1
        return too_many_requests()

    def dispatch(self) -> None:
        """Give free seats to waiting requests, to each queue in turn."""
        while self.waiting and self._has_seat:
            queue = min(
                (each for each in self._queues if each.requests), key=lambda queue: queue.turn
            )
            seat = queue.requests.popleft()
            self.waiting -= 1
            self._turn = queue.turn
            queue.turn += 1
            if not seat.done():
                self.used += 1
                seat.set_result(None)

    def hand(self, flow: str) -> Sequence[int]:
        """Return the numbers of the queues of a flow, chosen by the hash of its name
        (shufflesharding/dealer.go)."""
        value = int.from_bytes(hashlib.sha256(flow.encode()).digest()[:8], "little")
        cards: list[int] = []
        for dealt in range(self.hand_size):
            value, card = divmod(value, self.deck_size - dealt)
            for each in sorted(cards):
                card += card >= each
            cards.append(card)
        return cards

    def figures(self) -> Iterator[tuple[str, ...]]:
        """Yield the names and labels of metrics, each with its value as a text at the end."""
        seats = {
            "nominal": self.nominal, "lower": self.lower, "upper": self.upper,
            "current": max(self.nominal, self.used),
        }  # fmt: skip
        for limit, number in seats.items():
            yield f"{_PREFIX}{limit}_limit_seats", self.name, str(number)
        for schema, usage in self.usage.items():
            for name, number in (
                ("current_executing_requests", usage.executing),
                ("current_executing_seats", usage.executing),
                ("current_inqueue_requests", usage.waiting),
                ("current_inqueue_seats", usage.waiting),
                ("dispatched_requests_total", usage.dispatched),
            ):
                yield f"{_PREFIX}{name}", self.name, schema, str(number)
            for reason, number in usage.refusals.items():
                name = f"{_PREFIX}rejected_requests_total"
                yield name, self.name, schema, reason, str(number)


class Pool:
    """The levels of a server, which share its seats. `size` is the number of seats."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.levels: dict[str, Level] = {}

    def configure(self, stored: Iterable[Object]) -> Mapping[str, Level]:
        """Use these PriorityLevelConfigurations. Requests of a deleted one keep their seats."""
        every = {each["metadata"]["name"]: each for each in stored}
        shares = {name: _shares(each["spec"]) for name, each in every.items()}
        total = sum(shares.values()) or 1
        self.levels = {name: self.levels.get(name) or Level(name, self) for name in every}
        for name, level in self.levels.items():
            level.configure(every[name], math.ceil(self.size * shares[name] / total))
        for level in self.levels.values():
            level.dispatch()
        return self.levels

    def lends_to(self, borrower: Level) -> bool:
        """Return whether other levels lend a seat that nobody has borrowed yet."""
        lent = borrowed = 0
        for level in self.levels.values():
            if level is not borrower and not level.is_exempt:
                lent += max(0, level.nominal - max(level.used, level.lower))
            borrowed += max(0, level.used - level.nominal)
        return borrowed < lent

    def dispatch(self, first: Level) -> None:
        """Give free seats to waiting requests: of a level, then of those that borrow."""
        first.dispatch()
        for level in self.levels.values():
            if level.waiting:
                level.dispatch()


def _shares(spec: Object) -> int:
    limits = spec.get("exempt" if spec["type"] == "Exempt" else "limited") or {}
    found: int = limits.get("nominalConcurrencyShares") or 0
    return found
