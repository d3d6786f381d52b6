"""The processor time for a client's lists and maps grows linearly with their length, in every kind.

Nested loops over lists of clients are found by their growth: four times the items may take at most
eight times the processor time (n log n and some noise; sixteen would be quadratic). The compared
times are measured in one run, one after the other.
"""

import gc
import io
import time
from itertools import islice
from typing import Any

import aiohttp
import orjson
import pytest
import served

from inkube.apiserver.server import APIServer
from inkube.schemas.builtin.kinddefinitions import definitions

TIMES = 4
SMALL = 1600 if served.LONG else 400
LARGE = TIMES * SMALL
GROWTH = 8.0
PARTS = 10
"""Parts of the test; as one test it would take too long on a busy machine."""
NOISE = 0.02  # seconds; what is quicker is no danger
DEPTH = 7
JSON = "application/json"
STRATEGIC, MERGE = "application/strategic-merge-patch+json", "application/merge-patch+json"
APPLY, STEPS = "application/apply-patch+yaml", "application/json-patch+json"


def lists_of(schema: dict[str, Any], path: tuple[str, ...] = ()) -> dict[tuple[str, ...], Any]:
    """Return the lists and maps in a schema by their path; `[]` and `{}` stand for one item."""
    found: dict[tuple[str, ...], Any] = {}
    if len(path) > DEPTH * 2:
        return found
    if schema.get("type") == "array" and isinstance(schema.get("items"), dict):
        found[path] = schema
        found |= lists_of(schema["items"], (*path, "[]"))
    elif isinstance(schema.get("additionalProperties"), dict):
        found[path] = schema
        found |= lists_of(schema["additionalProperties"], (*path, "{}"))
    for name, below in (schema.get("properties") or {}).items():
        if name not in path:  # recursive schemas are followed once
            found |= lists_of(below, (*path, name))
    return found


def sample(schema: dict[str, Any], number: int, depth: int = 0) -> Any:
    """Return a value that roughly fits the schema, different for each number."""
    kind = schema.get("type")
    if schema.get("x-kubernetes-int-or-string"):
        return number
    if kind == "object" or "properties" in schema:
        if depth > 0:
            return {}
        members = schema.get("properties") or {}
        return {name: sample(below, number, depth + 1) for name, below in members.items()}
    if kind == "array":
        return []
    if kind == "integer":
        return 1 + number
    if kind == "number":
        return float(number)
    if kind == "boolean":
        return True
    form = schema.get("format")
    if form in ("date-time", "micro-time"):
        return "2024-01-01T00:00:00Z"
    return "" if form == "byte" else f"n{number}"


def filled(schema: dict[str, Any], count: int, *, same: bool) -> Any:
    if schema.get("type") == "array":
        return [sample(schema["items"], 0 if same else n) for n in range(count)]
    return {f"k{n}": sample(schema["additionalProperties"], n) for n in range(count)}


def body(head: dict[str, Any], path: tuple[str, ...], value: Any) -> dict[str, Any]:
    """Return an object with this value at the path."""
    for step in reversed(path):
        value = [value] if step == "[]" else {"k": value} if step == "{}" else {step: value}
    metadata = {"name": "long", **value.pop("metadata", {})}
    return {**head, **value, "metadata": metadata}


def cases():
    """(kind, path of its resource, path of the list, schema), once for each type of item."""
    seen = set()
    for definition in definitions():
        if "create" not in definition.verbs:
            continue
        version = next(each for each in definition.versions if each.storage)
        scope = "namespaces/default/" if definition.namespaced else ""
        base = f"/apis/{definition.group}" if definition.group else "/api"
        url = f"{base}/{version.name}/{scope}{definition.names.plural}"
        api_version = f"{definition.group}/{version.name}".lstrip("/")
        head = {"apiVersion": api_version, "kind": definition.names.kind}
        for path, schema in lists_of(version.schema).items():
            if path[0] == "status":
                continue
            inner = path[0] if path[0] == "metadata" else definition.names.kind
            mark = (inner, path[1:] if inner == "metadata" else path)
            if "template" in path:
                mark = ("template", path[path.index("template") + 1 :])
            elif definition.names.kind == "Pod":
                mark = ("template", path)
            if mark not in seen:
                seen.add(mark)
                yield head, url, path, schema


