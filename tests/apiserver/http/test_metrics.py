"""The metrics in `/metrics` have the names of kube-apiserver's."""

import re
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import ClientSession

from inkube import APIServer
from inkube.apiserver.http import exposition, metrics, requests
from inkube.apiserver.http.metrictexts import HELP
from inkube.apiserver.samples import Samples
from inkube.storage import BUCKETS, Durations

pytestmark = pytest.mark.asyncio(loop_scope="module")
MAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"


async def figures(web: Any) -> dict[str, float]:
    """Return every sample by its name and labels."""
    lines = (await web.ask("GET", "/metrics")).body.decode().splitlines()
    pairs = (line.rpartition(" ") for line in lines if not line.startswith("#"))
    return {name: float(value) for name, _, value in pairs}


def total(verb: str, code: int, scope: str, **more: str) -> str:
    """Return the name of a sample of apiserver_request_total."""
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


async def test_metrics_count_stored_objects_and_measure_the_process(web: Any) -> None:
    found = await figures(web)
    assert found['apiserver_storage_objects{resource="namespaces"}'] >= 4
    assert found['apiserver_resource_objects{group="",resource="namespaces"}'] >= 4
    assert found['apiserver_storage_objects{resource="boats.example.com"}'] == 0
    assert found["process_resident_memory_bytes"] > 1024
    assert found["process_cpu_seconds_total"] > 0
    assert found["process_open_fds"] > 1
    [build] = [name for name in found if name.startswith("kubernetes_build_info{")]
    assert 'git_version="v1.36.2+inkube"' in build


async def test_labels_are_limited_and_metrics_disabled(web_of: Any) -> None:
    allowed = {
        "apiserver_request_total,code": "201,409",
        "apiserver_request_total,verb": "POST,LIST",
        "apiserver_request_duration_seconds,verb": "",
        "apiserver_request_duration_seconds,le": "0.1",
    }
    disabled = ("apiserver_request_sli_duration_seconds", "kubernetes_build_info")
    server = APIServer(
        modules="none", controllers=False, allow_metric_labels=allowed, disabled_metrics=disabled
    )
    async with server, web_of(server) as web:
        await web.ask("POST", MAPS, {"metadata": {"name": "m"}})
        for _ in range(3):
            await web.ask("GET", MAPS)
        await web.ask("PUT", f"{MAPS}/m", {"metadata": {"name": "m"}})
        await web.ask("DELETE", f"{MAPS}/m")
        found = await figures(web)
    unexpected = "unexpected"
    assert found[total("POST", 201, "resource")] == 1
    listed = total("LIST", 200, "namespace").replace('"200"', f'"{unexpected}"')
    assert found[listed] == 3
    other = total(unexpected, 200, "resource").replace('"200"', f'"{unexpected}"')
    assert found[other] == 2
    durations = [name for name in found if name.startswith("apiserver_request_duration_seconds_")]
    assert all(f'verb="{unexpected}"' in name for name in durations)
    buckets = [
        found[name] for name in durations if "_bucket" in name and 'scope="resource"' in name
    ]
    assert buckets == sorted(buckets)
    assert len(buckets) == len(BUCKETS) + 1
    assert buckets[-1] == 3
    number = found["cardinality_enforcement_unexpected_categorizations_total"]
    assert number == 3 + 2 * 2 + 6
    assert found["disabled_metrics_total"] == 2
    assert not any(name.startswith(disabled) for name in found)


async def test_commits_are_measured_as_requests_to_etcd(web: Any) -> None:
    def count(name: str, operation: str) -> float:
        labels = f'group="",operation="{operation}",resource="configmaps"'
        return found.get(f"{name}{{{labels}}}", 0)

    await web.ask("GET", MAPS)  # creates the default objects of this kind
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


async def test_deprecated_apis_have_a_metric_once_they_were_requested(web: Any) -> None:
    sample = (
        'apiserver_requested_deprecated_apis{group="",removed_release="",'
        'resource="componentstatuses",subresource="",version="v1"}'
    )
    assert sample not in await figures(web)
    await web.ask("GET", "/api/v1/componentstatuses")
    assert (await figures(web))[sample] == 1


def sample(metric: str, **labels: str) -> str:
    """Return the name of a sample with these labels."""
    told = ",".join(f'{label}="{labels[label]}"' for label in sorted(labels))
    return f"{metric}{{{told}}}"


OF_MAPS = {"group": "", "resource": "configmaps", "version": "v1"}
REQUEST = {**OF_MAPS, "component": "apiserver", "subresource": ""}


