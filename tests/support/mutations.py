"""Requests that are nearly valid: unusual values, keys, bytes, queries and headers."""

import copy
import json
import re
import struct
from typing import Any

import yaml

from inkube.schemas.builtin.protobuf import envelopes

PROTOBUF = "application/vnd.kubernetes.protobuf"
NASTY = [
    None, True, False, 0, -1, 1, 2**31, 2**53 + 1, 2**63, -(2**63) - 1, 2**64, 10**400, 1.5, -0.0,
    1e308, 5e-324, "", " ", "a", "A", "\x00", "\ud800", "é\u0301", "😀" * 40, "x" * 300, "../..",
    "a/b", "1", "0", "-1", "1e1000", "9" * 5000, "true", "null", "Strict", "All", ".", "..", "*",
    "metadata", "2024-01-01T00:00:00Z", "9999-99-99T99:99:99Z", "0001-01-01T00:00:00Z", "(", "[",
    "a" * 5000, "self", "self.a.all(x, x > 0)", "{}", "100Mi", "1e", "$ref", "%", "~1~0",
    [], {}, [None], [[]], [{}], {"": ""}, {"a": None}, {"metadata": []}, [1, "a", None, {}],
    {"name": {}}, {"$patch": "delete"}, {"$retainKeys": 1}, {"$setElementOrder/a": [1]},
    {"$deleteFromPrimitiveList/a": "x"}, {"type": "object", "properties": 1}, {"rule": "self"},
]  # fmt: skip
DEEPEST = 400  # levels of a value, which its copies go down: Python lets nobody go much deeper
KEYS = [
    "metadata", "name", "namespace", "generateName", "resourceVersion", "uid", "labels", "spec",
    "annotations", "finalizers", "ownerReferences", "managedFields", "creationTimestamp", "status",
    "deletionTimestamp", "deletionGracePeriodSeconds", "generation", "apiVersion", "kind", "data",
    "binaryData", "immutable", "", "a", "$patch", "op", "path", "value", "from", "items", "type",
    "properties", "additionalProperties", "x-kubernetes-validations", "default", "enum", "pattern",
    "format", "maxItems", "nullable", "allOf", "not", "x-kubernetes-list-type", "multipleOf",
    "x-kubernetes-list-map-keys", "x-kubernetes-embedded-resource", "additionalPrinterColumns",
    "selectableFields", "jsonPath", "rule", "messageExpression", "fieldPath", "conversion",
    "preconditions", "propagationPolicy", "dryRun", "orphanDependents", "replicas", "selector",
]  # fmt: skip


def below(value, path=()):
    """Yield the path of every value inside a value."""
    yield path
    if isinstance(value, (dict, list)):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from below(item, (*path, key))


def mutate(rng, value):
    """Make one random change somewhere in the value."""
    paths = list(below(value))
    path = rng.choice(paths)
    if not path:
        return copy.deepcopy(rng.choice(NASTY)) if rng.random() < 0.3 else value
    parent = value
    for key in path[:-1]:
        parent = parent[key]
    last, action = path[-1], rng.randrange(8)
    if action < 3:
        parent[last] = copy.deepcopy(rng.choice(NASTY))
    elif action == 3:
        del parent[last]
    elif action == 4 and isinstance(parent, dict):
        parent[rng.choice(KEYS)] = parent.pop(last)
    elif action == 5 and isinstance(parent, dict):
        parent[rng.choice(KEYS)] = copy.deepcopy(rng.choice(NASTY))
    elif action == 6:
        parent[last] = nest(rng, parent[last], DEEPEST - max(map(len, paths)))
    elif isinstance(parent, list):
        parent.append(copy.deepcopy(parent[last]))
    else:
        parent[last] = [parent[last]]
    return value


def nest(rng, value, levels):
    for _ in range(min(rng.choice([1, 2, 30, 239, 260]), levels)):
        value = [value] if rng.random() < 0.5 else {"a": value}
    return value


