"""Unknown and duplicate fields, in the order in which kube-apiserver's decoders find them.

Kubernetes' own test/integration/apiserver/field_validation_test.go requires these orders.
"""

import json

import pytest

pytestmark = pytest.mark.asyncio(loop_scope="module")

DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
BOATS = "/apis/example.com/v1/namespaces/default/boats"
HEAD = '{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "fleet"}, '
JSON = (
    HEAD
    + """"spec": {"unknown1": "a", "unknownTwice": {"x": 1, "x": 2}, "unknownTwice": "b",
    "paused": true, "paused": false, "selector": {"matchLabels": {"app": "a"}},
    "template": {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "c",
    "image": "i", "unknownNested": 1, "stdin": true, "stdin": false}]}}}}"""
)
YAML = """apiVersion: apps/v1
kind: Deployment
metadata: {name: fleet}
spec:
  unknown1: a
  unknownTwice: a
  unknownTwice: b
  paused: true
  paused: false
  selector: {matchLabels: {app: a}}
  template:
    metadata: {labels: {app: a}}
    spec:
      containers:
      - name: c
        image: i
        unknownNested: 1
        stdin: true
        stdin: false
"""
NESTED = "spec.template.spec.containers[0]"
OF_JSON = [
    'unknown field "spec.unknown1"',
    'unknown field "spec.unknownTwice"',
    'duplicate field "spec.paused"',
    f'unknown field "{NESTED}.unknownNested"',
    f'duplicate field "{NESTED}.stdin"',
]
OF_YAML = [
    'line 7: key "unknownTwice" already set in map',
    'line 9: key "paused" already set in map',
    'line 19: key "stdin" already set in map',
    f'unknown field "{NESTED}.unknownNested"',
    'unknown field "spec.unknown1"',
    'unknown field "spec.unknownTwice"',
]
OPERATIONS = """[
    {"op": "add", "path": "/spec/unknown1", "value": 1, "foo": "bar", "foo": "baz"},
    {"op": "add", "path": "/spec/unknown2", "path": "/spec/unknown3", "value": 1}
]"""
OF_OPERATIONS = [
    'json patch unknown field "[0].foo"',
    'json patch duplicate field "[1].path"',
    'unknown field "spec.unknown1"',
    'unknown field "spec.unknown3"',
]
APPLIED = HEAD + (
    '"spec": {\n"paused": false,\n"paused": true,\n"selector": {"matchLabels": {"app": "a"}},'
    '"template": {"metadata": {"labels": {"app": "a"}},'
    '"spec": {"containers": [{"name": "c", "image": "i"}]}}}}'
)


def texts(warnings: list[str]) -> list[str]:
    """Return the texts of Warning headers."""
    return [json.loads(warning.partition("- ")[2]) for warning in warnings]


async def create(web) -> None:
    valid = {
        "metadata": {"name": "fleet"},
        "spec": {
            "selector": {"matchLabels": {"app": "a"}},
            "template": {
                "metadata": {"labels": {"app": "a"}},
                "spec": {"containers": [{"name": "c", "image": "i"}]},
            },
        },
    }
    answer = await web.ask("POST", DEPLOYMENTS, valid)
    assert answer.code in (201, 409)


@pytest.mark.parametrize(
    ("media", "body", "expected"),
    [("application/json", JSON, OF_JSON), ("application/yaml", YAML, OF_YAML)],
)
async def test_errors_of_built_in_kinds_have_the_order_of_their_decoder(web, media, body, expected):
    path = f"{DEPLOYMENTS}?dryRun=All&fieldValidation"
    warned = await web.ask("POST", f"{path}=Warn", body.encode(), **{"Content-Type": media})
    assert texts(warned.warnings) == expected
    refused = await web.ask("POST", f"{path}=Strict", body.encode(), **{"Content-Type": media})
    if media == "application/yaml":
        lines = "\n  ".join(expected[:3])
        expected = [f"yaml: unmarshal errors:\n  {lines}", *expected[3:]]
    assert refused.json["message"].endswith(f"strict decoding error: {', '.join(expected)}")