async def test_a_watch_is_a_long_running_request_with_events_of_a_size(
    web: Any, server: Any
) -> None:
    running = sample("apiserver_longrunning_requests", **REQUEST, scope="namespace", verb="WATCH")
    events = sample("apiserver_watch_events_total", **OF_MAPS)
    before = await figures(web)
    path = f"{MAPS}?watch=1&resourceVersion=0"
    async with aiohttp.ClientSession(server.url) as session, session.get(path) as watch:
        await web.ask("POST", MAPS, {"metadata": {"name": "seen"}, "data": {"a": "b" * 2_000}})
        await server.settled()
        while b"seen" not in await watch.content.readline():
            pass
        during = await figures(web)
    assert during[running] == before.get(running, 0) + 1
    sent = during[events] - before.get(events, 0)
    assert sent >= 1
    sizes = "apiserver_watch_events_sizes"
    small, large = (sample(f"{sizes}_bucket", **OF_MAPS, le=le) for le in ("1024", "4096"))
    added = {each: during[each] - before.get(each, 0) for each in (small, large)}
    assert (added[large], added[small]) == (sent, sent - 1)
    await web.ask("DELETE", f"{MAPS}/seen")
    unknown = await web.ask("GET", "/apis/none.example/v1/things?watch=1")
    assert unknown.code == 404
    assert not any("none.example" in name for name in await figures(web))


async def test_the_stages_and_plugins_of_admission_are_measured(web: Any) -> None:
    of = {"operation": "CREATE", "rejected": "false", "type": "admit"}
    step = sample("apiserver_admission_step_admission_duration_seconds_count", **of)
    name = "apiserver_admission_controller_admission_duration_seconds_count"
    plugin = sample(name, **of, name="NamespaceLifecycle")
    refused = sample(name, **{**of, "rejected": "true"}, name="NamespaceLifecycle")
    before = await figures(web)
    await web.ask("POST", f"{MAPS}?dryRun=All", {"metadata": {"name": "measured"}})
    missing = MAPS.replace("default", "missing")
    await web.ask("POST", missing, {"metadata": {"name": "measured"}})
    after = await figures(web)
    added = [after[each] - before.get(each, 0) for each in (step, plugin, refused)]
    assert added == [1, 1, 1]


async def test_writes_have_a_size_and_requests_a_user_with_rights(web: Any) -> None:
    await figures(web)  # from now on
    before = await figures(web)
    await web.ask("POST", MAPS, {"metadata": {"name": "sized"}})
    await web.ask("DELETE", f"{MAPS}/sized")
    await web.ask("GET", MAPS, None, Authorization="Bearer unknown")
    found = await figures(web)

    def grown(name: str) -> float:
        return found.get(name, 0) - before.get(name, 0)

    sizes = 'apiserver_request_body_size_bytes_bucket{group="",le="50000",resource="configmaps"'
    assert grown(f'{sizes},verb="create"}}') == 1
    assert grown('authentication_attempts{result="failure"}') == 1
    assert grown('authentication_attempts{result="success"}') == 3  # with the first figures
    assert grown('authorization_attempts_total{result="allowed"}') == 3


async def test_names_of_earlier_releases_are_shown_beside_those_of_1_36(web: Any) -> None:
    await web.ask("GET", MAPS)
    found = await figures(web)
    old, new = (
        {name.partition(each)[2]: number for name, number in found.items() if each in name}
        for each in ("apiserver_request_slo_", "apiserver_request_sli_")
    )
    assert old == new
    versions = 'binary="1.36",component="kube",emulation="1.36",min_compat="1.35"'
    assert found[f"version_info{{{versions}}}"] == 1
    exempted = 'request_operation="create",resource="pod",subresource=""'
    assert found[f"pod_security_exemptions_total{{{exempted}}}"] == 0


async def test_a_deletion_of_metrics_resets_what_is_counted_and_not_what_runs() -> None:
    async with APIServer() as server, ClientSession(server.url) as session:
        watch = await session.get(f"{MAPS}?watch=1&resourceVersion=0")
        async with session.delete("/metrics") as answer:
            assert await answer.text() == "metrics reset\n"
        async with session.get("/metrics") as answer:
            lines = (await answer.text()).splitlines()
        watch.close()
    totals = [line for line in lines if line.startswith("apiserver_request_total{")]
    assert [line.split()[-1] for line in totals] == ["1"]  # the deletion
    running = [line for line in lines if line.startswith("apiserver_longrunning_requests{")]
    assert [line.split()[-1] for line in running] == ["1"]


async def test_reads_have_a_size_and_running_requests_a_peak(web: Any) -> None:
    size = sample("apiserver_response_sizes_count", **REQUEST, scope="namespace", verb="LIST")
    before = await figures(web)
    await web.ask("GET", MAPS)
    after = await figures(web)
    assert after[size] == before.get(size, 0) + 1
    assert after['apiserver_current_inflight_requests{request_kind="readOnly"}'] >= 1
    assert 'apiserver_current_inflight_requests{request_kind="mutating"}' in after
    estimate = 'apiserver_resource_size_estimate_bytes{group="",resource="namespaces"}'
    assert 500 < after[estimate] < 50_000


