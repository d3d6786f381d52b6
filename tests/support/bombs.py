"""Request bodies that are made to take long: one of each sort, of the maximum size or a part of
it."""

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import boats

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"
QUOTAS = "/api/v1/namespaces/default/resourcequotas"
SERVICES = "/api/v1/namespaces/default/services"
REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
JSON, YAML = "application/json", "application/yaml"
Object = dict[str, Any]


class Bomb(NamedTuple):
    """One request."""

    method: str
    path: str
    body: bytes
    media: str = JSON


def definition(plural: str, spec: Object) -> Any:
    """Return a CRD of `plural` in x.io."""
    schema = {"type": "object", "properties": {"spec": spec}}
    return boats.definition(schema, plural[:-1].capitalize(), group="x.io")


def resource(plural: str, spec: Object) -> bytes:
    head = {"apiVersion": "x.io/v1", "kind": plural[:-1].capitalize(), "metadata": {"name": "a"}}
    return dumps({**head, "spec": spec})


def config_map(name: str, **more: Any) -> bytes:
    meta = {"name": name, **more.pop("metadata", {})}
    return dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, **more})


def pod(**spec: Any) -> bytes:
    meta, containers = {"name": "a"}, [{"name": "c", "image": "i"}]
    whole = {"containers": containers, **spec}
    return dumps({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": whole})


def dumps(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def setup() -> Iterator[tuple[str, bytes]]:
    """Yield objects to create before: (path, body)."""
    strings = {"type": "array", "items": {"type": "string"}}
    yield CRDS, dumps(definition("texts", {"type": "object", "properties": {"l": strings}}))
    free = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    yield CRDS, dumps(definition("frees", free))
    yield CONFIG_MAPS, config_map("small", data={"a": "b"})


def bombs(part: float = 1.0) -> dict[str, Bomb]:
    """Return all bombs by name. With `part` 1, they have the maximum size."""

    def many(count: int) -> range:
        return range(int(count * part))

    def dry(path: str) -> str:
        return f"{path}?dryRun=All"

    def keys(count: int, key: str) -> Object:
        return {key.format(n): "v" for n in many(count)}

    texts, frees = (f"/apis/x.io/v1/namespaces/default/{name}" for name in ("texts", "frees"))
    small = f"{CONFIG_MAPS}/small"

    def ored(first: int, count: int) -> str:
        """Return an expression with many different terms, because compiled expressions are
        cached."""
        return " || ".join([f"self.a > {first * 10_000 + n}" for n in many(count)])

    numbers = f"[{','.join(['self.a' for _ in many(2000)])}].all(x, x > 1)"
    number = {"type": "integer"}

    def ruled(rule: str) -> Object:
        rules = [{"rule": rule}]
        members = {"type": "object", "properties": {"a": number}}
        return {**members, "x-kubernetes-validations": rules}

    def crd(spec: Object) -> bytes:
        return dumps(definition("bombs", spec))

    spread = {"maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}
    variables = [{"name": f"e{n}", "value": "v"} for n in many(70_000)]
    owner = {"apiVersion": "v1", "kind": "a", "name": "b"}
    steps = [{"op": "add", "path": f"/data/k{n}", "value": "v"} for n in many(10_000)]
    patterns = {f"p{n}": {"type": "string", "pattern": f"^a{n}$"} for n in many(30_000)}
    rules = {f"p{n}": ruled(ored(n, 4000)) for n in range(10)}
    fitting = {f"p{n}": ruled(ored(n, 1050)) for n in range(10)}
    few = {f"p{n}": ruled(f"self.a > {n}") for n in many(15_000)}
    lists = {f"p{n}": ruled(numbers) for n in range(10)}
    return {
        "rules of 4,000 ||": Bomb("POST", dry(CRDS), crd({"type": "object", "properties": rules})),
        "rules that fit": Bomb("POST", dry(CRDS), crd({"type": "object", "properties": fitting})),
        "small rules": Bomb("POST", dry(CRDS), crd({"type": "object", "properties": few})),
        "rules over lists": Bomb("POST", dry(CRDS), crd({"type": "object", "properties": lists})),
        "properties with patterns": Bomb(
            "POST", dry(CRDS), crd({"type": "object", "properties": patterns})
        ),
        "values of a wrong type": Bomb(
            "POST", dry(texts), resource("texts", {"l": [1 for _ in many(1_400_000)]})
        ),
        "objects in objects": Bomb(
            "POST",
            dry(frees),
            resource("frees", {f"k{n}": {"a": [{}]} for n in many(90_000)}),
        ),
        "integers in YAML": Bomb(
            "POST",
            dry(CONFIG_MAPS),
            b"x: [" + b"1," * len(many(1_400_000)) + b"]\n",
            YAML,
        ),
        "values in YAML that fit": Bomb(
            "POST",
            dry(CONFIG_MAPS),
            b"x: [" + b"1," * len(many(490_000)) + b"]\n",
            YAML,
        ),
        "aliases in YAML": Bomb(
            "POST",
            dry(CONFIG_MAPS),
            b"a: &a ["
            + b"1," * len(many(1_000))
            + b"]\nx: ["
            + b"*a," * len(many(100_000))
            + b"]\n",
            YAML,
        ),
        "members in YAML": Bomb(
            "POST",
            dry(CONFIG_MAPS),
            b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\nx:\n"
            + b"".join(b"  a%d: 1\n" % n for n in many(250_000)),
            YAML,
        ),
        "unknown integers": Bomb(
            "POST", dry(CONFIG_MAPS), config_map("a", x=[1 for _ in many(1_400_000)])
        ),
        "keys of data": Bomb("POST", dry(CONFIG_MAPS), config_map("a", data=keys(180_000, "k{}"))),
        "bad keys of data": Bomb(
            "POST", dry(CONFIG_MAPS), config_map("a", data=keys(180_000, "k {}"))
        ),
        "labels": Bomb(
            "POST",
            dry(CONFIG_MAPS),
            config_map("a", metadata={"labels": keys(180_000, "k{}")}),
        ),
        "bad labels": Bomb(
            "POST", dry(CONFIG_MAPS), config_map("a", metadata={"labels": keys(180_000, "k {}")})
        ),
        "owners": Bomb(
            "POST",
            dry(CONFIG_MAPS),
            config_map(
                "a",
                metadata={"ownerReferences": [{**owner, "uid": f"u{n}"} for n in many(40_000)]},
            ),
        ),
        "controllers": Bomb(
            "POST",
            dry(CONFIG_MAPS),
            config_map(
                "a",
                metadata={
                    "ownerReferences": [
                        {**owner, "uid": f"u{n}", "controller": True} for n in many(20_000)
                    ]
                },
            ),
        ),
        "containers": Bomb(
            "POST",
            dry(PODS),
            pod(containers=[{"name": f"c{n}", "image": "i"} for n in many(60_000)]),
        ),
        "volumes": Bomb(
            "POST",
            dry(PODS),
            pod(volumes=[{"name": f"v{n}", "emptyDir": {}} for n in many(60_000)]),
        ),
        "constraints": Bomb(
            "POST",
            dry(PODS),
            pod(
                topologySpreadConstraints=[{**spread, "topologyKey": f"k{n}"} for n in many(30_000)]
            ),
        ),
        "ports of a service": Bomb(
            "POST",
            dry(SERVICES),
            dumps(
                {
                    "apiVersion": "v1",
                    "kind": "Service",
                    "metadata": {"name": "a"},
                    "spec": {"ports": [{"name": f"p{n}", "port": n + 1} for n in many(60_000)]},
                }
            ),
        ),
        "scopes times resources": Bomb(
            "POST",
            dry(QUOTAS),
            dumps(
                {
                    "apiVersion": "v1",
                    "kind": "ResourceQuota",
                    "metadata": {"name": "a"},
                    "spec": {
                        "scopes": ["BestEffort" for _ in many(100_000)],
                        "hard": {f"hugepages-{n}": "1" for n in many(60_000)},
                    },
                }
            ),
        ),
        "JSON patch": Bomb("PATCH", dry(small), dumps(steps), "application/json-patch+json"),
        "merge patch": Bomb(
            "PATCH",
            dry(small),
            dumps({"data": keys(180_000, "k{}")}),
            "application/merge-patch+json",
        ),
        "strategic patch": Bomb(
            "PATCH",
            dry(small),
            dumps({"data": keys(180_000, "k{}")}),
            "application/strategic-merge-patch+json",
        ),
        "apply": Bomb(
            "PATCH",
            f"{dry(small)}&fieldManager=m&force=true",
            config_map("small", data=keys(180_000, "k{}")),
            "application/apply-patch+yaml",
        ),
        "apply of variables": Bomb(
            "PATCH",
            f"{dry(PODS + '/a')}&fieldManager=m&force=true",
            pod(containers=[{"name": "c", "image": "i", "env": variables}]),
            "application/apply-patch+yaml",
        ),
        "options of a deletion": Bomb(
            "DELETE", dry(small), dumps({"dryRun": ["All"], "x": [1 for _ in many(1_400_000)]})
        ),
        "members of a review": Bomb(
            "POST",
            REVIEWS,
            dumps(
                {
                    "apiVersion": "authorization.k8s.io/v1",
                    "kind": "SelfSubjectAccessReview",
                    "spec": {"resourceAttributes": {}},
                    **keys(180_000, "u{}"),
                }
            ),
        ),
    }
