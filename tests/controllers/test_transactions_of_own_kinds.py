"""Stateful kinds: rules that read external state, a step that may fail, several objects in one
commit."""

import asyncio
import io
import json
from contextlib import asynccontextmanager

import aiohttp
import pytest
from pydantic import Field

from inkube import APIServer
from inkube.controllers.kinds import KindModule
from inkube.controllers.locks import Busy, Locks
from inkube.controllers.records import Record
from inkube.controllers.transactions import Part, View
from inkube.schemas import fielderrors, status
from inkube.schemas.definitions import Column, SelectableField
from inkube.schemas.models import Model, Resource, Status

GROUP = "halls.example"
SEATS = f"/apis/{GROUP}/v1/namespaces/default/seats"
TICKETS = f"/apis/{GROUP}/v1/namespaces/default/tickets"


class SeatSpec(Model):
    hall: str = ""
    number: int = 0
    stage: str = "Held"
    tags: dict[str, str] | None = None


class SeatStatus(Status):
    booking: str = ""


class Seat(
    Resource,
    group=GROUP,
    version="v1",
    status_subresource=False,
    columns=(
        Column("Paid", "boolean", r".metadata.labels.halls\.example/paid", shows_presence=True),
        Column("Tags", "integer", ".spec.tags", counts=True, zero=0),
    ),
    selectable_fields=(
        "spec.hall",
        SelectableField("spec.number", "spec.number", zero="0", prefix="n"),
        SelectableField("spec.stage", "spec.stage", choices=("Held", "Paid")),
        SelectableField("spec.tags", "spec.tags", is_map=True),
    ),
    unknown_field='"{label}" is not a known field selector',
    only_equality=True,
):
    spec: SeatSpec = SeatSpec()
    status: SeatStatus = Field(default_factory=SeatStatus)


class HallSpec(Model):
    seats: int = 0


class Hall(Resource, group=GROUP, version="v1", verbs=("get", "list", "watch")):
    spec: HallSpec = HallSpec()


class TicketSpec(Model):
    text: str = ""


class Ticket(
    Resource,
    group=GROUP,
    version="v1",
    status_subresource=False,
    verbs=("get", "list", "update", "patch"),
    columns=(Column("Text", "string", ".spec.text"),),
):
    spec: TicketSpec = TicketSpec()


class Office:
    """The external system: bookings by name, texts by booking."""

    def __init__(self):
        self.bookings, self.texts = {}, {}
        self.broken, self.undone = False, []
        self.gate, self.entered = asyncio.Event(), asyncio.Event()
        self.gate.set()

    async def book(self, name):
        self.entered.set()
        await self.gate.wait()
        if self.broken:
            raise status.unavailable("the office is closed")
        self.bookings[name] = f"booking {len(self.bookings)}"
        self.texts[self.bookings[name]] = f"one seat: {name}"

    async def cancel(self, name):
        del self.bookings[name]
        self.undone.append(name)


def prepare(obj, old):
    if old is not None:
        obj["status"] = old["status"]
        obj["spec"]["stage"] = old["spec"]["stage"]


def pay(obj, old):
    obj["spec"] = {**old["spec"], "stage": obj["spec"].get("stage", "")}
    obj["status"] = old["status"]


def check_payment(obj, old):
    if obj["spec"]["stage"] not in ("Paid", "Held"):
        raise status.bad_request(f"unknown stage {obj['spec']['stage']}")
    if old["spec"]["stage"] == obj["spec"]["stage"]:
        return [fielderrors.invalid("spec.stage", obj["spec"]["stage"], "nothing to pay")]
    return []