@pytest.fixture
async def timed():
    async with APIServer() as server, aiohttp.ClientSession() as session:

        async def ask(url: str, sent: bytes, method: str = "POST", media: str = JSON) -> float:
            """Return seconds of processor time."""
            begun = time.process_time()
            head = {"Content-Type": media}
            data = io.BytesIO(sent)  # aiohttp warns of large bodies that are bytes
            async with session.request(method, server.url + url, data=data, headers=head) as answer:
                await answer.read()
            # the real server responds to such a Binding with 500 and the field errors as text
            codes = (200, 201, 400, 413, 422) + (500,) * ("/bindings" in url)
            assert answer.status in codes, (answer.status, await answer.text())
            return time.process_time() - begun

        gc.collect()
        gc.disable()  # a collection takes longer than the measured code
        yield ask
        gc.enable()


@pytest.mark.parametrize("part", range(PARTS))
async def test_no_list_of_any_kind_takes_more_than_its_length(timed, part):
    slow = {}
    for head, url, path, schema in islice(cases(), part, None, PARTS):
        for same in (False, True) if served.LONG else (False,):
            small, large = (
                orjson.dumps(body(head, path, filled(schema, count, same=same)))
                for count in (SMALL, LARGE)
            )
            where = f"{url}?dryRun=All"
            took = await timed(where, large)
            if took < NOISE:
                continue
            for _ in range(3):  # a single slow run may be chance
                less = max(await timed(where, small), await timed(where, small), NOISE / GROWTH)
                if took < less * GROWTH:
                    break
                took = await timed(where, large)
            else:
                slow[f"{head['kind']}:{'.'.join(path)}{' same' if same else ''}"] = (less, took)
        gc.collect(0)
    assert not slow


def ports(count, *, first=0, **more):
    return [{"port": n + 1, "name": f"p{n}", **more} for n in range(first, first + count)]


def service(items):
    spec = {"ports": items, "selector": {"a": "b"}}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "long"}, "spec": spec}


def config_map(count, **more):
    data = {f"k{n}": "v" for n in range(count)}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "long"},
        "data": data,
    } | more


def owners(count):
    one = {"apiVersion": "v1", "kind": "ConfigMap", "name": "a"}
    return {"metadata": {"ownerReferences": [{**one, "uid": f"u{n}"} for n in range(count)]}}


def steps(count, step):
    return [{**step, "path": step["path"].replace("N", str(n))} for n in range(count)]


def finalizers(count, name="finalizers"):
    return {"metadata": {name: [f"a.b/{n}" for n in range(count)]}}


def object_of(kind, spec, **more):
    version = {"CSINode": "storage.k8s.io/v1", "EndpointSlice": "discovery.k8s.io/v1",
               "CustomResourceDefinition": "apiextensions.k8s.io/v1"}.get(kind, "v1")  # fmt: skip
    head = {"apiVersion": version, "kind": kind, "metadata": {"name": "long"}, **more}
    return {**head, "spec": spec} if spec else head


def pod(**spec):
    return object_of("Pod", {"containers": [{"name": "c", "image": "i"}], **spec})


def slice_of_ports(count):
    ports = [{"name": f"p{n}", "port": 1} for n in range(count)]
    return object_of("EndpointSlice", {}, addressType="IPv4", ports=ports, endpoints=[])


def patterned(count):
    texts = {f"p{n}": {"type": "string", "pattern": f"[a-z]{{{n % 900}}}{n}"} for n in range(count)}
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": texts}}}
    return object_of("CustomResourceDefinition", {
        "group": "x.io", "scope": "Namespaced", "names": {"plural": "longs", "kind": "Long"},
        "versions": [{"name": "v1", "served": True, "storage": True,
                      "schema": {"openAPIV3Schema": schema}}],
    }, metadata={"name": "longs.x.io"})  # fmt: skip