async def test_operations_of_a_json_patch_are_decoded_in_order(web):
    await create(web)
    path = f"{DEPLOYMENTS}/fleet?dryRun=All&fieldValidation"
    media = {"Content-Type": "application/json-patch+json"}
    warned = await web.ask("PATCH", f"{path}=Warn", OPERATIONS.encode(), **media)
    assert texts(warned.warnings) == OF_OPERATIONS
    refused = await web.ask("PATCH", f"{path}=Strict", OPERATIONS.encode(), **media)
    assert refused.json["message"].endswith(f"strict decoding error: {', '.join(OF_OPERATIONS)}")


@pytest.mark.parametrize("kind", ["merge", "strategic-merge"])
async def test_unknown_fields_of_a_patch_have_the_order_of_their_paths(web, kind):
    await create(web)
    template = {"zip": 2, "spec": {"nested": 1}}
    body = {
        "zzz": 1,
        "spec": {"unknown": 1, "template": template, "another": 1},
        "metadata": {"zip": 1},
        "bar": {"x": 1},
    }
    media = {"Content-Type": f"application/{kind}-patch+json"}
    path = f"{DEPLOYMENTS}/fleet?dryRun=All"
    warned = await web.ask("PATCH", path, json.dumps(body).encode(), **media)
    spec = ["another", "template.spec.nested", "template.zip", "unknown"]
    fields = ["bar", "metadata.zip", *(f"spec.{name}" for name in spec), "zzz"]
    assert texts(warned.warnings) == [f'unknown field "{field}"' for field in fields]


@pytest.mark.parametrize("mode", ["Warn", "", "Ignore"])
async def test_an_apply_warns_of_repeated_keys_with_their_lines(web, mode):
    query = f"dryRun=All&fieldManager=me&force=true&fieldValidation={mode}"
    media = {"Content-Type": "application/apply-patch+yaml"}
    answer = await web.ask("PATCH", f"{DEPLOYMENTS}/fleet?{query}", APPLIED.encode(), **media)
    assert answer.code in (200, 201)
    expected = [] if mode == "Ignore" else ['line 3: key "paused" already set in map']
    assert texts(answer.warnings) == expected


@pytest.mark.parametrize(
    ("finalizer", "expected"),
    [
        ("hold", ["to avoid"]),
        ("hold.example.com", ["including a path (/) to avoid"]),
        ("example.com/hold", []),
    ],
)
async def test_a_finalizer_without_a_domain_or_a_path_is_warned_of(web, finalizer, expected):
    body = {
        "apiVersion": "example.com/v1",
        "kind": "Boat",
        "metadata": {"name": "held", "finalizers": [finalizer]},
    }
    answer = await web.ask("POST", f"{BOATS}?dryRun=All", body)
    assert texts(answer.warnings) == [
        f'metadata.finalizers: "{finalizer}": prefer a domain-qualified finalizer name {rest}'
        " accidental conflicts with other finalizer writers"
        for rest in expected
    ]


async def test_a_number_beyond_every_float_is_an_error_of_the_operation(web):
    body = b'[{"op": "add", "path": "/data/k", "value": 1e400}]'
    path = "/api/v1/namespaces/default/configmaps"
    await web.ask("POST", path, {"metadata": {"name": "there"}})
    refused = await web.patch(f"{path}/there", body, "json")
    assert refused.json["message"] == (
        "error decoding patch: json: cannot unmarshal number 1e400 into Go struct field "
        "jsonPatchOp.value of type float64"
    )


ODD = 'a"\\\n\u200bé'
QUOTED = r"a\"\\\n\u200bé"