class Seating:
    def __init__(self):
        self.locks = Locks()

    @asynccontextmanager
    async def transaction(self, write, env):
        office = env.services["office"]
        try:
            async with self.locks.attempt(write.name), self.locks.hold("hall"):
                await write.confirm()
                if write.operation == "create":
                    async with self._create(write, env, office):
                        yield
                    return
                if write.operation == "delete" and write.old["spec"]["stage"] == "Paid":
                    raise status.forbidden(GROUP, "seats", write.name, "it is paid")
                if write.goes and not write.dry_run:
                    await office.cancel(write.name)
                    write.records.append(await self._hall(env, write, -1))
                yield
        except Busy:
            raise status.conflict(GROUP, "seats", write.name, "somebody else is at it") from None

    @asynccontextmanager
    async def _create(self, write, env, office):
        spec = write.obj["spec"]
        if spec["hall"] == "closed":
            raise status.bad_request("the hall is closed")
        if spec["number"] > 100:
            raise status.forbidden(GROUP, "seats", write.name, "the hall has 100 seats")
        if spec["number"] == 13:
            write.warn("superstitious guests stay away")
        write.obj["status"] = {"booking": "rehearsed"}
        if write.dry_run:
            yield
            return
        await office.book(write.name)
        write.obj["status"] = {"booking": office.bookings[write.name]}
        write.records.append(await self._hall(env, write, 1))
        try:
            yield
        except BaseException:
            await office.cancel(write.name)
            raise

    async def _hall(self, env, write, more):
        name = (write.obj or write.old)["spec"]["hall"]
        try:
            hall = await env.client.get(Hall.gvr, name, write.namespace)
        except status.StatusError:
            hall = {"apiVersion": f"{GROUP}/v1", "kind": "Hall", "spec": {"seats": 0}}
            hall["metadata"] = {"name": name, "namespace": write.namespace}
            hall["spec"]["seats"] += more
            return Record("create", hall)
        hall["spec"]["seats"] += more
        return Record("update", hall)


async def show_tickets(seats, env):
    shown = []
    for seat in seats:
        kept = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
        shown.append(
            {
                "apiVersion": f"{GROUP}/v1",
                "kind": "Ticket",
                "metadata": {name: seat["metadata"][name] for name in kept},
                "spec": {"text": env.services["office"].texts[seat["status"]["booking"]]},
            }
        )
    return shown


@asynccontextmanager
async def print_again(write, env):
    await write.confirm()
    if not write.obj["spec"]["text"]:
        raise status.forbidden(GROUP, "tickets", write.name, "a ticket says something")
    booking = f"{write.record['status']['booking']} again"
    write.record["status"]["booking"] = booking
    if not write.dry_run:
        env.services["office"].texts[booking] = write.obj["spec"]["text"]
    yield


def kinds():
    seats = KindModule(
        Seat,
        compute_name=lambda obj: f"{obj['spec'].get('hall')}-{obj['spec'].get('number')}",
        parts=[Part("", prepare), Part("payment", pay, check_payment)],
        transaction=Seating().transaction,
        versionless=lambda name: status.bad_request(f"say which version of {name} you mean"),
        returns_deleted=True,
    )
    tickets = KindModule(
        Ticket,
        view=View(Seat.gvr, show_tickets),
        transaction=print_again,
        max_body=4 * 2**20,
    )
    return [seats, KindModule(Hall), tickets]


@pytest.fixture
def office():
    return Office()


@pytest.fixture
async def http(office):
    async with (
        APIServer(kinds=kinds(), services={"office": office}, modules="none") as server,
        aiohttp.ClientSession(server.url) as session,
    ):
        session.server = server
        yield session


async def send(http, method, path, body=None, media="application/json", **params):
    kwargs: dict = {"headers": {"Content-Type": media}} if body is not None else {}
    if body is not None:
        kwargs["data"] = io.BytesIO(json.dumps(body).encode())
    async with http.request(method, path, params=params, **kwargs) as answer:
        return answer.status, await answer.json(), answer.headers.getall("Warning", [])


async def book(http, hall="a", number=1, **params):
    body = {"spec": {"hall": hall, "number": number}}
    return await send(http, "POST", SEATS, body, **params)


async def test_a_name_may_follow_from_the_rest_of_an_object(http):
    code, seat, _ = await book(http, number=7)
    assert (code, seat["metadata"]["name"]) == (201, "a-7")
    code, answer, _ = await book(http, hall="A b")
    assert [cause["field"] for cause in answer["details"]["causes"]] == ["metadata.name"]
    code, answer, _ = await book(http, hall="A b", number="x")
    assert [cause["field"] for cause in answer["details"]["causes"]] == ["spec.number"]


