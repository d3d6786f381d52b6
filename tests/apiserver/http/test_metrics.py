"""The metrics in `/metrics` have the names of kube-apiserver's."""

from typing import Any

import pytest

pytestmark = pytest.mark.asyncio(loop_scope="module")
MAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"


async def figures(web: Any) -> dict[str, float]:
    """Every sample by its name and labels."""
    lines = (await web.ask("GET", "/metrics")).body.decode().splitlines()
    pairs = (line.rpartition(" ") for line in lines if not line.startswith("#"))
    return {name: float(value) for name, _, value in pairs}


def total(verb: str, code: int, scope: str, **more: str) -> str:
    """The name of a sample of apiserver_request_total."""
    labels = {
        "code": str(code), "component": "apiserver", "dry_run": "", "group": "",
        "resource": "configmaps", "scope": scope, "subresource": "", "verb": verb, "version": "v1",
        **more,
    }  # fmt: skip
    told = ",".join(f'{name}="{labels[name]}"' for name in sorted(labels))
    return f"apiserver_request_total{{{told}}}"


@pytest.mark.parametrize(
    ("method", "path", "body", "media", "sample"),
    [
        ("POST", MAPS, {"metadata": {"name": "m"}}, "", total("POST", 201, "resource")),
        ("GET", f"{MAPS}/m", None, "", total("GET", 200, "resource")),
        ("GET", MAPS, None, "", total("LIST", 200, "namespace")),
        ("GET", "/api/v1/configmaps", None, "", total("LIST", 200, "cluster")),
        ("GET", f"{MAPS}?watch=1&timeoutSeconds=1", None, "", total("WATCH", 200, "namespace")),
        ("PUT", f"{MAPS}/m", {"metadata": {"name": "m"}}, "", total("PUT", 200, "resource")),
        (
            "PATCH",
            f"{MAPS}/m?dryRun=All",
            {},
            "application/merge-patch+json",
            total("PATCH", 200, "resource", dry_run="All"),
        ),
        (
            "PATCH",
            f"{MAPS}/m?fieldManager=me",
            {"apiVersion": "v1", "kind": "ConfigMap"},
            "application/apply-patch+yaml",
            total("APPLY", 200, "resource"),
        ),
        ("DELETE", f"{MAPS}/m", None, "", total("DELETE", 200, "resource")),
        ("DELETE", MAPS, None, "", total("DELETECOLLECTION", 200, "namespace")),
        (
            "GET",
            f"{MAPS}/none",
            None,
            "",
            total("GET", 404, "", resource="", version=""),
        ),
        (
            "GET",
            "/readyz",
            None,
            "",
            total("GET", 200, "", resource="", version="", component="", subresource="/readyz"),
        ),
    ],
)
async def test_requests_are_counted_by_the_labels_of_kube_apiserver(
    web: Any, method: str, path: str, body: Any, media: str, sample: str
) -> None:
    await web.ask("DELETE", MAPS)
    if method != "POST":
        await web.ask("POST", MAPS, {"metadata": {"name": "m"}})
    before = (await figures(web)).get(sample, 0)
    headers = {"Content-Type": media} if media else {}
    await web.ask(method, path, body, **headers)
    found = await figures(web)
    assert found.get(sample) == before + 1
    measured = sample.replace("_total{", "_duration_seconds_count{")
    measured = measured.replace(measured[measured.index("code=") : measured.index("component")], "")
    assert found[measured] >= 1


async def test_what_is_stored_and_the_process_are_measured(web: Any) -> None:
    found = await figures(web)
    assert found['apiserver_storage_objects{resource="namespaces"}'] >= 4
    assert found['apiserver_resource_objects{group="",resource="namespaces"}'] >= 4
    assert found['apiserver_storage_objects{resource="boats.example.com"}'] == 0
    assert found["process_resident_memory_bytes"] > 1024
    assert found["process_cpu_seconds_total"] > 0
    assert found["process_open_fds"] > 1
    [build] = [name for name in found if name.startswith("kubernetes_build_info{")]
    assert 'git_version="v1.36.2+inkube"' in build


async def test_commits_are_measured_as_requests_to_etcd(web: Any) -> None:
    def count(name: str, operation: str) -> float:
        return found.get(f'{name}{{operation="{operation}"}}', 0)

    found = await figures(web)
    before = [count("etcd_requests_total", each) for each in ("create", "update", "delete")]
    await web.ask("POST", MAPS, {"metadata": {"name": "stored"}})
    await web.ask("PUT", f"{MAPS}/stored", {"metadata": {"name": "stored"}, "data": {"a": "b"}})
    await web.ask("POST", f"{MAPS}?dryRun=All", {"metadata": {"name": "rehearsed"}})
    await web.ask("DELETE", f"{MAPS}/stored")
    found = await figures(web)
    after = [count("etcd_requests_total", each) for each in ("create", "update", "delete")]
    assert [new - old for old, new in zip(before, after, strict=True)] == [1, 1, 1]
    assert count("etcd_request_duration_seconds_count", "create") == after[0]
    assert 0 < count("etcd_request_duration_seconds_sum", "create") < 60 * after[0]


async def test_deprecated_apis_are_told_once_they_were_requested(web: Any) -> None:
    sample = (
        'apiserver_requested_deprecated_apis{group="",removed_release="",'
        'resource="componentstatuses",subresource="",version="v1"}'
    )
    assert sample not in await figures(web)
    await web.ask("GET", "/api/v1/componentstatuses")
    assert (await figures(web))[sample] == 1
