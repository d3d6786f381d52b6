"""The lines of docs/differences.md: each one is shown by a test here, or by another file."""

import asyncio
import re
import ssl
from pathlib import Path

import aiohttp
import pytest
import pytest_asyncio
import trustme
import yaml

from inkube import APIServer
from inkube.apiserver.access.configs import authentication, authorization
from inkube.apiserver.auth import Outgoing
from inkube.apiserver.envtest import flags, kubeflags
from inkube.apiserver.samples import Samples
from inkube.controllers.clock import SystemClock
from inkube.schemas import cel, quantity

in_module = pytest.mark.asyncio(loop_scope="module")
ROOT = Path(__file__).parents[2]
PODS = "/api/v1/namespaces/default/pods"
MAPS = "/api/v1/namespaces/default/configmaps"
SHOWN = {
    "JSON and YAML nested": "test_deep_bodies",
    "Quantities with": "test_long_quantities",
    "Some CEL expressions": "test_expressions",
    "`lists.range`": "test_expressions",
    "Protobuf bodies": "tests/apiserver/http/test_protobuf_bodies.py",
    "Infinite numbers": "tests/schemas/builtin/test_protobuf_forms.py",
    "Compressed request": "test_compressed_bodies",
    "Times outside": "tests/schemas/metadata/test_object_metadata.py",
    "Objects and lists that identify": "tests/schemas/patch/test_strategic_patch.py",
    "`Host` headers": "test_host_headers",
    "Other addresses": "test_addresses_without_credentials",
    "Client certificates": "test_unknown_client_certificates",
    "For a single object": "tests/controllers/provisioning/test_findings_in_both_phases.py",
    "Causes of kinds": "tests/controllers/test_features_of_own_kinds.py",
    "`dryRun=true`": "tests/apiserver/handlers/test_writing.py",
    "`multipleOf`": "tests/apiserver/http/test_hostile_requests.py",
    "`%.Nf`": "test_expressions",
    "If a client closes": "tests/apiserver/http/test_clients_that_leave.py",
    "Malformed HTTP": "test_malformed_http",
    "`serverAddressByClientCIDRs`": "test_version",
    "HTTP/2": "test_protocols_of_tls",
    "Watches accept": "tests/apiserver/watching/test_shared_streams.py",
    "The admission plugin ServiceAccount": "tests/apiserver/admission/test_accounts_of_pods.py",
    "The admission plugins AlwaysDeny": "test_plugins_that_end_the_start",
    "The file `--admission": "tests/apiserver/admission/test_plugins_on_request.py",
    "Priority and fairness": "tests/apiserver/auth/test_flows.py",
    "A bookmark at the end": "tests/apiserver/watching/test_watch_streams.py",
    "A watch has its seats": "tests/apiserver/auth/test_isolation.py",
    "Each worker": "tests/apiserver/workers/test_several_processes.py",
    "Tokens are signed": "test_signatures_of_tokens",
    "The end of an account": "tests/apiserver/auth/test_authentication.py",
    "The use of a token": "tests/apiserver/auth/test_tokens_in_secrets.py",
    "Allocated addresses": "tests/apiserver/registry/test_service_ranges.py",
    "A ServiceCIDR": "tests/apiserver/registry/test_service_ranges.py",
    "A status of a ResourceClaim": "tests/apiserver/auth/test_rights_to_devices.py",
    "`admin`, `edit`": "tests/apiserver/auth/test_nobody_gives_what_they_lack.py",
    "`resourceVersionMatch": "tests/apiserver/sources/test_the_past_is_served.py",
    "A ResourceQuota limits": "tests/controllers/core/test_quotas_are_kept.py",
    "An orphaned": "tests/controllers/core/test_garbage_is_collected.py",
    "A custom resource whose": "tests/apiserver/registry/test_stored_objects_that_no_longer_fit.py",
    "A custom resource is": "tests/apiserver/registry/test_stored_objects_that_no_longer_fit.py",
    "`oldSelf` of": "tests/schemas/cel/test_cel_rules.py",
    "A policy reads": "tests/apiserver/policies/test_policies_change.py",
    "Mutating policies that": "tests/apiserver/policies/test_policies_change.py",
    "An object whose name": "tests/apiserver/policies/test_policies_change.py",
    "A Service gets": "test_services_without_names",
    "A PersistentVolumeClaim": "test_claims_have_a_phase",
    "JSON contains": "test_characters_of_json",
    "YAML can contain": "test_characters_of_yaml",
    "A dry run of a DELETE": "test_dry_runs_of_the_last_finalizer",
    "`currentCPUUtilizationPercentage`": "tests/apiserver/registry/test_other_versions.py",
    "Resource versions": "test_first_revision",
    "`/version`": "test_version",
    "Egress": "test_configurations_that_are_not_supported",
    "Webhooks of authentication": "test_configurations_that_are_not_supported",
    "Encryption": "test_flags_that_are_not_supported",
    "Alpha and beta": "test_flags_that_are_not_supported",
    "`/debug/pprof`": "test_profiles",
    "External signers": "test_every_flag_without_effect_is_named",
    "Traces": "test_every_flag_without_effect_is_named",
    "Another time limit": "test_every_flag_without_effect_is_named",
    "A certificate for forwarded": "tests/apiserver/auth/test_front_proxies.py",
    "Requests that another server": "tests/apiserver/envtest/test_flags_of_kube_apiserver.py",
    "A node port of the service": "test_every_flag_without_effect_is_named",
    "`--admission-control`": "test_every_flag_without_effect_is_named",
    "The deletion of": "tests/apiserver/aggregation/test_aggregated_servers.py",
    "CRDs have no": "test_definitions_without_registrations",
    "OpenAPI version 3": "tests/apiserver/aggregation/test_aggregated_servers.py",
    "Services of aggregated servers": "tests/apiserver/webhooks/test_webhooks_of_services.py",
    "`--tls-cipher-suites`": "test_flags_that_are_not_supported",
    "The ConfigMap `extension": "tests/apiserver/auth/test_front_proxies.py",
    "`/flagz` shows": "tests/apiserver/discovery/test_health.py",
    "If several servers share": "test_endpoints_of_servers_that_share_a_store",
    "If a request cannot be forwarded": "tests/apiserver/aggregation/test_aggregated_servers.py",
    "The response of a conversion": "tests/apiserver/webhooks/test_conversion_webhooks.py",
    "A list only converts": "tests/apiserver/webhooks/test_conversion_webhooks.py",
    "An object that cannot be converted": "tests/apiserver/webhooks/test_conversion_webhooks.py",
    "Metrics that would cost": "tests/apiserver/http/test_metrics.py",
    "`apiserver_current_inflight": "tests/apiserver/http/test_metrics.py",
    "`apiserver_authorization_decisions": "tests/apiserver/auth/test_authorizers.py",
    "`etcd_requests_total`": "tests/apiserver/http/test_metrics.py",
    "`workqueue_…`": "tests/apiserver/http/test_metrics.py",
    "`apiserver_cel_compilation": "tests/apiserver/http/test_metrics.py",
    "`apiserver_validation_declarative": "tests/apiserver/http/test_metrics.py",
    "`apiserver_watch_list": "tests/apiserver/http/test_metrics.py",
    "`kubernetes_feature_enabled`": "tests/apiserver/http/test_metrics.py",
    "`running_managed_controllers`": "tests/apiserver/http/test_metrics.py",
    "The Lease `apiserver-…`": "tests/controllers/core/test_leases_of_servers.py",
    "Default objects": "test_default_objects",
    "After a deletion, only": "tests/apiserver/registry/test_service_ranges.py",
    "Devices are allocated only": "tests/controllers/workloads/test_devices_for_pods.py",
    "Controllers react": "tests/controllers/workloads/test_rollouts.py",
    "A node with a simulated": "tests/controllers/workloads/test_simulated_nodes.py",
    "The status of a pod without": "tests/controllers/workloads/test_resources_in_statuses.py",
    "Hashes in names": "tests/controllers/workloads/test_rollouts.py",
    "The scheduler has": "tests/controllers/workloads/test_scheduling.py",
    "Volumes are bound": "tests/controllers/workloads/test_other_controllers.py",
    "Autoscalers support": "tests/controllers/workloads/test_other_controllers.py",
    "Without a policy, the audit": "tests/apiserver/http/test_audit_log.py",
    "An apply in YAML": "tests/apiserver/http/test_audit_log.py",
    "Annotations about latency": "tests/apiserver/http/test_audit_log.py",
    "`exec`": "test_pods_without_nodes",
    "`resize`": "tests/schemas/builtin/test_pod_updates.py",
    "A bound pod": "test_pods_without_nodes",
    "Alpha metrics of": "test_alpha_metrics",
    "SPDY": "tests/apiserver/streaming/test_spdy_frames.py",
}
"""Beginning of a line → a test in this file, or another file."""
ALPHA = [
    "aggregator_discovery_aggregation_count_total", "aggregator_discovery_nopeer_requests_total",
    "aggregator_discovery_peer_aggregated_cache_hits_total",
    "aggregator_discovery_peer_aggregated_cache_misses_total",
    "aggregator_unavailable_apiservice_total",
    "apiextensions_apiserver_validation_ratcheting_seconds",
    "apiserver_admission_step_admission_duration_seconds_summary", "apiserver_audit_event_total",
    "apiserver_audit_requests_rejected_total",
    "apiserver_cache_list_fetched_objects_total",
    "apiserver_cache_list_returned_objects_total", "apiserver_cache_list_total",
    "apiserver_client_certificate_expiration_seconds", "apiserver_current_inqueue_requests",
    "apiserver_envelope_encryption_dek_cache_fill_percent", "apiserver_flowcontrol_current_r",
    "apiserver_flowcontrol_demand_seats", "apiserver_flowcontrol_demand_seats_average",
    "apiserver_flowcontrol_demand_seats_high_watermark",
    "apiserver_flowcontrol_demand_seats_smoothed", "apiserver_flowcontrol_demand_seats_stdev",
    "apiserver_flowcontrol_read_vs_write_current_requests", "apiserver_flowcontrol_seat_fair_frac",
    "apiserver_flowcontrol_target_seats", "apiserver_flowcontrol_watch_count_samples",
    "apiserver_kube_aggregator_x509_insecure_sha1_total",
    "apiserver_kube_aggregator_x509_missing_san_total",
    "apiserver_nodeport_repair_reconcile_errors_total", "apiserver_request_filter_duration_seconds",
    "apiserver_request_timestamp_comparison_time", "apiserver_selfrequest_total",
    "apiserver_storage_consistency_checks_total",
    "apiserver_storage_data_key_generation_duration_seconds",
    "apiserver_storage_data_key_generation_failures_total",
    "apiserver_storage_envelope_transformation_cache_misses_total",
    "apiserver_storage_list_evaluated_objects_total",
    "apiserver_storage_list_fetched_objects_total", "apiserver_storage_list_returned_objects_total",
    "apiserver_storage_list_total", "apiserver_tls_handshake_errors_total",
    "apiserver_validation_duplicate_validation_error_total",
    "apiserver_watch_cache_consistent_read_total", "apiserver_watch_cache_events_dispatched_total",
    "apiserver_watch_cache_events_received_total", "apiserver_watch_cache_initializations_total",
    "apiserver_watch_cache_read_wait_seconds", "apiserver_watch_cache_resource_version",
    "apiserver_webhooks_x509_insecure_sha1_total", "apiserver_webhooks_x509_missing_san_total",
    "authentication_duration_seconds", "authentication_token_cache_active_fetch_count",
    "authentication_token_cache_fetch_total", "authentication_token_cache_request_duration_seconds",
    "authentication_token_cache_request_total", "authorization_duration_seconds",
    "etcd_bookmark_counts", "etcd_bookmark_total", "etcd_lease_object_counts",
    "field_validation_request_duration_seconds", "kube_apiserver_clusterip_allocator_allocated_ips",
    "kube_apiserver_clusterip_allocator_allocation_duration_seconds",
    "kube_apiserver_clusterip_allocator_allocation_total",
    "kube_apiserver_clusterip_allocator_available_ips",
    "kube_apiserver_nodeport_allocator_allocated_ports",
    "kube_apiserver_nodeport_allocator_available_ports",
    "serviceaccount_invalid_legacy_auto_token_uses_total",
    "serviceaccount_legacy_auto_token_uses_total", "serviceaccount_legacy_manual_token_uses_total",
    "serviceaccount_legacy_tokens_total", "serviceaccount_stale_tokens_total",
    "serviceaccount_valid_tokens_total", "watch_cache_capacity",
]  # fmt: skip
"""The alpha metrics of kube-apiserver 1.36.2 that are not served, without those of Go, gRPC and its
own clients."""


