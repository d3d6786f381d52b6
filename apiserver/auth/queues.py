"""The seats of priority levels, and the queues of requests that wait for one.

A request takes a seat of its level while it runs. A level has a guaranteed number of seats, and
borrows seats that other levels lend and do not use. If there is none, the request waits in the
shortest of the few queues that belong to its flow, so that a flow with many requests does not delay
the others. Queues take turns. All queues are bounded, in length and in time.

Follows apiserver/pkg/util/flowcontrol (apf_controller.go, fairqueuing/queueset, shufflesharding).
One thing is simpler: borrowed seats change hands immediately instead of every 10 s.
"""

import asyncio
import hashlib
import math
import sys
import time
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence

from inkube.apiserver.http import too_many_requests
from inkube.apiserver.samples import Samples
from inkube.schemas import status
from inkube.schemas.objects import Object

_PREFIX = "apiserver_flowcontrol_"
_FULL, _LIMIT, _TIME = "queue-full", "concurrency-limit", "time-out"
_MOST_SEATS = 0.15
"""The most seats of one request, as a part of the seats of its level
(priorityLevelMaxSeatsPercent)."""
_SEAT_UTILIZATION = f"{_PREFIX}priority_level_seat_utilization"
_REQUEST_UTILIZATION = f"{_PREFIX}priority_level_request_utilization"


class Usage:
    """What the requests of one flow schema do on one level."""

    __slots__ = ("begun", "ended", "further_seats", "refusals", "waiting", "waiting_seats")

    def __init__(self) -> None:
        self.begun = self.ended = 0
        """Requests that got seats, and those of them that are over."""
        self.further_seats = 0
        """Used seats, without one for each running request."""
        self.waiting = self.waiting_seats = 0
        """Requests that wait, and the seats that they need."""
        self.refusals: Counter[str] = Counter()

    @property
    def executing(self) -> int:
        """The number of running requests."""
        return self.begun - self.ended

    @property
    def seats(self) -> int:
        """The used seats."""
        return self.executing + self.further_seats


class _Waiting:
    """A request that waits for seats."""

    __slots__ = ("seated", "seats")

    def __init__(self, seats: int) -> None:
        self.seats = seats
        self.seated: asyncio.Future[None] = asyncio.get_running_loop().create_future()


class _Queue:
    """Requests that wait for a seat, in the order of their arrival."""

    __slots__ = ("requests", "turn")

    def __init__(self) -> None:
        self.requests: deque[_Waiting] = deque()
        self.turn = 0
        """The level's count of dispatched seats at which the queue had its last turn."""


class _History:
    """How much of a level is used over time, in histograms: each value is weighted with the
    nanoseconds during which it was true. Kept once somebody reads metrics."""

    def __init__(self, samples: Samples) -> None:
        self._samples = samples
        self._since = time.perf_counter_ns()

    def record(self, level: "Level") -> None:
        """Add the time since the last call. Called before and after the use changes."""
        now = time.perf_counter_ns()
        elapsed, self._since = now - self._since, now
        observe, nominal = self._samples.observe, max(1, level.nominal)
        executing = sum(each.executing for each in level.usage.values())
        places = max(1, level.places)
        for value, name, phase in (
            (level.busy / nominal, _SEAT_UTILIZATION, "executing"),
            (executing / nominal, _REQUEST_UTILIZATION, "executing"),
            (level.waiting / places, _REQUEST_UTILIZATION, "waiting"),
        ):
            observe(value, name, phase, level.name, weight=elapsed)