OF_PODS, OF_QUOTAS = (f"/api/v1/namespaces/default/{each}" for each in ("pods", "resourcequotas"))
MANY, QUICK = 2500, 0.1  # and seconds; 10,000 items compared with each other take longer
CHECKED = {
    "constraints, each with a warning": (OF_PODS, lambda count: pod(topologySpreadConstraints=[
        {"maxSkew": 1, "topologyKey": f"k{n}", "whenUnsatisfiable": "DoNotSchedule"}
        for n in range(count)
    ])),
    "volumes beside claims of others": (OF_PODS, lambda count: pod(volumes=[
        {"name": f"v{n}", "persistentVolumeClaim": {"claimName": f"c{n}"}} for n in range(count)
    ])),
    "variables": (OF_PODS, lambda count: pod(containers=[
        {"name": "c", "image": "i", "env": [{"name": f"e{n}", "value": "v"} for n in range(count)]}
    ])),
    "ports of a service": (
        "/api/v1/namespaces/default/services", lambda count: service(ports(count))
    ),
    "ports of endpoints": (
        "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices", slice_of_ports
    ),
    "limits": ("/api/v1/namespaces/default/limitranges", lambda count: object_of(
        "LimitRange", {"limits": [{"type": f"a.b/c{n}"} for n in range(count)]}
    )),
    "drivers": ("/apis/storage.k8s.io/v1/csinodes", lambda count: object_of(
        "CSINode", {"drivers": [{"name": f"d{n}", "nodeID": "n"} for n in range(count)]}
    )),
    "scopes times resources": (OF_QUOTAS, lambda count: object_of("ResourceQuota", {
        "scopes": ["BestEffort"] * count, "hard": {f"hugepages-{n}": "1" for n in range(count)}
    })),
    "patterns": ("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", patterned),
}  # fmt: skip
"""Items of lists with checks of their own: (URL, body with this number of items)."""


@pytest.mark.parametrize("name", CHECKED)
async def test_a_check_of_each_item_does_not_look_at_all_others(timed, name):
    """Longer lists than above, because comparing one item with another is fast."""
    url, make = CHECKED[name]
    took = {}
    for count in (MANY, TIMES * MANY):
        sent = orjson.dumps(make(count))
        took[count] = min([await timed(f"{url}?dryRun=All", sent) for _ in range(3)])
    assert took[TIMES * MANY] < max(took[MANY] * GROWTH, QUICK)


DELETIONS = {"$patch": "delete"}
CHANGES = {
    "services": {
        "strategic": (STRATEGIC, lambda n: {"spec": {"ports": ports(n)[::-1]}}),
        "strategic, others": (STRATEGIC, lambda n: {"spec": {"ports": ports(n, first=n)}}),
        "strategic deletions": (STRATEGIC, lambda n: {"spec": {"ports": ports(n, **DELETIONS)}}),
        "strategic order": (
            STRATEGIC,
            lambda n: {"spec": {"$setElementOrder/ports": ports(n)[::-1], "ports": []}},
        ),
        "apply": (APPLY, lambda n: service(ports(n)[::-1])),
        "merge": (MERGE, lambda n: {"spec": {"ports": ports(n)[::-1]}}),
    },
    "configmaps": {
        "apply": (APPLY, lambda n: config_map(n)),
        "owners": (STRATEGIC, owners),
        "owners by merge": (MERGE, owners),
        "applied owners": (APPLY, lambda n: config_map(1) | {
            "metadata": {"name": "long", **owners(n)["metadata"]}
        }),
        "finalizers": (MERGE, finalizers),
        "strategic finalizers": (STRATEGIC, finalizers),
        "primitive deletions": (
            STRATEGIC, lambda n: finalizers(n, "$deleteFromPrimitiveList/finalizers")
        ),
        "additions": (STEPS, lambda n: steps(n, {"op": "add", "path": "/data/xN", "value": "v"})),
        "removals": (STEPS, lambda n: steps(n, {"op": "remove", "path": "/data/kN"})),
    },
}  # fmt: skip


@pytest.mark.parametrize("plural", CHANGES)
async def test_no_change_of_a_long_list_takes_more_than_its_length(timed, plural):
    base = f"/api/v1/namespaces/default/{plural}"
    stored = service if plural == "services" else config_map
    slow = {}
    for name, (media, make) in CHANGES[plural].items():
        took = {}
        for count in (SMALL, LARGE):
            old = service(ports(count)) if stored is service else config_map(count)
            await timed(base, orjson.dumps(old))
            sent = orjson.dumps(make(count))
            url = f"{base}/long?dryRun=All&fieldManager=m&force=true"
            if media != APPLY:
                url = f"{base}/long?dryRun=All"
            took[count] = min([await timed(url, sent, "PATCH", media) for _ in range(3)])
            await timed(f"{base}/long", b"", "DELETE")
        if took[LARGE] > max(took[SMALL] * GROWTH, NOISE):
            slow[name] = took
    assert not slow