def lines() -> list[str]:
    """Return the first words of each line of the lists about kube-apiserver and its controllers,
    without those about recorded answers, which were counted over all recordings."""
    text = (ROOT / "docs/differences.md").read_text(encoding="utf-8")
    about = text.partition("\n## Provisioning compared")[0]
    before, _, rest = about.partition("\n## Recorded answers that differ")
    after = rest.partition("\n## ")[2]
    return [found.strip("* ") for found in re.findall(r"^- (.*)$", before + after, re.MULTILINE)]


@pytest.mark.parametrize("line", lines())
def test_lines_are_shown(line):
    found = [shown for beginning, shown in SHOWN.items() if line.startswith(beginning)]
    assert len(found) == 1, f"show this line by a test, and name it in SHOWN: {line}"
    [shown] = found
    assert (ROOT / shown).is_file() if "/" in shown else shown in globals()


@pytest.mark.parametrize("beginning", SHOWN)
def test_shown_lines_exist(beginning):
    assert any(line.startswith(beginning) for line in lines())


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server():
    async with APIServer(modules="none") as made:
        yield made


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def session(server):
    async with aiohttp.ClientSession(server.url) as made:
        yield made


def pod(**members):
    spec = {"containers": [{"name": "c", "image": "i"}]}
    return {"metadata": {"name": "p", **members}, "spec": spec}


