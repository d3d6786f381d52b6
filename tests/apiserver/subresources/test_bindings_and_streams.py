"""Preconditions of a binding, and what is judged before the node of a pod is looked for."""

import pytest

pytestmark = pytest.mark.asyncio(loop_scope="module")
PODS = "/api/v1/namespaces/default/pods"
BINDINGS = "/api/v1/namespaces/default/bindings"
TARGET = {"kind": "Node", "name": "n"}


async def made(web, name, **spec):
    body = {"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    body["spec"] |= spec
    return (await web.ask("POST", PODS, body)).json["metadata"]


@pytest.mark.parametrize("collection", [True, False])
@pytest.mark.parametrize("member", ["uid", "resourceVersion"])
async def test_a_binding_holds_only_for_the_pod_that_it_names(web, member, collection):
    name = f"p-{member.lower()}-{collection}".lower()
    meta = await made(web, name)
    path = BINDINGS if collection else f"{PODS}/{name}/binding"
    word = {"uid": "UID", "resourceVersion": "ResourceVersion"}[member]
    for sent, code in ((f"{meta[member]}1", 409), (meta[member], 201)):
        body = {"metadata": {"name": name, member: sent}, "target": TARGET}
        answer = await web.ask("POST", path, body)
        assert answer.code == code
        if code == 409:
            assert answer.json["message"].endswith(
                f"Key: /registry/pods/default/{name}, ResourceVersion: 0, AdditionalErrorMsg: "
                f"Precondition failed: {word} in precondition: {sent}, {word} in object meta: "
                f"{meta[member]}"
            )


async def test_a_binding_in_the_collection_needs_a_name(web):
    refused = await web.ask("POST", BINDINGS, {"target": TARGET})
    assert (refused.code, refused.json["message"]) == (400, "Name parameter required.")
    refused = await web.ask("POST", BINDINGS, {"target": {}})
    assert (refused.code, refused.json["message"]) == (500, "target.name: Required value")


@pytest.mark.parametrize(("query", "prefix"), [("?dryRun=All", ""), ("", "/registry")])
async def test_only_the_store_adds_its_prefix_to_the_key_of_an_error(web, query, prefix):
    uid = "22222222-2222-2222-2222-222222222222"
    for group, plural in (("coordination.k8s.io", "leases"), ("example.com", "boats")):
        where, key = f"/apis/{group}/v1/namespaces/default/{plural}", f"{plural}/default/one"
        body = {"apiVersion": f"{group}/v1", "kind": {"leases": "Lease", "boats": "Boat"}[plural]}
        await web.ask("POST", where, {**body, "metadata": {"name": "one"}, "spec": {}})
        meta = {"name": "one", "uid": uid}
        refused = await web.ask("PUT", f"{where}/one{query}", {**body, "metadata": meta})
        assert refused.code == 409
        key = key if plural == "leases" else f"{group}/{key}"
        assert f"Key: {prefix}/{key}," in refused.json["message"]


@pytest.mark.parametrize(
    ("ports", "why"),
    [
        ("x", 'parsing "x": invalid syntax'),
        ("80,", 'parsing "": invalid syntax'),
        ("80,-1", 'parsing "-1": invalid syntax'),
        ("65536", 'parsing "65536": value out of range'),
    ],
)
async def test_ports_are_read_before_the_pod_is_looked_for(web, ports, why):
    for query in (f"ports={ports}", f"ports=1&ports={ports}"):
        refused = await web.ask("POST", f"{PODS}/nobody/portforward?{query}")
        said = f"cannot convert to []int32: strconv.ParseUint: {why}"
        assert (refused.code, refused.json["message"]) == (400, said)
    assert (await web.ask("POST", f"{PODS}/nobody/portforward?ports=1,65535")).code == 404


async def test_a_node_without_an_address_is_an_error_before_the_upgrade(web):
    await web.ask("POST", "/api/v1/nodes", {"metadata": {"name": "bare"}})
    await made(web, "there", nodeName="bare")
    for part in ("exec?command=a", "attach", "portforward"):
        refused = await web.ask("POST", f"{PODS}/there/{part}")
        assert refused.code == 500
        assert refused.json["message"].startswith("no preferred addresses found")