async def test_rules_of_any_code_see_the_world_on_real_writes(http):
    assert (await book(http, hall="closed"))[0] == 400
    code, answer, _ = await book(http, number=101)
    assert code == 403
    assert answer["message"].endswith('"a-101" is forbidden: the hall has 100 seats')


async def test_a_rule_may_warn(http):
    assert (await book(http, number=13))[2] == ['299 - "superstitious guests stay away"']


async def test_the_object_and_what_follows_from_it_are_one_commit(http):
    with http.server.store.subscribe(f"/registry/{GROUP}/") as changes:
        await book(http)
        seat, hall = await anext(changes), await anext(changes)
    assert seat.entry.value["status"] == {"booking": "booking 0"}
    assert (hall.entry.value["kind"], hall.entry.value["spec"]) == ("Hall", {"seats": 1})
    assert hall.revision == seat.revision + 1


async def test_a_step_that_fails_stores_nothing(http, office):
    office.broken = True
    assert (await book(http))[0] == 503
    assert (await send(http, "GET", SEATS))[1]["items"] == []
    office.broken = False
    assert (await book(http))[0] == 201


async def test_a_commit_that_fails_undoes_the_step(http, office, monkeypatch):
    store = http.server.registry.store

    async def fail(batch, consent):
        raise OSError("no room")

    with monkeypatch.context() as patched:
        patched.setattr(store, "commit", fail)
        assert (await book(http))[0] == 500
    assert office.undone == ["a-1"]
    assert (await book(http))[0] == 201


async def test_a_dry_run_passes_the_rules_and_takes_no_step(http, office):
    code, seat, _ = await book(http, dryRun="All")
    assert (code, seat["status"]) == (201, {"booking": "rehearsed"})
    assert (await book(http, number=101, dryRun="All"))[0] == 403
    assert office.bookings == {}
    assert (await send(http, "GET", SEATS))[1]["items"] == []


async def test_the_same_name_at_once_is_refused_and_another_waits(http, office):
    office.gate.clear()
    first = asyncio.create_task(book(http, number=1))
    await office.entered.wait()
    code, answer, _ = await book(http, number=1, dryRun="All")
    assert code == 409
    assert answer["message"].endswith("somebody else is at it")
    second = asyncio.create_task(book(http, number=2))
    office.gate.set()
    assert [(await task)[0] for task in (first, second)] == [201, 201]
    hall = (await send(http, "GET", f"/apis/{GROUP}/v1/namespaces/default/halls/a"))[1]
    assert hall["spec"] == {"seats": 2}


async def test_a_write_of_a_disconnected_client_is_completed(http, office):
    office.gate.clear()
    gvr, client = Seat.gvr, http.server.client
    body = {
        "apiVersion": f"{GROUP}/v1", "kind": "Seat",
        "metadata": {"namespace": "default"}, "spec": {"hall": "a", "number": 1},
    }  # fmt: skip
    writing = asyncio.create_task(client.create(body))
    await office.entered.wait()
    writing.cancel()
    office.gate.set()
    with pytest.raises(asyncio.CancelledError):
        await writing
    assert list(office.bookings) == ["a-1"]
    seat = await client.get(gvr, "a-1", "default")
    assert seat["status"] == {"booking": office.bookings["a-1"]}