async def exchanged(server, data):
    """Send bytes, and return what the server sends until it closes the connection."""
    host, port = server.url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(data)
    answer = await reader.read()
    writer.close()
    return answer


@in_module
async def test_deep_bodies(session):
    head = {"Content-Type": "application/json"}
    for depth, code in ((200, 400), (241, 400)):
        data = '{"data":' + "[" * depth + "]" * depth + "}"
        async with session.post(MAPS, data=data, headers=head) as answer:
            body = await answer.json()
            assert answer.status == code
        assert ("exceeded max depth" in body["message"]) is (depth > 240), body["message"]


def test_long_quantities():
    assert quantity.parse("1" * 900)
    with pytest.raises(ValueError):
        quantity.parse("1" * 1001)
    with pytest.raises(ValueError):
        quantity.parse("1e2000").add(quantity.parse("1"))


def test_expressions():
    with pytest.raises(cel.CelError):
        cel.compile("lists.range(1000001).size()", {}).evaluate({})
    shown = cel.compile("'%.2000f'.format([1.0])", {}).evaluate({})
    assert shown == "1." + "0" * 1000
    for depth, is_deep in ((50, False), (300, True)):
        text = "(" * depth + "1" + ")" * depth
        if not is_deep:
            assert cel.compile(text, {}).evaluate({}) == 1
            continue
        with pytest.raises(cel.CelError):
            cel.compile(text, {})


