"""Patches that change apiVersion or kind of a custom resource, as kube-apiserver answers them."""

import pytest
import pytest_asyncio

BOATS = "/apis/example.com/v1/namespaces/default/boats"
PODS = "/api/v1/namespaces/default/pods"
JSON_ERROR = "couldn't get version/kind; json parse error: json: cannot unmarshal "
NO_OBJECT = (
    f"{JSON_ERROR}array into Go value of type struct {{ APIVersion string "
    '"json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
)
in_module = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module", autouse=True)
async def stored(web):
    body = {"apiVersion": "example.com/v1", "kind": "Boat", "metadata": {"name": "b"}}
    made = await web.ask("POST", BOATS, {**body, "spec": {"masts": 1}, "status": {}})
    assert made.code == 201, made.json
    spec = {"containers": [{"name": "c", "image": "i"}]}
    assert (await web.ask("POST", PODS, {"metadata": {"name": "p"}, "spec": spec})).code == 201


@pytest.mark.parametrize(
    ("patch", "code", "end"),
    [
        (
            {"apiVersion": "example.com/v9"},
            422,
            'Invalid value: "example.com/v9": must be example.com/v1',
        ),
        (
            {"apiVersion": "v1"},
            422,
            'Boat "b" is invalid: apiVersion: Invalid value: "v1": must be example.com/v1',
        ),
        (
            {"apiVersion": "o/v1", "kind": "Odd"},
            422,
            'must be Boat, apiVersion: Invalid value: "o/v1": must be example.com/v1]',
        ),
        (
            {"apiVersion": None},
            500,
            "Object 'apiVersion' is missing in 'object has no apiVersion field'",
        ),
        ({"apiVersion": "a/b/c"}, 422, "unexpected GroupVersion string: a/b/c"),
        (
            {"apiVersion": 9},
            422,
            f"{JSON_ERROR}number into Go struct field .apiVersion of type string",
        ),
        ({"kind": {}}, 422, f"{JSON_ERROR}object into Go struct field .kind of type string"),
        ({"kind": None}, 422, "'"),
    ],
)
@in_module
async def test_a_custom_resource_keeps_its_type(web, patch, code, end):
    refused = await web.patch(f"{BOATS}/b", patch)
    assert (refused.code, refused.json["message"][-len(end) :]) == (code, end)
    heads = {"example.com/v9": 'Boat.example.com "b"', "v1": 'Boat "b"', "o/v1": 'Odd.o "b"'}
    assert refused.json["message"].startswith(heads.get(patch.get("apiVersion"), ""))
    if patch.get("kind", "") is None:
        assert "Object 'Kind' is missing in '{" in refused.json["message"]


@in_module
async def test_an_unknown_version_has_no_known_fields(web):
    refused = await web.patch(f"{BOATS}/b?fieldValidation=Strict", {"apiVersion": "example.com/v9"})
    assert refused.json["message"].endswith('strict decoding error: unknown field "spec"')
    refused = await web.patch(f"{BOATS}/b?fieldValidation=Strict", {"apiVersion": "other/v1"})
    assert refused.json["message"].endswith("must be example.com/v1")


@pytest.mark.parametrize("patch", [{"kind": "Odd"}, {"apiVersion": "v9"}, {"apiVersion": "o/v9"}])
@in_module
async def test_a_status_does_not_change_it(web, patch):
    answer = await web.patch(f"{BOATS}/b/status?dryRun=All", patch)
    assert answer.code == 200
    assert (answer.json["apiVersion"], answer.json["kind"]) == ("example.com/v1", "Boat")


@pytest.mark.parametrize("path", [f"{BOATS}/b", f"{PODS}/p", f"{BOATS}/b/scale"])
@pytest.mark.parametrize("more", [[], [{"op": "add", "path": "/0", "value": 1}]])
@in_module
async def test_a_list_in_the_place_of_the_object_is_no_object(web, path, more):
    patch = [{"op": "replace", "path": "", "value": ["x"]}, *more]
    refused = await web.patch(path, patch, "json")
    assert refused.code == 422
    assert refused.json["message"].endswith(NO_OBJECT)
    assert ('[1,\\"x\\"]' in refused.json["message"]) == bool(more)


@in_module
async def test_a_patch_of_a_scale_reports_its_own_unknown_members(web):
    patch = [{"op": "test", "path": "/spec/replicas", "value": 1, "extra": 2}]
    text = 'json patch unknown field "[0].extra"'
    answer = await web.patch(f"{BOATS}/b/scale", patch, "json")
    quoted = text.replace('"', '\\"')
    assert (answer.code, answer.warnings) == (200, [f'299 - "{quoted}"'])
    answer = await web.patch(f"{BOATS}/b/scale?fieldValidation=Strict", patch, "json")
    assert answer.code == 422
    assert answer.json["message"].endswith(f"strict decoding error: {text}")


@in_module
async def test_a_scale_of_a_custom_resource_has_a_scheme_of_its_own(web):
    refused = await web.patch(f"{BOATS}/b/scale", {"kind": "Odd"})
    assert refused.json["message"].endswith('in scheme "k8s.io/client-go/scale/util.go:146"')
    answer = await web.patch(f"{BOATS}/b/scale?dryRun=All", {"apiVersion": None})
    assert answer.code == 200, "its internal type has members of the same names"
