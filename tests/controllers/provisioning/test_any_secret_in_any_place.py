"""Whatever lies under `secure`, and whatever the request: a value is in no error, warning, log,
event, metric, watch, line of the audit log or of the console's stream of requests."""

import asyncio
import itertools
import json
import logging

import aiohttp
import pytest
import yaml
from patience import within

from inkube import APIServer

GROUP = "provisioning.grafana.app/v0alpha1"
REPOSITORIES = f"/apis/{GROUP}/namespaces/default/repositories"
CONNECTIONS = f"/apis/{GROUP}/namespaces/default/connections"
SECRET = "hunter2-Swordfish"
NUMBER = 732_199_468_211
JSON, APPLY = "application/json", "application/apply-patch+yaml"
MERGE, STEPS = "application/merge-patch+json", "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "rules": [{"level": "RequestResponse"}],
}
VALUES = [
    SECRET, NUMBER, float(NUMBER), [SECRET], [[SECRET]], {"create": SECRET}, {"create": [SECRET]},
    {"create": NUMBER}, {"create": {"create": SECRET}}, {"create": SECRET, "remove": True},
    {"create": SECRET, "name": 5}, {"remove": SECRET}, {"name": [SECRET]}, {"value": SECRET},
    {"create": SECRET, "value": SECRET},
]  # fmt: skip
SECURES = [
    *({"token": value} for value in VALUES),
    *({"nobody": value} for value in VALUES[:6]),
    SECRET, [SECRET], NUMBER, [{"token": SECRET}],
]  # fmt: skip
QUERIES = ["", "dryRun=All", "fieldValidation=Strict", "fieldValidation=Ignore"]


def repository(name, secure, **spec):
    return {
        "apiVersion": GROUP,
        "kind": "Repository",
        "metadata": {"name": name},
        "spec": {
            "title": "A",
            "type": "git",
            "git": {"url": "https://git.example/o/r"},
            **spec,
        },
        "secure": secure,
    }


def annotated(obj):
    """Return the object as `kubectl apply` sends it."""
    return {**obj, "metadata": {**obj["metadata"], "annotations": {LAST_APPLIED: json.dumps(obj)}}}


def requests(secure):
    """Yield every way to send what lies under `secure`, with and without other errors."""
    a = f"{REPOSITORIES}/a"
    for spec in ({}, {"unknown": 1}, {"title": 1}):
        obj = repository("b", secure, **spec)
        yield "POST", REPOSITORIES, JSON, json.dumps(obj)
        yield "POST", REPOSITORIES, JSON, json.dumps(annotated(obj))
        yield "POST", REPOSITORIES, "application/yaml", yaml.safe_dump(obj)
        yield "POST", CONNECTIONS, JSON, json.dumps({**obj, "kind": "Connection"})
        obj = repository("a", secure, **spec)
        yield "PUT", a, JSON, json.dumps(obj)
        yield "PUT", f"{a}/status", JSON, json.dumps(obj)
        for media in (MERGE, STRATEGIC):
            patch = {"secure": secure, "spec": spec, "metadata": annotated(obj)["metadata"]}
            yield "PATCH", a, media, json.dumps(patch)
        yield "PATCH", f"{a}?fieldManager=me&force=true", APPLY, json.dumps(obj)
        yield "PATCH", f"{a}?fieldManager=you", APPLY, yaml.safe_dump(annotated(obj))
        for where, value in steps(secure, obj):
            for op in ("add", "replace", "test"):
                found = [{"op": op, "path": where, "value": value}]
                wrong = [{"op": "add", "path": "/spec/unknown", "value": 1, "other": 2}]
                yield "PATCH", a, STEPS, json.dumps(found if not spec else found + wrong)


def steps(secure, obj):
    yield "/secure", secure
    yield "", obj
    yield "/metadata", annotated(obj)["metadata"]
    yield "/metadata/annotations", {LAST_APPLIED: json.dumps(obj)}
    yield f"/metadata/annotations/{LAST_APPLIED.replace('/', '~1')}", json.dumps(obj)
    if isinstance(secure, dict):
        for member, value in secure.items():
            yield f"/secure/{member}", value
            if isinstance(value, dict):
                for name, leaf in value.items():
                    yield f"/secure/{member}/{name}", leaf
                    yield f"/secure/{member}/{name}/0", leaf


LAST = "the-last-one"
LOOKS = [
    REPOSITORIES, CONNECTIONS, "/api/v1/events", "/apis/events.k8s.io/v1/events", "/metrics",
    "/api/v1/secrets",
]  # fmt: skip


async def read(session, path, end):
    """Read a stream up to a text."""
    found = b""
    async with session.get(path, timeout=aiohttp.ClientTimeout(total=None)) as response:
        assert response.status == 200
        async for piece in response.content.iter_any():
            found += piece
            if end in found[-len(piece) - len(end) :]:
                return found.decode()
    raise AssertionError(f"{path} ended early")


@pytest.fixture
async def told(tmp_path, caplog):
    """All texts of a server to which values were sent in every way, by where they were."""
    caplog.set_level(logging.DEBUG)
    policy, audit = tmp_path / "policy.yaml", tmp_path / "audit.log"
    policy.write_text(yaml.safe_dump(POLICY))
    texts: dict[object, str] = {}
    async with (
        APIServer(
            offline=True, retry_seconds=0.0, audit_log=audit, audit_policy_file=policy,
            data=tmp_path / "inkube.db", durable=False,
        ) as server,
        aiohttp.ClientSession(server.url) as session,
    ):  # fmt: skip

        async def ask(method, path, **options):
            async with session.request(method, path, **options) as response:
                text = await response.text()
                assert response.status < 500 or APPLY in str(options), text  # as upstream
                texts[method, path, str(options)] = f"{response.headers} {text}"

        streams = {"requests": "/debug/requests", "changes": f"{REPOSITORIES}?watch=1"}
        readers = [
            asyncio.create_task(read(session, path, LAST.encode())) for path in streams.values()
        ]
        await ask("GET", REPOSITORIES)  # from now on, both streams are read
        first = repository("a", {"token": {"create": SECRET}, "webhookSecret": {"create": SECRET}})
        await ask("POST", REPOSITORIES, json=first)
        queries = itertools.cycle(QUERIES)
        for secure in SECURES:
            for method, path, media, data in requests(secure):
                query = next(queries)
                path += f"{'&' if '?' in path else '?'}{query}" if query else ""
                await ask(method, path, data=data, headers={"Content-Type": media})
        await server.settled()
        for path in LOOKS:
            await ask("GET", path)
        await ask("POST", REPOSITORIES, json=repository(LAST, {"token": {"create": SECRET}}))
        async with within():
            texts |= dict(zip(streams, await asyncio.gather(*readers), strict=True))
        texts["stored"] = str(await server.client.get(f"{GROUP}/repositories", "a", "default"))
    texts["audit"] = audit.read_text()
    texts["logs"] = "\n".join(repr(record.__dict__) for record in caplog.records)
    for file in tmp_path.rglob("inkube.db*"):
        texts[str(file)] = file.read_bytes().decode("latin-1")
    return texts


async def test_a_secret_value_is_in_no_response_and_no_log(told):
    secrets = (SECRET, str(NUMBER), "7.32199468211e+11", "732199468211")
    found = {
        where: text[max(0, text.find(secret) - 300) : text.find(secret) + 100]
        for where, text in told.items()
        for secret in secrets
        if secret in text
    }
    for where in ("audit", "requests"):
        assert len(told[where].splitlines()) > 1000, where
    assert len(told["changes"].splitlines()) > 10
    assert not found, list(found.items())[:5]