@in_module
async def test_compressed_bodies(session):
    head = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    async with session.post(MAPS, data=b"\x1f\x8b0", headers=head) as answer:
        assert answer.status == 400


@in_module
async def test_host_headers(session):
    async with session.get("/version", headers={"Host": "evil.example.com"}) as answer:
        assert answer.status == 403


@in_module
async def test_addresses_without_credentials():
    with pytest.raises(ValueError, match="is not a loopback address"):
        async with APIServer(host="0.0.0.0"):
            pass


@in_module
async def test_malformed_http(server):
    answer = await exchanged(server, b"nonsense\r\n\r\n")
    assert answer.startswith(b"HTTP/1.0 400 ")
    assert b"text/plain" in answer


@in_module
async def test_unknown_client_certificates(tmp_path):
    known, other = trustme.CA(), trustme.CA()
    known.cert_pem.write_to_path(tmp_path / "ca")
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    other.issue_cert("client").configure_cert(context)
    options = {"tls": True, "client_ca_file": tmp_path / "ca", "modules": "none"}
    async with APIServer(**options) as server, aiohttp.ClientSession(server.url) as session:
        with pytest.raises(aiohttp.ClientError):
            await session.get("/version", ssl=context)


@in_module
async def test_protocols_of_tls():
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_alpn_protocols(["h2", "http/1.1"])
    async with APIServer(tls=True, modules="none") as server:
        host, port = server.url.removeprefix("https://").split(":")
        _, writer = await asyncio.open_connection(host, int(port), ssl=context)
        assert writer.get_extra_info("ssl_object").selected_alpn_protocol() in (None, "http/1.1")
        writer.close()