class Level:
    """A priority level. `configure` gives it its limits."""

    def __init__(self, name: str, pool: "Pool") -> None:
        self.name = name
        self.uid = ""
        self.is_exempt = False
        self.is_quiescing = False
        """Whether its configuration is deleted. It lends no seats."""
        self.nominal = self.lower = self.upper = 0
        """Seats: the share of all, those that are never lent, and the most with borrowed ones."""
        self.unshared = 0
        """Seats that requests can use whatever other levels do."""
        self.unchecked = 0
        """How many seats are taken without more checks: those, but none while requests wait or
        once somebody reads metrics."""
        self.used = self.spent = 0
        """Taken seats, and those of them whose requests have ended. A request that waits for
        nothing runs within one turn of the event loop, so these seats become free at its end: no
        more requests begin in one turn than there are seats."""
        self.batch = 0
        """The spent seats that are kept until there are more: a turn has room for the others."""
        self.waiting = 0
        self.most = 1
        """The most seats of one request."""
        self.history: _History | None = None
        """None until somebody reads metrics."""
        self.pool = pool
        self.usage: dict[str, Usage] = {}
        """By the name of the flow schema."""
        self.hand_size = 0
        self.deck_size = 0
        self._queue_limit = 0
        self._queues: list[_Queue] = []
        self._turn = 0

    def configure(self, stored: Object, nominal: int) -> None:
        """Apply a stored PriorityLevelConfiguration. Waiting requests keep their place."""
        spec, self.uid = stored["spec"], stored["metadata"]["uid"]
        self.is_exempt = spec["type"] == "Exempt"
        limits = spec.get("exempt" if self.is_exempt else "limited") or {}
        self.nominal = nominal
        self.unshared = sys.maxsize if self.is_exempt else nominal
        self.batch = self.unshared // 2
        self.lower = nominal - round(nominal * (limits.get("lendablePercent") or 0) / 100)
        borrowed = limits.get("borrowingLimitPercent")
        self.upper = self.pool.size
        if borrowed is not None:
            self.upper = nominal + round(nominal * borrowed / 100)
        queuing = (limits.get("limitResponse") or {}).get("queuing") or {}
        self.deck_size = queuing.get("queues") or 0
        self.hand_size = min(queuing.get("handSize") or 0, self.deck_size)
        self._queue_limit = queuing.get("queueLengthLimit") or 0
        dealt = nominal // self.hand_size if self.hand_size else nominal
        self.most = max(1, min(math.ceil(nominal * _MOST_SEATS), dealt))
        missing = self.deck_size - len(self._queues)
        self._queues += [_Queue() for _ in range(missing)]
        self._count_waiting(0)

    @property
    def active_queues(self) -> int:
        """The number of queues in which requests wait."""
        return sum(bool(each.requests) for each in self._queues)

    def usage_of(self, schema: str) -> Usage:
        """Return the usage of a flow schema."""
        return self.usage.setdefault(schema, Usage())

    @property
    def places(self) -> int:
        """The number of requests that fit into all queues."""
        return self.deck_size * self._queue_limit

    def has_room(self, seats: int) -> bool:
        """Return whether a request can have this number of seats. A request that is alone always
        can."""
        used = self.used + seats
        return (
            used <= self.unshared
            or not self.used
            or (used <= self.upper and self.pool.lends_to(self, seats))
        )

    def take(self, seats: int = 1) -> bool:
        """Take seats, if there are enough and no other request waits."""
        if not self.hand_size:
            self.end_turn()  # nothing can wait for the end of the turn
        if self.waiting or not self.has_room(seats):
            return False
        self.record()
        self.used += seats
        return True

    @property
    def busy(self) -> int:
        """The seats of running requests. `used` is not counted on exempt levels, which have room
        for all requests."""
        if self.is_exempt:
            return sum(each.seats for each in self.usage.values())
        return self.used - self.spent

    @property
    def is_used(self) -> bool:
        """Whether requests run or wait."""
        return bool(self.busy or self.waiting)

    def release(self, seats: int) -> None:
        """Give seats back, at the end of the turn to the next requests that wait."""
        self.record()
        self.spent += seats
        if self.spent > self.batch or self.pool.waiting:
            self.pool.end_turn_later()

    def end_turn(self) -> None:
        """Free the seats of requests that have ended."""
        self.used -= self.spent
        self.spent = 0

    def record(self) -> None:
        """Note the use of the level before it changes."""
        if self.history is not None:
            self.history.record(self)

    def keep_history(self, samples: Samples) -> None:
        """Record the use of the level from now on."""
        self.history = self.history or _History(samples)
        self.unchecked = 0

    def _count_waiting(self, more: int) -> None:
        self.waiting += more
        self.pool.waiting += more
        self.unchecked = 0 if self.waiting or self.history is not None else self.unshared

    async def wait(self, hand: Sequence[int], usage: Usage, seats: int, seconds: float) -> int:
        """Wait in one of the queues of a flow until the request has its seats. Returns the length
        of the queue with this request. Raises StatusError 429, also after some seconds."""
        if not hand:
            raise self._refusal(usage, _LIMIT)
        queue = min((self._queues[card] for card in hand), key=lambda queue: len(queue.requests))
        # seats of requests that have ended are free, and are given to these at the end of the turn
        if len(queue.requests) - self.spent >= self._queue_limit:
            raise self._refusal(usage, _FULL)
        request = _Waiting(seats)
        if not queue.requests:
            queue.turn = max(queue.turn, self._turn)  # an idle queue saves no turns
        self.record()
        queue.requests.append(request)
        length = len(queue.requests)
        self._count_waiting(1)
        usage.waiting += 1
        usage.waiting_seats += seats
        self.pool.end_turn_later()
        try:
            async with asyncio.timeout(seconds):
                await self._seated(request)
        except TimeoutError:
            raise self._refusal(usage, _TIME) from None
        finally:
            usage.waiting -= 1
            usage.waiting_seats -= seats
            if request in queue.requests:
                self._leave_queue(queue, request)
        return length

    def _leave_queue(self, queue: _Queue, request: _Waiting) -> None:
        """Stop waiting. A request with fewer seats may have waited behind this one."""
        self.record()
        self._count_waiting(-1)
        queue.requests.remove(request)
        self.dispatch()

    async def _seated(self, request: _Waiting) -> None:
        try:
            await request.seated
        except asyncio.CancelledError:
            if not request.seated.cancelled():  # it had its seats already
                self.release(request.seats)
            raise

    def _refusal(self, usage: Usage, reason: str) -> status.StatusError:
        usage.refusals[reason] += 1
        return too_many_requests()

    def dispatch(self) -> None:
        """Give free seats to waiting requests, to each queue in turn. If the next request needs
        more seats than there are, the others wait for it."""
        while self.waiting:
            queue = min(
                (each for each in self._queues if each.requests), key=lambda queue: queue.turn
            )
            request = queue.requests[0]
            if not self.has_room(request.seats):
                return
            self.record()
            queue.requests.popleft()
            self._count_waiting(-1)
            self._turn = queue.turn
            queue.turn += request.seats
            if not request.seated.done():
                self.used += request.seats
                request.seated.set_result(None)

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
        self.record()
        seats = {
            "nominal": self.nominal, "lower": self.lower, "upper": self.upper,
            "current": max(self.nominal, self.busy),
        }  # fmt: skip
        for limit, number in seats.items():
            yield f"{_PREFIX}{limit}_limit_seats", self.name, str(number)
        yield f"{_PREFIX}request_concurrency_limit", self.name, str(self.nominal)
        for schema, usage in self.usage.items():
            for name, number in (
                ("current_executing_requests", usage.executing),
                ("current_executing_seats", usage.seats),
                ("request_concurrency_in_use", usage.seats),
                ("current_inqueue_requests", usage.waiting),
                ("current_inqueue_seats", usage.waiting_seats),
                ("dispatched_requests_total", usage.begun),
            ):
                yield f"{_PREFIX}{name}", self.name, schema, str(number)
            for reason, number in usage.refusals.items():
                name = f"{_PREFIX}rejected_requests_total"
                yield name, self.name, schema, reason, str(number)