async def test_the_time_of_webhooks_is_no_time_of_the_server() -> None:
    counted = metrics.Metrics()
    info = requests.parse("POST", MAPS)
    counted.count(info, 201, 0.9, waited=0.85)
    counted.count(info, 201, 0.3)
    again = metrics.Metrics()
    again.add(counted.snapshot())
    again.add(counted.snapshot())
    nothing: Any = {name: {} for name in exposition.Figures._fields}
    shown = exposition.Figures(
        **nothing
        | {"requests": again, "workers": 0, "stored_bytes": None, "commits": Durations()}
        | {"samples": Samples(), "deprecated_resources": (), "build": {"major": "1", "minor": "36"}}
    )
    text = exposition.text(shown).decode()
    labels = {**REQUEST, "scope": "resource", "verb": "POST"}
    found = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    bucket = "apiserver_request_{}duration_seconds_bucket"
    assert [
        float(found[sample(bucket.format("sli_"), **labels, le=le)]) for le in ("0.1", "0.4", "1")
    ] == [2, 4, 4]
    assert [
        float(found[sample(bucket.format(""), **labels, dry_run="", le=le)])
        for le in ("0.1", "0.4", "1")
    ] == [0, 2, 4]
    total = float(found[sample("apiserver_request_sli_duration_seconds_sum", **labels)])
    assert total == pytest.approx(0.7)


PROMISED = [
    "apiserver_admission_controller_admission_duration_seconds",
    "apiserver_admission_step_admission_duration_seconds",
    "apiserver_admission_webhook_admission_duration_seconds",
    "apiserver_authentication_config_controller_automatic_reload_last_timestamp_seconds",
    "apiserver_authentication_config_controller_automatic_reloads_total",
    "apiserver_authorization_config_controller_automatic_reload_last_timestamp_seconds",
    "apiserver_authorization_config_controller_automatic_reloads_total",
    "apiserver_cel_compilation_duration_seconds",
    "apiserver_cel_evaluation_duration_seconds",
    "apiserver_current_inflight_requests",
    "apiserver_flowcontrol_current_executing_requests",
    "apiserver_flowcontrol_current_executing_seats",
    "apiserver_flowcontrol_current_inqueue_requests",
    "apiserver_flowcontrol_dispatched_requests_total",
    "apiserver_flowcontrol_nominal_limit_seats",
    "apiserver_flowcontrol_rejected_requests_total",
    "apiserver_flowcontrol_request_wait_duration_seconds",
    "apiserver_longrunning_requests",
    "apiserver_request_duration_seconds",
    "apiserver_request_total",
    "apiserver_requested_deprecated_apis",
    "apiserver_response_sizes",
    "apiserver_storage_events_received_total",
    "apiserver_storage_objects",
    "apiserver_storage_size_bytes",
    "apiserver_validating_admission_policy_check_duration_seconds",
    "apiserver_validating_admission_policy_check_total",
    "apiserver_validation_declarative_validation_mismatch_total",
    "apiserver_validation_declarative_validation_panic_total",
    "apiserver_watch_list_duration_seconds",
    "disabled_metrics_total",
    "hidden_metrics_total",
    "kubernetes_build_info",
    "kubernetes_feature_enabled",
    "kubernetes_healthcheck",
    "kubernetes_healthchecks_total",
    "registered_metrics_total",
    "running_managed_controllers",
    "workqueue_adds_total",
    "workqueue_depth",
    "workqueue_longest_running_processor_seconds",
    "workqueue_queue_duration_seconds",
    "workqueue_retries_total",
    "workqueue_unfinished_work_seconds",
    "workqueue_work_duration_seconds",
]
"""The stable and beta metrics of kube-apiserver 1.36."""
DIFFERENCES = Path(__file__).parents[3] / "docs/differences.md"


async def test_stable_and_beta_metrics_are_served_or_named_as_missing(tmp_path: Path) -> None:
    async with APIServer(data=tmp_path / "data") as server, ClientSession(server.url) as session:
        served = set()
        for path in ("/metrics", "/metrics/slis"):
            async with session.get(path) as answer:
                text = await answer.text()
            served |= {line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")}
        async with session.get("/metrics") as answer:
            lines = (await answer.text()).splitlines()
    paragraph = DIFFERENCES.read_text().partition("these are missing:")[2].partition("There are")[0]
    missing = set(re.findall(r"`([a-z_0-9]+)`", paragraph))
    assert missing == {name for name in PROMISED if name not in served}
    assert "# TYPE authenticated_user_requests counter" in lines
    texts = {line.split(" ", 3)[2]: line.split(" ", 3)[3] for line in lines if "# HELP" in line}
    own = ("inkube_", "process_")
    assert {name: text for name, text in texts.items() if not name.startswith(own)} == HELP
    levels = [text for text in HELP.values() if "[ALPHA] " in text]
    counted = next(
        line
        for line in lines
        if 'registered_metrics_total{deprecated_version="",stability_level="ALPHA"' in line
    )
    assert float(counted.split()[-1]) == len(levels)
    queues = [line for line in lines if line.startswith("workqueue_adds_total{")]
    assert queues, "controllers run"