@pytest.mark.parametrize(
    ("path", "patch", "name"),
    [
        (DEPLOYMENTS, "", QUOTED),
        (DEPLOYMENTS, "merge", QUOTED),
        (DEPLOYMENTS, "json", QUOTED),
        (DEPLOYMENTS, "strategic-merge", ODD),  # is not decoded from a text
        (BOATS, "", ODD),  # pruned, not decoded
        (BOATS, "merge", ODD),
    ],
)
async def test_names_of_unknown_fields_are_quoted_by_decoders_of_text(web, path, patch, name):
    query = "dryRun=All&fieldValidation=Strict"
    if path == BOATS:
        body = {"apiVersion": "example.com/v1", "kind": "Boat", "metadata": {"name": "fleet"}}
        assert (await web.ask("POST", BOATS, body)).code in (201, 409)
    else:
        await create(web)
    if patch:
        sent = [{"op": "add", "path": f"/spec/{ODD}", "value": 1}] if patch == "json" else None
        data = json.dumps(sent or {"metadata": {ODD: 1}}).encode()
        media = {"Content-Type": f"application/{patch}-patch+json"}
        refused = await web.ask("PATCH", f"{path}/fleet?{query}", data, **media)
    else:
        head = (await web.ask("GET", f"{path}/fleet")).json
        body = {key: head[key] for key in ("apiVersion", "kind")}
        refused = await web.ask("POST", f"{path}?{query}", {**body, "metadata": {ODD: 1}})
    where = "spec" if patch == "json" else "metadata"
    assert refused.json["message"].endswith(
        f'strict decoding error: unknown field "{where}.{name}"'
    )


@pytest.mark.parametrize("path", [DEPLOYMENTS, BOATS])
async def test_repeated_names_that_are_no_text_are_warned_of(web, path):
    version, kind = ("example.com/v1", "Boat") if path == BOATS else ("apps/v1", "Deployment")
    meta = {"name": "b", "HIGH": 1, "LOW": 2}
    body = json.dumps({"apiVersion": version, "kind": kind, "metadata": meta})
    body = body.replace("HIGH", r"\ud800").replace("LOW", r"\udfff")
    refused = await web.ask("POST", f"{path}?dryRun=All&fieldValidation=Strict", body.encode())
    assert 'field "metadata.\ufffd"' in refused.json["message"]
    warned = await web.ask("POST", f"{path}?dryRun=All", body.encode())
    assert warned.code in (201, 422)
    assert any("metadata." in warning for warning in warned.warnings)


@pytest.mark.parametrize("mode", ["Warn", "Strict"])
async def test_errors_of_an_apply_come_before_its_repeated_keys(web, mode):
    query = f"dryRun=All&fieldManager=me&force=true&fieldValidation={mode}"
    wrong = APPLIED.replace('"Deployment"', '"Deploymen"')
    media = {"Content-Type": "application/apply-patch+yaml"}
    answer = await web.ask("PATCH", f"{DEPLOYMENTS}/fleet?{query}", wrong.encode(), **media)
    assert answer.json["message"] == "invalid object type: apps/v1, Kind=Deploymen"
    assert answer.warnings == []
    answer = await web.ask("PATCH", f"{DEPLOYMENTS}/fleet?{query}", APPLIED.encode(), **media)
    if mode == "Strict":
        assert answer.json["message"].endswith('line 3: key "paused" already set in map')


@pytest.mark.parametrize("mode", ["Warn", "Strict", "Ignore"])
async def test_an_applied_scale_is_checked_for_repeated_keys(web, mode):
    await create(web)
    body = (
        "apiVersion: autoscaling/v1\nkind: Scale\nmetadata: {name: fleet}\n"
        "spec:\n  replicas: 1\n  replicas: 2\n"
    )
    query = f"dryRun=All&fieldManager=me&force=true&fieldValidation={mode}"
    media = {"Content-Type": "application/apply-patch+yaml"}
    path = f"{DEPLOYMENTS}/fleet/scale?{query}"
    answer = await web.ask("PATCH", path, body.encode(), **media)
    text = 'line 6: key "replicas" already set in map'
    if mode == "Strict":
        assert answer.code == 400
        assert answer.json["message"].endswith(f"yaml: unmarshal errors:\n  {text}")
    else:
        assert texts(answer.warnings) == ([text] if mode == "Warn" else [])
