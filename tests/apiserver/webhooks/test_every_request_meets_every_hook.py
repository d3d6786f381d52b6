"""The law of hooks: every request that discovery lists meets every webhook and every policy, with
the operation, the kind and the names of kube-apiserver.

The requests come from discovery, so that a new resource or verb cannot be forgotten. Follows
test/integration/apiserver/admissionwebhook/admission_test.go.
"""

import asyncio
import copy
import json
from typing import Any, NamedTuple

import pytest_asyncio
import samples
from aiohttp import ClientSession, web
from endpoints import BUNDLE, serving
from patience import within

from inkube import APIServer
from inkube.apiserver.registry.lifetimes import Lifetime

HOOKS = "admissionregistration.k8s.io"
GROUP = f"/apis/{HOOKS}/v1"
OPERATIONS = {
    "create": "CREATE",
    "update": "UPDATE",
    "patch": "UPDATE",
    "delete": "DELETE",
    "deletecollection": "DELETE",
}
METHODS = {"create": "POST", "update": "PUT", "patch": "PATCH", "get": "GET"}
REVIEWS = ("authentication.k8s.io", "authorization.k8s.io")
UNSEEN = {
    "mutating": lambda group, resource: group == HOOKS,
    "validating": lambda group, resource: group == HOOKS,
    "policy": lambda group, resource: (
        group in REVIEWS or (group == HOOKS and "admissionpolic" in resource)
    ),
}
"""The only resources that hooks do not see, so that nobody locks themselves out
(IsExemptAdmissionConfigurationResource, isPolicyResource, pkg/kubeapiserver/admission/exclusion).
"""
TARGET = {"kind": "Node", "name": "n"}
ATTRIBUTES = {"resourceAttributes": {"verb": "get", "resource": "pods", "namespace": "default"}}
POSTED: dict[str, dict[str, Any]] = {
    "Binding": {"target": TARGET},
    "Eviction": {},
    "TokenRequest": {"spec": {"audiences": ["a"]}},
    "TokenReview": {"spec": {"token": "t"}},
    "SelfSubjectReview": {},
    "SelfSubjectAccessReview": {"spec": ATTRIBUTES},
    "SelfSubjectRulesReview": {"spec": {"namespace": "default"}},
    "SubjectAccessReview": {"spec": {**ATTRIBUTES, "user": "u"}},
    "LocalSubjectAccessReview": {"spec": {**ATTRIBUTES, "user": "u"}},
}
"""Bodies of objects that are not stored."""
TOLD = """
request.operation + '|' + request.kind.group + '|' + request.kind.kind
+ '|' + request.resource.group + '|' + request.resource.resource
+ '|' + (has(request.subResource) ? request.subResource : '')
+ '|' + (has(request.name) ? request.name : '')
+ '|' + (has(request.namespace) ? request.namespace : '')
+ '|' + (object == null ? '' : string(object.kind))
+ '|' + (oldObject == null ? '' : string(oldObject.kind))
"""
"""A policy's message: the members of `Seen`."""


class Seen(NamedTuple):
    """What a hook sees of a request."""

    operation: str
    kind: str
    resource: str
    subresource: str
    name: str
    namespace: str
    object: str
    old: str

    @classmethod
    def of_review(cls, asked):
        return cls(
            asked["operation"],
            f"{asked['kind']['group']}/{asked['kind']['kind']}",
            f"{asked['resource']['group']}/{asked['resource']['resource']}",
            asked.get("subResource", ""),
            asked.get("name", ""),
            asked.get("namespace", ""),
            (asked["object"] or {}).get("kind", ""),
            (asked["oldObject"] or {}).get("kind", ""),
        )

    @classmethod
    def of_message(cls, text):
        operation, group, kind, resource_group, resource, *others = text.split("|")
        return cls(operation, f"{group}/{kind}", f"{resource_group}/{resource}", *others)


class Asked(NamedTuple):
    """A request of the matrix, and what hooks should see of it."""

    verb: str
    version: str
    resource: dict
    path: str
    body: dict | None
    expected: Seen