async def test_a_part_is_an_address_of_updates_with_rules_of_its_own(http):
    _, seat, _ = await book(http)
    path = f"{SEATS}/a-1/payment"
    seat["spec"] |= {"stage": "Paid", "hall": "elsewhere"}
    code, paid, _ = await send(http, "PUT", path, seat)
    assert (code, paid["spec"]["stage"], paid["spec"]["hall"]) == (200, "Paid", "a")
    code, answer, _ = await send(http, "PUT", path, paid)
    assert (code, answer["details"]["causes"][0]["field"]) == (422, "spec.stage")
    merge = "application/merge-patch+json"
    code, answer, _ = await send(http, "PATCH", path, {"spec": {"stage": "Lost"}}, merge)
    assert (code, answer["message"]) == (400, "unknown stage Lost")
    assert (await send(http, "GET", path))[1]["spec"]["stage"] == "Paid"
    assert (await send(http, "POST", path, paid))[0] == 405
    found = (await send(http, "GET", f"/apis/{GROUP}/v1"))[1]["resources"]
    [told] = [each for each in found if each["name"] == "seats/payment"]
    assert (told["kind"], told["verbs"]) == ("Seat", ["get", "patch", "update"])


async def test_the_object_s_own_address_leaves_a_part_alone(http):
    _, seat, _ = await book(http)
    seat["spec"] |= {"stage": "Paid", "tags": {"x": "y"}}
    code, changed, _ = await send(http, "PUT", f"{SEATS}/a-1", seat)
    assert (code, changed["spec"]["stage"], changed["spec"]["tags"]) == (200, "Held", {"x": "y"})


async def test_a_kind_can_have_its_own_text_for_a_missing_version(http):
    _, seat, _ = await book(http)
    version = seat["metadata"].pop("resourceVersion")
    code, answer, _ = await send(http, "PUT", f"{SEATS}/a-1", seat)
    assert (code, answer["message"]) == (400, "say which version of a-1 you mean")
    seat["metadata"]["resourceVersion"] = str(int(version) - 1)
    assert (await send(http, "PUT", f"{SEATS}/a-1", seat))[0] == 409


async def test_deletions_pass_the_transaction_with_and_without_finalizers(http, office):
    await book(http)
    merge = "application/merge-patch+json"
    await send(http, "PATCH", f"{SEATS}/a-1/payment", {"spec": {"stage": "Paid"}}, merge)
    assert (await send(http, "DELETE", f"{SEATS}/a-1"))[0] == 403
    finalizer = {"metadata": {"finalizers": ["halls.example/usher"]}}
    await send(http, "PATCH", f"{SEATS}/a-1/payment", {"spec": {"stage": "Held"}}, merge)
    await send(http, "PATCH", f"{SEATS}/a-1", finalizer, merge)
    code, seat, _ = await send(http, "DELETE", f"{SEATS}/a-1")
    assert code == 200
    assert seat["metadata"]["deletionTimestamp"]
    assert office.undone == []
    await send(http, "PATCH", f"{SEATS}/a-1", {"metadata": {"finalizers": None}}, merge)
    assert office.undone == ["a-1"]
    assert (await send(http, "GET", f"{SEATS}/a-1"))[0] == 404


async def test_a_view_shows_another_kind_s_objects_in_its_own_words(http):
    _, seat, _ = await book(http)
    await book(http, number=2)
    _, ticket, _ = await send(http, "GET", f"{TICKETS}/a-1")
    assert ticket["spec"] == {"text": "one seat: a-1"}
    for member in ("uid", "resourceVersion"):
        assert ticket["metadata"][member] == seat["metadata"][member]
    items = (await send(http, "GET", TICKETS))[1]["items"]
    assert [item["kind"] for item in items] == ["Ticket", "Ticket"]
    one = (await send(http, "GET", TICKETS, fieldSelector="metadata.name=a-2"))[1]["items"]
    assert [item["spec"]["text"] for item in one] == ["one seat: a-2"]
    headers = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
    async with http.get(TICKETS, headers=headers) as answer:
        rows = (await answer.json())["rows"]
    assert [row["cells"] for row in rows] == [["a-1", "one seat: a-1"], ["a-2", "one seat: a-2"]]
    assert (await send(http, "POST", TICKETS, ticket))[0] == 405
    assert (await send(http, "GET", TICKETS, watch="1"))[0] == 405