def encode(rng, value):
    """Encode a value as JSON or YAML, sometimes with broken bytes."""
    try:
        text = json.dumps(value, ensure_ascii=rng.random() < 0.7)
        if rng.random() < 0.2:
            text = yaml.safe_dump(value)
    except (RecursionError, yaml.YAMLError):
        text = "{}"
    data = bytearray(text.encode("utf-8", "surrogatepass"))
    if rng.random() < 0.15 and data:
        for _ in range(rng.randrange(1, 4)):
            place = rng.randrange(len(data) + 1)  # the first round may have removed everything
            data[place : place + rng.randrange(3)] = rng.choice(
                [b"", b"\x00", b"\xff", b'"', b"}", b"[", b"&a ", b"*a", b"!!binary ", b"NaN",
                 b"1e999", b"\\ud800", b"\n---\n", b"<<: ", b"? ", b"| "]
            )  # fmt: skip
    return bytes(data)


MEDIA = [
    "application/json", "application/yaml", "application/merge-patch+json",
    "application/json-patch+json", "application/apply-patch+yaml",
    "application/strategic-merge-patch+json", "application/vnd.kubernetes.protobuf", "text/plain",
]  # fmt: skip
QUERIES = [
    "", "", "", "dryRun=All", "dryRun=All&fieldValidation=Strict", "fieldValidation=Ignore",
    "fieldManager=a", "fieldManager=a&force=true", "fieldManager=%00", "dryRun=x",
    "propagationPolicy=Foreground", "gracePeriodSeconds=-1", "gracePeriodSeconds=" + "9" * 30,
    "resourceVersion=" + "9" * 5000, "limit=1", "limit=-1", "continue=e30", "continue=%ff",
    "labelSelector=a+in+(", "fieldSelector=metadata.name%3D", "fieldSelector=%3D%3D",
    "resourceVersion=1&resourceVersionMatch=Exact", "watch=1&timeoutSeconds=-1&resourceVersion=x",
    "continue=eyJydiI6OTk5OTk5OTk5OTk5OTk5OTk5OTk5LCJzdGFydCI6ImEifQ", "pretty=1", "watch=0",
    "sendInitialEvents=1&watch=1&timeoutSeconds=0&resourceVersionMatch=NotOlderThan&limit=x",
]  # fmt: skip
ACCEPT = ["*/*", "application/json", "application/yaml", "text/html", ";;;q=,", PROTOBUF,
          "application/json;as=Table;g=meta.k8s.io;v=v1",
          "application/yaml;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"]  # fmt: skip


def packed(rng, body):
    """Encode the body as protobuf, with some bytes changed. A body without a message becomes
    nonsense."""
    try:
        data = bytearray(envelopes.encode_envelope(body))
    except (
        AttributeError, LookupError, OverflowError, RecursionError, TypeError, ValueError,
        struct.error,
    ):  # fmt: skip
        data = bytearray(envelopes.PREFIX + rng.randbytes(20))
    for _ in range(rng.randrange(4)):
        data[rng.randrange(len(data))] = rng.randrange(256)
    return bytes(data[: rng.randrange(len(data) + 1)] if rng.random() < 0.2 else data)


# Errors of 500 that kube-apiserver returns too: the message, and the case in tests/conformance with
# the recording.
RECORDED = {
    "apply-requests": r"failed to create typed patch object \(.*",
    "watch-refused": r'resourceVersion: Invalid value: ".*": strconv\.ParseUint: .*',
    "verb-locking-put": r'strconv\.ParseUint: parsing ".*": (invalid syntax|value out of range)',
    "verb-create-names": r"resourceVersion should not be set on objects to be created",
    "patch-strategic-deployment": r"map: map\[.*\] does not contain declared merge key: .*"
    r"|unknown patch type: .* in map: .*",
    "table-negotiation": r"content is not a list",
    "http-limits": r"etcdserver: request is too large",
    "more-pods-kubelet": r'Get "https://.*": no kubelet can be reached from this server',
    "verb-scale-paths": r"Internal error occurred: the spec replicas field .* does not exist",
}
KNOWN = re.compile("|".join(RECORDED.values()), re.DOTALL)


def is_recorded(status: dict[str, Any]) -> bool:
    """Return whether kube-apiserver returns this error of 500, too."""
    return KNOWN.fullmatch(status["message"]) is not None