@in_module
@pytest.mark.parametrize("name", ["AlwaysDeny", "ImagePolicyWebhook"])
async def test_plugins_that_end_the_start(name):
    with pytest.raises(ValueError, match=name):
        async with APIServer(enable_admission_plugins=(name,)):
            pass


@in_module
async def test_signatures_of_tokens(session):
    async with session.get("/openid/v1/jwks") as answer:
        [key] = (await answer.json(content_type=None))["keys"]
    assert key["alg"] == "ES256"


@in_module
async def test_services_without_names(session):
    body = {"metadata": {}, "spec": {"ports": [{"port": 80}]}}
    async with session.post("/api/v1/namespaces/default/services", json=body) as answer:
        [cause] = (await answer.json())["details"]["causes"]
    assert cause["field"] == "metadata.name"


@in_module
async def test_characters_of_yaml(session):
    text = "\x7f\x85\uffff"
    body = {"metadata": {"name": "characters-of-yaml"}, "data": {"k": text}}
    async with session.post(MAPS, json=body, headers={"Accept": "application/yaml"}) as answer:
        assert yaml.safe_load(await answer.text())["data"] == {"k": text}


@in_module
async def test_dry_runs_of_the_last_finalizer(session):
    body = {"metadata": {"name": "orphaning", "finalizers": ["orphan"]}}
    async with session.post(MAPS, json=body) as answer:
        uid = (await answer.json())["metadata"]["uid"]
    for options in ({"dryRun": ["All"]}, {}):
        options = {**options, "orphanDependents": False}
        async with session.delete(f"{MAPS}/orphaning", json=options) as answer:
            assert (await answer.json())["details"]["uid"] == uid


@in_module
async def test_claims_have_a_phase(session):
    space = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    path = "/api/v1/namespaces/default/persistentvolumeclaims"
    async with session.post(path, json={"metadata": {"name": "c"}, "spec": space}) as answer:
        made = await answer.json()
    merge = {"Content-Type": "application/merge-patch+json"}
    async with session.patch(f"{path}/c", json={}, headers=merge) as answer:
        after = await answer.json()
    assert after == made
    assert made["status"]["phase"] == "Pending"


@in_module
async def test_characters_of_json(session):
    text = "<&>\u2028\u2029"
    body = {"metadata": {"name": "characters"}, "data": {"k": text}}
    async with session.post(MAPS, json=body) as answer:
        sent = await answer.read()
    assert f'"k":"{text}"'.encode() in sent
    assert sent.endswith(b"}")


@in_module
async def test_first_revision():
    async with (
        APIServer(modules="none") as server,
        aiohttp.ClientSession(server.url) as session,
        session.get(MAPS) as answer,
    ):
        assert 100 <= int((await answer.json())["metadata"]["resourceVersion"]) < 200


@in_module
async def test_version(session):
    async with session.get("/version") as answer:
        found = await answer.json()
    assert found["gitVersion"] == "v1.36.2+inkube"
    assert any("inkube" in name for name in found)
    async with session.get("/api", headers={"Host": "localhost:7"}) as answer:
        [addresses] = (await answer.json())["serverAddressByClientCIDRs"]
    assert addresses["serverAddress"] == "localhost:7"


def test_configurations_that_are_not_supported(tmp_path):
    issuer = {"url": "https://a", "audiences": ["b"], "egressSelectorType": "cluster"}
    names = {"username": {"claim": "sub", "prefix": ""}}
    config = {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "AuthenticationConfiguration",
        "jwt": [{"issuer": issuer, "claimMappings": names}],
    }
    path = tmp_path / "config"
    path.write_text(yaml.safe_dump(config))
    members = authentication.read(path).issuers
    with pytest.raises(ValueError, match="egress selectors are not supported here"):
        authentication.issuers(members, Outgoing(), SystemClock(), Samples(), own=(), algorithms=())
    webhook = {
        "timeout": "3s",
        "authorizedTTL": "5m",
        "unauthorizedTTL": "30s",
        "subjectAccessReviewVersion": "v1",
        "failurePolicy": "Deny",
        "connectionInfo": {"type": "InClusterConfig"},
    }
    config = {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "AuthorizationConfiguration",
        "authorizers": [{"type": "Webhook", "name": "a", "webhook": webhook}],
    }
    with pytest.raises(ValueError, match="this server runs in no cluster"):
        authorization.read(config)