class Pool:
    """The levels of a server, which share its seats. `size` is the number of seats."""

    def __init__(self, size: int, samples: Samples) -> None:
        self.size = size
        self.waiting = 0
        """The number of requests that wait on all levels."""
        self.levels: dict[str, Level] = {}
        self._samples = samples
        self._turn_ends = False
        samples.when_observed(self._keep_history)

    def configure(self, stored: Iterable[Object]) -> Mapping[str, Level]:
        """Use these PriorityLevelConfigurations, and return their levels. A deleted one stays
        until its requests have ended."""
        every = {each["metadata"]["name"]: each for each in stored}
        shares = {name: _shares(each["spec"]) for name, each in every.items()}
        total = sum(shares.values()) or 1
        known, found = self.levels, {}
        for name in every:
            found[name] = level = known.get(name) or Level(name, self)
            level.configure(every[name], math.ceil(self.size * shares[name] / total))
        self.levels = {**found, **{name: level for name, level in known.items() if level.is_used}}
        for name, level in self.levels.items():
            level.is_quiescing = name not in every
            level.dispatch()
        if self._samples.is_observed:
            self._keep_history()
        return found

    def _keep_history(self) -> None:
        for level in self.levels.values():
            level.keep_history(self._samples)

    def lends_to(self, borrower: Level, seats: int) -> bool:
        """Return whether other levels lend enough for a request with this number of seats."""
        lent = 0
        borrowed = max(0, borrower.used + seats - borrower.nominal)
        for level in self.levels.values():
            if level is not borrower and not level.is_exempt:
                borrowed += max(0, level.busy - level.nominal)
                if not level.is_quiescing:
                    lent += max(0, level.nominal - max(level.busy, level.lower))
        return borrowed <= lent

    def end_turn_later(self) -> None:
        """Free the seats of requests that have ended at the end of this turn of the event loop."""
        if not self._turn_ends:
            self._turn_ends = True
            asyncio.get_running_loop().call_soon(self._end_turn)

    def _end_turn(self) -> None:
        """Free seats, and give them to waiting requests: of each level, then of those that
        borrow."""
        self._turn_ends = False
        for level in self.levels.values():
            level.used -= level.spent
            level.spent = 0
        if self.waiting:
            for level in self.levels.values():
                level.dispatch()


def _shares(spec: Object) -> int:
    limits = spec.get("exempt" if spec["type"] == "Exempt" else "limited") or {}
    found: int = limits.get("nominalConcurrencyShares") or 0
    return found