class Server:
    """A server whose webhooks and policy observe every request."""

    def __init__(self, http, heard, settled):
        self._http = http
        self._heard = heard
        self.settled = settled

    async def ask(self, method, path, body=None):
        headers = {"Content-Type": "application/json"}
        if method == "PATCH":
            headers["Content-Type"] = "application/merge-patch+json"
        data = None if body is None else json.dumps(body)
        async with self._http.request(method, path, data=data, headers=headers) as answer:
            text = await answer.text()
            warnings = [each.split('"')[1] for each in answer.headers.getall("Warning", ())]
            return answer.status, text, warnings

    async def observed(self, asked):
        """Return what each hook saw of a request."""
        self._heard.clear()
        method = METHODS.get(asked.verb, "DELETE")
        code, text, warnings = await self.ask(method, asked.path, asked.body)
        fails = asked.expected.operation == "CONNECT"  # there is no kubelet
        assert fails or code < 300, f"{asked.verb} {asked.path}: {code} {text}"
        policies = [each.rpartition("denied: ")[2].rpartition(": ")[2] for each in warnings]
        return {
            "mutating": [seen for kind, seen in self._heard if kind == "/mutating"],
            "validating": [seen for kind, seen in self._heard if kind == "/validating"],
            "policy": [Seen.of_message(each) for each in policies if each.count("|") == 9],
        }

    async def resources(self):
        """Yield every version and resource of discovery, resources before subresources."""
        found = json.loads((await self.ask("GET", "/apis"))[1])["groups"]
        versions = [version["groupVersion"] for group in found for version in group["versions"]]
        for version in ["v1", *versions]:
            place = f"/api/{version}" if version == "v1" else f"/apis/{version}"
            listed = json.loads((await self.ask("GET", place))[1])["resources"]
            for resource in sorted(listed, key=lambda each: (kind_is_posted(each), each["name"])):
                yield version, place, resource


def hook(kind, url):
    rule = {"apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"], "operations": ["*"]}
    return {
        "kind": f"{kind}WebhookConfiguration",
        "apiVersion": f"{HOOKS}/v1",
        "metadata": {"name": kind.lower()},
        "webhooks": [
            {
                "name": "ear.example.com",
                "clientConfig": {"url": f"{url}/{kind.lower()}", "caBundle": BUNDLE},
                "rules": [rule],
                "matchPolicy": "Exact",
                "sideEffects": "None",
                "admissionReviewVersions": ["v1"],
            }
        ],
    }


def policy(expression=TOLD, **constraints):
    rule = {"apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"], "operations": ["*"]}
    return {
        "metadata": {"name": "ear"},
        "spec": {
            "matchConstraints": {"resourceRules": [rule], "matchPolicy": "Exact", **constraints},
            "validations": [{"expression": "false", "messageExpression": expression}],
        },
    }


def binding(*actions):
    return {
        "metadata": {"name": "ear"},
        "spec": {"policyName": "ear", "validationActions": actions},
    }