@pytest.mark.parametrize("name", [*kubeflags.UNSUPPORTED_SWITCHES, *kubeflags.UNSUPPORTED_OPTIONS])
def test_every_flag_without_effect_is_named(name):
    text = (ROOT / "docs/differences.md").read_text()
    section = text.partition("### Flags of kube-apiserver")[2].partition("###")[0]
    assert f"`--{name}`" in section
    parsed = flags.parse("kube-apiserver", [f"--{name}=true"], kubeflags.FLAGS)
    assert [*kubeflags.ignored(parsed).lines()] == [f"NOT SUPPORTED here, without effect: --{name}"]


def test_flags_that_are_not_supported(tmp_path):
    path = tmp_path / "encryption"
    path.write_text("{}")
    given = [
        f"--encryption-provider-config={path}",
        "--runtime-config=api/all=true",
        "--feature-gates=AllAlpha=true",
        "--tls-cipher-suites=TLS_RSA_WITH_AES_128_CBC_SHA",
        "--tls-curve-preferences=23",
    ]
    parsed = flags.parse("kube-apiserver", given, kubeflags.FLAGS)
    [line] = kubeflags.ignored(parsed).lines()
    assert line.startswith("NOT SUPPORTED here, without effect: ")
    for flag in ("encryption-provider-config", "runtime-config", "feature-gates=AllAlpha"):
        assert f"--{flag}" in line
    assert "--tls-cipher-suites, --tls-curve-preferences" in line


@in_module
async def test_default_objects(server, session):
    assert (await server.client.list("scheduling.k8s.io/v1/priorityclasses")).items == []
    async with session.get("/apis/scheduling.k8s.io/v1/priorityclasses") as answer:
        items = (await answer.json())["items"]
    assert {each["metadata"]["name"] for each in items} >= {"system-node-critical"}
    assert not any(each["metadata"].get("managedFields") for each in items)


async def test_endpoints_of_servers_that_share_a_store(tmp_path):
    options = {"data": tmp_path / "a.db", "modules": "none", "controllers": False}
    addresses = "10.0.0.1", "10.0.0.2"
    one, other = (APIServer(**options, advertise_address=address) for address in addresses)
    async with one, other:
        for server in (one, other):
            path = f"{server.url}/api/v1/namespaces/default/endpoints/kubernetes"
            async with aiohttp.ClientSession() as http, http.get(path) as answer:
                [subset] = (await answer.json())["subsets"]
            assert [each["ip"] for each in subset["addresses"]] == [addresses[0]]


@in_module
async def test_profiles(session):
    async with session.get("/debug/pprof/") as answer:
        assert answer.status == 404


@in_module
async def test_definitions_without_registrations(session):
    async with session.get("/apis/apiregistration.k8s.io/v1/apiservices") as answer:
        items = (await answer.json())["items"]
    assert not any(each["spec"].get("service") for each in items)


@in_module
async def test_pods_without_nodes(session):
    body = pod(name="bound")
    body["spec"]["nodeName"] = "here"
    async with session.post("/api/v1/nodes", json={"metadata": {"name": "here"}}) as answer:
        assert answer.status == 201
    async with session.post(PODS, json=body) as answer:
        made = await answer.json()
    assert made["status"]["phase"] == "Pending"
    async with session.get(f"{PODS}/bound/log") as answer:
        assert answer.status in (500, 503)


@in_module
async def test_alpha_metrics(session):
    async with session.get("/metrics") as answer:
        served = re.findall(r"^# TYPE (\S+)", await answer.text(), re.MULTILINE)
    text = (ROOT / "docs/differences.md").read_text(encoding="utf-8")
    line = text.partition("- **Alpha metrics of")[2].partition(".**")[0]
    groups = tuple(name.rstrip("…") for name in re.findall(r"`(\S+)`", line))
    assert [name for name in served if name.startswith(groups)] == []
    assert [name for name in ALPHA if not name.startswith(groups)] == []
    assert [group for group in groups if not any(name.startswith(group) for name in ALPHA)] == []