async def test_an_update_of_a_view_changes_the_record_it_shows(http):
    _, seat, _ = await book(http)
    _, ticket, _ = await send(http, "GET", f"{TICKETS}/a-1")
    ticket["spec"]["text"] = "two seats"
    code, changed, _ = await send(http, "PUT", f"{TICKETS}/a-1", ticket)
    assert (code, changed["spec"]["text"]) == (200, "two seats")
    _, after, _ = await send(http, "GET", f"{SEATS}/a-1")
    assert after["metadata"]["resourceVersion"] == changed["metadata"]["resourceVersion"]
    assert after["status"] == {"booking": "booking 0 again"}
    code, answer, _ = await send(http, "PUT", f"{SEATS}/a-1", seat)
    assert (code, answer["reason"]) == (409, "Conflict")
    ticket["metadata"]["resourceVersion"] = changed["metadata"]["resourceVersion"]
    ticket["spec"]["text"] = ""
    assert (await send(http, "PUT", f"{TICKETS}/a-1", ticket))[0] == 403
    merge = "application/merge-patch+json"
    body = {"spec": {"text": "three"}}
    _, patched, _ = await send(http, "PATCH", f"{TICKETS}/a-1", body, merge)
    assert (await send(http, "GET", f"{TICKETS}/a-1"))[1] == patched


async def test_a_kind_may_take_larger_bodies(http):
    await book(http)
    _, ticket, _ = await send(http, "GET", f"{TICKETS}/a-1")
    ticket["spec"]["text"] = "x" * (3 * 2**20)
    assert (await send(http, "PUT", f"{TICKETS}/a-1", ticket))[0] == 200
    ticket["spec"]["text"] = "x" * (5 * 2**20)
    code, answer, _ = await send(http, "PUT", f"{TICKETS}/a-1", ticket)
    assert (code, answer["message"]) == (413, "Request entity too large: limit is 4194304")
    code, answer, _ = await send(http, "POST", SEATS, {"spec": {"hall": "x" * (4 * 2**20)}})
    assert (code, answer["message"]) == (413, "Request entity too large: limit is 3145728")


async def test_columns_show_labels_and_counts(http):
    await book(http)
    merge = "application/merge-patch+json"
    body = {"metadata": {"labels": {"halls.example/paid": "true"}}, "spec": {"tags": {"a": "b"}}}
    await book(http, number=2)
    await send(http, "PATCH", f"{SEATS}/a-2", body, merge)
    headers = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
    async with http.get(SEATS, headers=headers) as answer:
        table = await answer.json()
    assert [row["cells"] for row in table["rows"]] == [["a-1", False, 0], ["a-2", True, 1]]


@pytest.mark.parametrize(
    ("selector", "found"),
    [
        ("spec.number=n2", ["a-2"]),
        ("spec.number==2,spec.stage=Held", ["a-2"]),
        ("spec.tags[color]=red", ["a-2"]),
        ("spec.tags[color]=blue", []),
        ("spec.number!=2", 'unsupported fieldSelector operator "!=" for field "spec.number"'),
        ("spec.number=", 'fieldSelector value of field "spec.number" is empty'),
        ("spec.stage=Gone", 'unsupported fieldSelector value "Gone" for field "spec.stage"'),
        ("spec.row=2", '"spec.row" is not a known field selector'),
    ],
)
async def test_field_selectors_by_key_by_choice_and_by_equality_alone(http, selector, found):
    await book(http)
    await book(http, number=2)
    merge = "application/merge-patch+json"
    await send(http, "PATCH", f"{SEATS}/a-2", {"spec": {"tags": {"color": "red"}}}, merge)
    code, answer, _ = await send(http, "GET", SEATS, fieldSelector=selector)
    if code == 200:
        assert [item["metadata"]["name"] for item in answer["items"]] == found
    else:
        assert (code, answer["message"]) == (400, found)


async def test_locks_leave_nothing_behind_and_refuse_whom_they_must():
    locks = Locks()
    async with locks.hold("a"):
        with pytest.raises(Busy):
            async with locks.attempt("a"):
                raise AssertionError("held by somebody else")
        async with locks.attempt("b"):
            assert len(locks) == 2
    assert len(locks) == 0