@pytest_asyncio.fixture
async def server():
    heard = []

    async def answer(request):
        asked = (await request.json())["request"]
        if asked["userInfo"]["username"] == "system:admin":  # not a controller
            heard.append((request.path, Seen.of_review(asked)))
        response = {"uid": asked["uid"], "allowed": True}
        document = {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1"}
        return web.json_response({**document, "response": response})

    async with (
        within(),
        serving(answer) as url,
        APIServer(
            controllers=False, modules="none", disable_admission_plugins=["LimitRanger"]
        ) as started,
        ClientSession(started.url) as http,
    ):
        made = Server(http, heard, started.settled)
        for plural, body in (("policies", policy()), ("policybindings", binding("Warn"))):
            code, text, _ = await made.ask("POST", f"{GROUP}/validatingadmission{plural}", body)
            assert code == 201, text
        for kind in ("Mutating", "Validating"):
            place = f"{GROUP}/{kind.lower()}webhookconfigurations"
            assert (await made.ask("POST", place, hook(kind, url)))[0] == 201
        yield made


def kind_of(version, resource):
    group = resource.get("group", version.rpartition("/")[0])
    return f"{group}/{resource['kind']}"


def is_connect(resource):
    return "/" in resource["name"] and resource["kind"].endswith("Options")


async def requests(server, version, place, resource):
    """Yield the requests for a resource, each with the expectation."""
    plural, _, subresource = resource["name"].partition("/")
    namespaced = resource["namespaced"]
    folder = f"{place}/namespaces/default/{plural}" if namespaced else f"{place}/{plural}"
    parent_kind = await parent(server, place, plural)
    name = sample_name(version, parent_kind)
    place_of = f"{folder}/{name}/{subresource}".rstrip("/")
    namespace = "default" if namespaced else ""
    if (version, plural) == ("v1", "namespaces"):
        namespace = name
    is_stored = "get" in resource["verbs"] or bool(subresource)
    for verb in order(resource["verbs"]):
        operation = "CONNECT" if is_connect(resource) else OPERATIONS.get(verb)
        if operation is None:
            continue
        shown = "" if operation == "DELETE" else resource["kind"]
        old = resource["kind"] if operation in ("UPDATE", "DELETE") else ""
        expected = Seen(
            operation,
            kind_of(version, resource),
            f"{version.rpartition('/')[0]}/{plural}",
            subresource,
            "" if verb == "deletecollection" or not (is_stored or plural == "bindings") else name,
            namespace,
            shown,
            old,
        )
        path, body = place_of, None
        if operation == "CONNECT":  # hooks are called before anything is looked up
            expected = expected._replace(name="none")
            path = f"{folder}/none/{subresource}?command=a&stdout=true"
        elif verb in ("delete", "deletecollection"):
            path = f"{place_of if verb == 'delete' else folder}?dryRun=All&labelSelector=app%3Da"
        elif verb == "create":
            path = place_of if subresource else folder
            path += "?dryRun=All" if resource["kind"] in POSTED else ""
            body = sample(version, resource, name)
        elif verb == "update":
            source = place_of if "get" in resource["verbs"] else place_of.rpartition("/")[0]
            await server.settled()  # the controller of definitions writes to their status
            body = json.loads((await server.ask("GET", source))[1])
        else:
            body = {"metadata": {"labels": {"seen": verb}}} if not subresource else {}
        yield Asked(verb, version, resource, path, body, expected)


def order(verbs):
    """Return the verbs in the order of their names: creates come first."""
    return sorted(verbs)


def kind_is_posted(resource):
    """Return whether the resource needs objects of others, as Bindings need Pods."""
    return "get" not in resource["verbs"] and "/" not in resource["name"]


async def parent(server, place, plural):
    listed = json.loads((await server.ask("GET", place))[1])["resources"]
    return next(each["kind"] for each in listed if each["name"] == plural)


def sample_name(version, kind):
    """Return another name for each version, because versions can share objects."""
    name = "sample-" + version.replace("/", "-").lower()
    known = f"{version}/{kind}" in samples.OBJECTS
    return samples.make(version, kind, name)["metadata"]["name"] if known else name


def sample(version, resource, name):
    kind = resource["kind"]
    own = kind_of(version, resource).rpartition("/")[0]
    api_version = version
    if resource.get("version"):
        api_version = f"{own}/{resource['version']}".lstrip("/")
    if kind in POSTED:
        body = {"kind": kind, "apiVersion": api_version, **copy.deepcopy(POSTED[kind])}
        if kind in ("Binding", "Eviction"):
            body["metadata"] = {"name": name}
        if kind == "LocalSubjectAccessReview":
            body["metadata"] = {"namespace": "default"}
        return body
    return samples.make(api_version, kind, name)


async def test_every_request_of_discovery_meets_every_hook(server):
    differences, count = [], 0
    async for version, place, resource in server.resources():
        group = version.rpartition("/")[0]
        async for asked in requests(server, version, place, resource):
            count += 1
            observed = await server.observed(asked)
            for name, seen in observed.items():
                unseen = UNSEEN[name](group, resource["name"])
                expected = [] if unseen else [asked.expected]
                if asked.verb == "deletecollection":  # one call for each object
                    seen = list(dict.fromkeys(seen))
                if seen != expected:
                    label = f"{name}: {asked.verb} {asked.path}"
                    differences.append(f"{label}\n    {seen}\n    {expected}")
    assert not differences, "\n".join([f"{len(differences)} differ", *differences])
    assert count > 390


EXEC = "/api/v1/namespaces/default/pods/sample/exec?command=sh&command=-c&stdout=true&container=a"


async def test_a_policy_that_denies_exec_stops_it(server):
    await server.ask("POST", "/api/v1/namespaces/default/pods", samples.make("v1", "Pod"))
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CONNECT"]}
    denied = policy(
        "'no ' + object.command.join(' ') + ' in ' + object.container",
        resourceRules=[{**rule, "resources": ["pods/exec"]}],
    )
    denied["metadata"]["name"] = "denied"
    bound = binding("Deny")
    bound["metadata"]["name"] = bound["spec"]["policyName"] = "denied"
    for plural, body in (("policies", denied), ("policybindings", bound)):
        assert (await server.ask("POST", f"{GROUP}/validatingadmission{plural}", body))[0] == 201
    code, text, _ = await server.ask("POST", EXEC)
    assert code == 422
    assert json.loads(text)["message"].endswith("denied request: no sh -c in a")
    code, text, _ = await server.ask("POST", EXEC.replace("/exec?", "/attach?"))
    assert "denied request" not in text


async def test_events_of_both_groups_are_equivalent_for_hooks(server):
    rule = {"apiGroups": ["events.k8s.io"], "apiVersions": ["v1"], "resources": ["events"]}
    denied = policy("string(object.note)", resourceRules=[{**rule, "operations": ["CREATE"]}])
    denied["metadata"]["name"] = "denied"
    denied["spec"]["matchConstraints"]["matchPolicy"] = "Equivalent"
    bound = binding("Deny")
    bound["metadata"]["name"] = bound["spec"]["policyName"] = "denied"
    for plural, body in (("policies", denied), ("policybindings", bound)):
        assert (await server.ask("POST", f"{GROUP}/validatingadmission{plural}", body))[0] == 201
    place = "/api/v1/namespaces/default/events"
    code, text, _ = await server.ask("POST", place, samples.make("v1", "Event"))
    assert code == 422
    assert json.loads(text)["message"].endswith("denied request: m")


def mutation(plural, operation, expression):
    rule = {"apiGroups": ["*"], "apiVersions": ["*"], "resources": [plural]}
    return {
        "metadata": {"name": plural.replace("/", "-")},
        "spec": {
            "matchConstraints": {"resourceRules": [{**rule, "operations": [operation]}]},
            "reinvocationPolicy": "Never",
            "mutations": [
                {
                    "patchType": "ApplyConfiguration",
                    "applyConfiguration": {"expression": expression},
                }
            ],
        },
    }


async def test_mutating_policies_change_what_a_subresource_takes(server):
    changes = (
        mutation("deployments/scale", "UPDATE", "Object{spec: Object.spec{replicas: 3}}"),
        mutation("pods/exec", "CONNECT", "Object{container: 'b'}"),
    )
    for change in changes:
        name = change["metadata"]["name"]
        bound = {"metadata": {"name": name}, "spec": {"policyName": name}}
        for plural, body in (("policies", change), ("policybindings", bound)):
            code, text, _ = await server.ask("POST", f"{GROUP}/mutatingadmission{plural}", body)
            assert code == 201, text
    place = "/apis/apps/v1/namespaces/default/deployments"
    await server.ask("POST", place, samples.make("apps/v1", "Deployment"))
    scale = {"spec": {"replicas": 1}}
    code, text, _ = await server.ask("PATCH", f"{place}/sample/scale", scale)
    assert (code, json.loads(text)["spec"]) == (200, {"replicas": 3})
    await server.ask("POST", "/api/v1/namespaces/default/pods", samples.make("v1", "Pod"))
    code, text, _ = await server.ask("POST", EXEC)
    assert (code, json.loads(text)["message"]) == (400, "container b is not valid for pod sample")


async def test_selectors_of_objects_see_no_labels_of_a_scale(server):
    every = {"apiGroups": ["apps"], "apiVersions": ["*"], "operations": ["UPDATE"]}
    rules, labeled = [{**every, "resources": ["*/*"]}], {"matchLabels": {"q": "r"}}
    denied = policy("'denied'", resourceRules=rules, objectSelector=labeled)
    denied["metadata"]["name"] = "denied"
    bound = binding("Deny")
    bound["metadata"]["name"] = bound["spec"]["policyName"] = "denied"
    hook = {
        "name": "hook.example.com", "rules": rules, "objectSelector": labeled,
        "clientConfig": {"url": "https://127.0.0.1:1/"},
        "admissionReviewVersions": ["v1"], "sideEffects": "None",
    }  # fmt: skip
    hooks = {"metadata": {"name": "hooks"}, "webhooks": [hook]}
    place = "/apis/apps/v1/namespaces/default/deployments"
    labels = {"metadata": {"labels": {"q": "r"}}}
    await server.ask("POST", place, samples.make("apps/v1", "Deployment"))
    assert (await server.ask("PATCH", f"{place}/sample", labels))[0] == 200
    for plural, body, code in (
        ("validatingadmissionpolicies", denied, 422),
        ("validatingadmissionpolicybindings", bound, 422),
        ("mutatingwebhookconfigurations", hooks, 500),
    ):
        assert (await server.ask("POST", f"{GROUP}/{plural}", body))[0] == 201
        if plural.endswith("policies"):
            continue
        assert (await server.ask("PATCH", f"{place}/sample", {"metadata": {}}))[0] == code
        scale = {"spec": {"replicas": 1}}
        assert (await server.ask("PATCH", f"{place}/sample/scale", scale))[0] == 200


async def test_the_time_limit_of_a_webhook_is_what_is_left_of_the_request():
    limit = asyncio.timeout(60)
    async with limit:
        lifetime = Lifetime(limit)
        assert 10 < lifetime.remaining <= 60
        lifetime.shorten(5)
        assert 0 < lifetime.remaining <= 5
        await asyncio.sleep(0)
        lifetime.shorten(0)
        assert lifetime.remaining == 0
        limit.reschedule(None)
