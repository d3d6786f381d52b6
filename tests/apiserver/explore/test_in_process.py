"""Kinds in Python are explored without a process: a restart at each change finds a planted bug."""

import logging

import orjson
import pytest

from inkube.apiserver.explore import InProcess, Limits, Scenario, apply, explore, patch
from inkube.apiserver.explore.states import state_of
from inkube.kinds import Controller, KindModule, Model, Reason, Resource, Status, StatusError, Watch

MAPS = "v1/configmaps"


@pytest.fixture(autouse=True)
def _no_unhandled_errors():
    """An exploration reports the errors that controllers log."""


class TentSpec(Model):
    poles: int = 2


class TentStatus(Status):
    poles: int = 0


class Tent(Resource, group="camp.example", version="v1"):
    spec: TentSpec = TentSpec()
    status: TentStatus = TentStatus()


TENT = {"apiVersion": "camp.example/v1", "kind": "Tent", "metadata": {"name": "a"}}
STEPS = [apply(TENT), patch("camp.example/v1/tents", "a", {"spec": {"poles": 3}})]


def camp(**mistakes):
    """A kind whose controller copies `poles` into a ConfigMap, then into its status."""

    def controllers(env):
        client = env.client

        async def reconcile(key):
            tent = await found(Tent.gvr, key)
            if tent is None:
                return
            poles = tent["spec"]["poles"]
            body = {"data": {"poles": str(poles)}}
            present = await found(MAPS, key)
            is_told = tent.get("status", {}).get("poles") == poles
            if is_told and ("early" in mistakes or (present or {}).get("data") == body["data"]):
                return
            if "early" in mistakes:
                await tell(tent, poles)
            if present is None or "raises" in mistakes:
                head = {"apiVersion": "v1", "kind": "ConfigMap"}
                try:
                    await client.create({**head, "metadata": {"name": key.name}, **body})
                except StatusError as error:
                    if error.reason == Reason.ALREADY_EXISTS:
                        raise KeyError("exists") from error
                    raise
            else:
                await client.patch(MAPS, key.name, patch=body)
            if not is_told:
                await tell(tent, poles)

        async def found(resource, key):
            try:
                return await client.get(resource, key.name, key.namespace)
            except StatusError as error:
                if error.code == 404:
                    return None
                raise

        async def tell(tent, poles):
            meta = tent["metadata"]
            status = {"status": {"poles": poles}}
            await client.patch(Tent.gvr, meta["name"], meta["namespace"], patch=status,
                               subresource="status")  # fmt: skip

        return [Controller("camp", reconcile, (Watch(Tent.gvr), Watch(MAPS)))]

    return InProcess({"kinds": [KindModule(Tent, extra_controllers=controllers)]})


@pytest.mark.parametrize(
    ("mistake", "plan", "verdict"),
    [
        ("early", "restart after update of Tent default/a #1", "different"),
        ("raises", "restart after create of ConfigMap default/a #1", "raised"),
    ],
)
def test_a_restart_shows_a_planted_bug(mistake, plan, verdict):
    steps = STEPS[:1] if mistake == "raises" else STEPS
    found = explore(Scenario(camp(**{mistake: True}), steps), Limits(300, only=[plan]))
    assert [(each.plan.name, each.verdict, each.is_certain) for each in found.findings] == [
        (plan, verdict, True)
    ], found


def test_errors_are_seen_while_a_server_writes_the_log_of_inkube(monkeypatch):
    monkeypatch.setattr(logging.getLogger("inkube"), "propagate", False)
    plan = "restart after create of ConfigMap default/a #1"
    found = explore(Scenario(camp(raises=True), STEPS[:1]), Limits(300, only=[plan]))
    assert [each.verdict for each in found.findings] == ["raised"]


def test_nothing_is_found_in_a_kind_that_compares():
    found = explore(Scenario(camp(), STEPS), Limits(300))
    assert [finding.text for finding in found.findings] == []
    assert found.failed == []
    assert len(found.passed) > 10


def test_only_the_first_plans_run_if_their_number_is_limited():
    found = explore(Scenario(camp(), STEPS[:1]), Limits(300, most=3))
    assert len(found.passed) + len(found.not_struck) == found.plans == 3


def pod(name, **more):
    meta = {"name": f"web-{name}", "generateName": "web-", "namespace": "default", "uid": name}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, **more}


def state(*objects, ignored=frozenset()):
    return state_of(map(orjson.dumps, objects), ignored)


def test_generated_names_uids_and_times_are_the_same_in_each_state():
    one = pod("x", status={"startTime": "2026-01-01T00:00:00Z", "podIP": "10.0.0.1"})
    other = pod("y", status={"startTime": "2026-02-01T00:00:00Z", "podIP": "10.0.0.2"})
    assert state(one).differences(state(other)) == []


def test_conditions_are_compared_by_type():
    ready, bound = {"type": "Ready", "status": "True"}, {"type": "Bound", "status": "True"}
    one, other = (
        pod("x", status={"conditions": each}) for each in ([ready, bound], [bound, ready])
    )
    assert state(one).differences(state(other)) == []
    unbound = pod("x", status={"conditions": [ready, {**bound, "status": "False"}]})
    assert [str(each) for each in state(one).differences(state(unbound))] == [
        'Pod default/web-* .status.conditions[Bound].status: "False", expected "True"'
    ]


def test_an_ignored_member_and_an_ignored_kind_belong_to_no_state():
    one, other = pod("x", spec={"a": 1, "b": 2}), pod("x", spec={"a": 1, "b": 3})
    assert (
        state(one, ignored={"Pod .spec.b"}).differences(state(other, ignored={"Pod .spec.b"})) == []
    )
    assert state(one, ignored={"Pod"}).leaves == {}
