"""Between two mutations, an object of a built-in kind is a Go value, which has no empty members.

For every kind: a second mutation does not find what a first one made empty. Custom resources keep
empty members.
"""

import pytest
import samples

from inkube.schemas.builtin.kinddefinitions import by_name

pytestmark = pytest.mark.asyncio(loop_scope="module")
POLICIES = "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies"
UNTOUCHED = ("admissionregistration.k8s.io/",)
"""Kinds that no policy changes."""
EVERYTHING = {
    "resourceRules": [{"apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"],
                       "operations": ["CREATE"]}],
    "objectSelector": {"matchLabels": {"mutated": "twice"}},
}  # fmt: skip
FIRST = "[JSONPatch{op: 'add', path: '/metadata/annotations', value: {}}]"
SECOND = "[JSONPatch{op: 'add', path: '/metadata/annotations/k', value: 'v'}]"


def places():
    """Yield (path of the collection, sample) of every kind."""
    for definition in by_name().values():
        version = definition.storage_version.name
        api = f"{definition.group}/{version}" if definition.group else version
        if f"{api}/{definition.names.kind}" in samples.OBJECTS and not api.startswith(UNTOUCHED):
            root = f"/apis/{api}" if definition.group else f"/api/{api}"
            space = "/namespaces/default" if definition.namespaced else ""
            sample = samples.make(api, definition.names.kind, "mutated")
            yield f"{root}{space}/{definition.names.plural}", sample


async def test_empty_members_do_not_reach_the_next_mutation_of_any_built_in_kind(web):
    mutations = [
        {"patchType": "JSONPatch", "jsonPatch": {"expression": each}} for each in (FIRST, SECOND)
    ]
    spec = {
        "matchConstraints": EVERYTHING, "reinvocationPolicy": "Never", "failurePolicy": "Fail",
        "mutations": mutations,
    }  # fmt: skip
    policy = await web.ask("POST", POLICIES, {"metadata": {"name": "twice"}, "spec": spec})
    assert policy.code == 201
    binding = {"metadata": {"name": "twice"}, "spec": {"policyName": "twice"}}
    await web.ask("POST", POLICIES.replace("policies", "policybindings"), binding)
    kinds = dict(places())
    assert len(kinds) > 35
    for path, sample in kinds.items():
        labels = {**sample["metadata"]["labels"], "mutated": "twice"}
        body = {**sample, "metadata": {**sample["metadata"], "labels": labels}}
        answer = await web.ask("POST", f"{path}?dryRun=All", body)
        if path.endswith("/daemonsets"):  # decoding gives it an annotation of its own
            assert answer.json["metadata"]["annotations"]["k"] == "v"
            continue
        assert answer.code == 403, path
        said = 'doc is missing path: "/metadata/annotations/k": missing value'
        assert answer.json["message"].endswith(said), path
    boat = {"apiVersion": "example.com/v1", "kind": "Boat"}
    meta = {"name": "mutated", "labels": {"mutated": "twice"}}
    path = "/apis/example.com/v1/namespaces/default/boats?dryRun=All"
    made = await web.ask("POST", path, {**boat, "metadata": meta})
    assert made.json["metadata"]["annotations"] == {"k": "v"}
