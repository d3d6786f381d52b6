"""The events of a server's audit log."""

import asyncio
import base64
import contextlib
import gzip
import json
import random
import resource
import ssl
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import yaml
from aiohttp import web
from aiohttp.test_utils import make_mocked_request

from inkube import APIServer
from inkube.apiserver.auth import Outgoing
from inkube.apiserver.auth.auditwebhook import AuditWebhook, Batches
from inkube.apiserver.auth.webhookcalls import Target
from inkube.apiserver.http import audit, auditfiles, auditpolicy, requests
from inkube.apiserver.registry import Lifetime
from inkube.schemas.builtin.protobuf import envelopes

MAPS = "/api/v1/namespaces/default/configmaps"
ONE_STAGE = {"omitStages": ["RequestReceived", "ResponseStarted"]}
RULES = [
    {"level": "None", "resources": [{"group": "", "resources": ["secrets"]}]},
    {"level": "RequestResponse", "verbs": ["create"], "omitManagedFields": True},
    {"level": "Request", "verbs": ["update"]},
    {"level": "Metadata", "nonResourceURLs": ["/version*"]},
    {"level": "None", "nonResourceURLs": ["*"]},
    {"level": "Metadata"},
]


async def asked(folder, web_of, policy, *requests):
    """Return the audit events of a server with this policy for these requests."""
    log, file = folder / "audit.log", None
    if policy is not None:
        file = folder / "policy.yaml"
        file.write_text(
            yaml.safe_dump(
                {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", **ONE_STAGE, **policy}
            )
        )
    async with APIServer(audit_log=log, audit_policy_file=file) as server, web_of(server) as web:
        for method, path, body in requests:
            await web.ask(method, path, body)
    return [json.loads(line) for line in log.read_text().splitlines()]


def config_map(name, **data):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


@pytest.mark.asyncio
async def test_without_a_policy_every_request_has_an_event_without_bodies(tmp_path, web_of):
    [event] = await asked(tmp_path, web_of, None, ("POST", MAPS, config_map("a")))
    assert (event["level"], event["stage"], event["verb"]) == (
        "Metadata", "ResponseComplete", "create",
    )  # fmt: skip
    assert event["objectRef"] == {
        "resource": "configmaps", "namespace": "default", "name": "a", "apiVersion": "v1",
    }  # fmt: skip
    assert event["responseStatus"] == {"metadata": {}, "code": 201}
    assert event["user"]["username"] == "system:admin"
    assert event["annotations"]["authorization.k8s.io/decision"] == "allow"
    assert "requestObject" not in event


@pytest.mark.asyncio
async def test_the_first_matching_rule_decides_the_level(tmp_path, web_of):
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}
    made, changed, read, version = await asked(
        tmp_path,
        web_of,
        {"rules": RULES},
        ("POST", "/api/v1/namespaces/default/secrets", secret),
        ("POST", MAPS, config_map("a", x="1")),
        ("PUT", f"{MAPS}/a", config_map("a", x="2")),
        ("GET", f"{MAPS}/a", None),
        ("GET", "/version", None),
        ("GET", "/livez", None),
    )
    assert made["requestObject"]["data"] == {"x": "1"}
    assert made["responseObject"]["metadata"]["name"] == "a"
    assert "managedFields" not in made["responseObject"]["metadata"]
    assert changed["requestObject"]["data"] == {"x": "2"}
    assert "responseObject" not in changed
    assert (read["verb"], read["level"]) == ("get", "Metadata")
    assert version["requestURI"] == "/version"


@pytest.mark.asyncio
async def test_token_requests_are_logged_as_they_are_read(tmp_path, web_of):
    """The expected events are those of kube-apiserver 1.36.2."""
    account = {"metadata": {"name": "bot"}}
    path = "/api/v1/namespaces/default/serviceaccounts"
    _, event = await asked(
        tmp_path,
        web_of,
        {"rules": [{"level": "RequestResponse"}]},
        ("POST", path, account),
        ("POST", f"{path}/bot/token", {"spec": {"audiences": ["x"]}}),
    )
    spec = {"audiences": ["x"], "expirationSeconds": 3600, "boundObjectRef": None}
    assert event["requestObject"] == {
        "kind": "TokenRequest",
        "apiVersion": "authentication.k8s.io/v1",
        "metadata": {},
        "spec": spec,
        "status": {"token": "", "expirationTimestamp": None},
    }
    assert event["responseObject"]["spec"] == spec
    [owner] = event["responseObject"]["metadata"]["managedFields"]
    assert owner["fieldsV1"] == {"f:spec": {"f:audiences": {}, "f:expirationSeconds": {}}}
    assert (owner["apiVersion"], owner["subresource"]) == ("authentication.k8s.io/v1", "token")


@pytest.mark.parametrize(("audiences", "is_owned"), [([], True), (None, False)])
@pytest.mark.asyncio
async def test_empty_audiences_of_a_token_request_have_an_owner(
    tmp_path, web_of, audiences, is_owned
):
    """As in kube-apiserver 1.36.2: an object that is not stored keeps the lists that Go writes."""
    path = "/api/v1/namespaces/default/serviceaccounts"
    _, event = await asked(
        tmp_path,
        web_of,
        {"rules": [{"level": "RequestResponse"}]},
        ("POST", path, {"metadata": {"name": "bot"}}),
        ("POST", f"{path}/bot/token", {"spec": {"audiences": audiences}}),
    )
    assert event["requestObject"]["spec"]["audiences"] == audiences
    [owner] = event["responseObject"]["metadata"]["managedFields"]
    assert ("f:audiences" in owner["fieldsV1"]["f:spec"]) == is_owned


@pytest.mark.parametrize("rules", [[], None])
@pytest.mark.asyncio
async def test_an_empty_list_that_go_writes_is_logged(tmp_path, web_of, rules):
    path = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
    role = {"metadata": {"name": "a"}, "rules": rules}
    [event] = await asked(
        tmp_path, web_of, {"rules": [{"level": "RequestResponse"}]}, ("POST", path, role)
    )
    assert event["requestObject"]["rules"] == rules
    assert event["responseObject"]["rules"] is None


def test_a_connect_request_has_its_target_as_uri():
    request = make_mocked_request("CONNECT", "/api/v1/pods?a=b&access_token=x")
    assert requests.loggable_target(request) == "/api/v1/pods?a=b&access_token=REDACTED"


@pytest.mark.asyncio
async def test_audit_events_of_failed_requests_have_the_reason(tmp_path, web_of):
    [event] = await asked(tmp_path, web_of, None, ("GET", f"{MAPS}/none", None))
    assert event["responseStatus"]["code"] == 404
    assert event["responseStatus"]["reason"] == "NotFound"


@pytest.mark.asyncio
async def test_policies_leave_annotations(tmp_path, web_of):
    group = "admissionregistration.k8s.io/v1"
    policy = {
        "apiVersion": group,
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": "p.example.com"},
        "spec": {
            "matchConstraints": {
                "resourceRules": [
                    {
                        "apiGroups": [""],
                        "apiVersions": ["v1"],
                        "resources": ["configmaps"],
                        "operations": ["CREATE"],
                    }
                ]
            },
            "validations": [
                {"expression": "false", "message": "never"},
                {"expression": "1 == 2", "message": "the second one is not noted"},
            ],
            "auditAnnotations": [{"key": "who", "valueExpression": "string(object.metadata.name)"}],
        },
    }
    binding = {
        "apiVersion": group,
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": "b.example.com"},
        "spec": {"policyName": "p.example.com", "validationActions": ["Audit"]},
    }
    base = f"/apis/{group}"
    *_, event = await asked(
        tmp_path,
        web_of,
        None,
        ("POST", f"{base}/validatingadmissionpolicies", policy),
        ("POST", f"{base}/validatingadmissionpolicybindings", binding),
        ("POST", MAPS, config_map("a")),
    )
    told = event["annotations"]
    assert told["p.example.com/who"] == "a"
    [failure] = json.loads(told["validation.policy.admission.k8s.io/validation_failure"])
    assert failure == {
        "message": "never",
        "policy": "p.example.com",
        "binding": "b.example.com",
        "expressionIndex": 0,
        "validationActions": ["Audit"],
    }


@pytest.mark.asyncio
@pytest.mark.parametrize("mode", ["AlwaysAllow", "RBAC"])
async def test_a_user_that_acts_as_another_is_named_beside_it(tmp_path, web_of, mode):
    log, tokens = tmp_path / "audit.log", tmp_path / "tokens.csv"
    tokens.write_text('a,ann,1,"system:masters"\nb,ben,2,\n')
    options: Any = {"audit_log": log, "token_auth_file": tokens, "authorization_mode": mode}
    async with APIServer(**options) as server, web_of(server) as web:
        for token in ("a", "b"):
            headers = {"Authorization": f"Bearer {token}", "Impersonate_User": "bob"}
            await web.ask("GET", MAPS, **headers)
            await web.ask("GET", MAPS, Authorization=f"Bearer {token}")
    as_bob, ann, *others = [json.loads(line) for line in log.read_text().splitlines()]
    assert as_bob["user"]["username"] == ann["user"]["username"] == "ann"
    bob = {"username": "bob", "groups": ["system:authenticated"]}
    assert as_bob["impersonatedUser"] == bob, "although bob may not read them under RBAC"
    constraint = {"impersonationConstraint": "impersonate:user-info"}
    assert as_bob["authenticationMetadata"] == constraint
    assert "impersonatedUser" not in ann
    assert [each["user"]["username"] for each in others] == ["ben", "ben"]
    assert ("impersonatedUser" in others[0]) is (mode == "AlwaysAllow"), "not if it is refused"
    decisions = [
        each.get("annotations", {}).get("authorization.k8s.io/decision") for each in others
    ]
    # a refused impersonation ends a request before it is authorized
    assert decisions == (["allow", "allow"] if mode == "AlwaysAllow" else [None, "forbid"])


_TO_STANDARD_OUTPUT = """
import asyncio, urllib.request
from pathlib import Path
from inkube import APIServer
from inkube.apiserver.http import auditfiles
from inkube.schemas.builtin.protobuf import envelopes

async def main():
    async with APIServer(audit_log=Path("-"), modules="none") as server:
        await asyncio.to_thread(lambda: urllib.request.urlopen(server.url + "/version").read())

asyncio.run(main())
print("still open")
"""


def test_a_hyphen_is_standard_output(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", _TO_STANDARD_OUTPUT],
        capture_output=True, text=True, check=True, timeout=60, cwd=tmp_path,
    )  # fmt: skip
    event, last = done.stdout.splitlines()
    assert json.loads(event)["requestURI"] == "/version"
    assert last == "still open"
    assert not list(tmp_path.iterdir())


RECEIVED = "2026-11-26T15:09:46.512138Z"
EVENT = {
    "auditID": "1",
    "stage": "ResponseComplete",
    "verb": "get",
    "user": {"username": "alice", "groups": ["a", "b"]},
    "sourceIPs": ["127.0.0.1"],
    "userAgent": "curl",
    "requestURI": "/api/v1/pods",
    "responseStatus": {"code": 200},
    "requestReceivedTimestamp": RECEIVED,
}


def test_the_legacy_format_is_a_line_of_text(tmp_path):
    log = auditfiles.AuditFile(tmp_path / "log", auditfiles.Settings("legacy"))
    log.append(EVENT)
    log.close()
    assert (tmp_path / "log").read_text() == (
        f'{RECEIVED} AUDIT: id="1" stage="ResponseComplete" ip="127.0.0.1" method="get" '
        'user="alice" groups="\\"a\\",\\"b\\"" as="<self>" asgroups="<lookup>" '
        'user-agent="curl" namespace="<none>" uri="/api/v1/pods" response="200"\n'
    )


def test_a_full_file_is_renamed_and_old_ones_are_removed(tmp_path):
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    settings = auditfiles.Settings(max_megabytes=1, max_files=2, max_days=10)
    log = auditfiles.AuditFile(tmp_path / "audit.log", settings, lambda: moment)
    (tmp_path / "audit-other.log").write_text("of somebody else")
    for day in range(5):
        moment = datetime(2026, 1, 1 + day, tzinfo=UTC)
        log.append({**EVENT, "requestURI": "x" * 900_000})
    names = ["audit-2026-01-04T00-00-00.000.log", "audit-2026-01-05T00-00-00.000.log"]
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        *names, "audit-other.log", "audit.log",
    ]  # fmt: skip
    moment = datetime(2026, 1, 20, tzinfo=UTC)
    log.append({**EVENT, "requestURI": "x" * 900_000})
    log.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "audit-2026-01-20T00-00-00.000.log", "audit-other.log", "audit.log",
    ]  # fmt: skip
    assert (tmp_path / "audit.log").stat().st_mode & 0o077 == 0


def test_a_full_file_is_compressed(tmp_path):
    moments = iter(datetime(2026, 1, day, tzinfo=UTC) for day in range(1, 9))
    settings = auditfiles.Settings(max_megabytes=1, max_files=2, compresses=True)
    log = auditfiles.AuditFile(tmp_path / "audit.log", settings, lambda: next(moments))
    for _ in range(4):
        log.append({**EVENT, "requestURI": "x" * 900_000})
    log.close()
    *full, _current = sorted(path.name for path in tmp_path.iterdir())
    assert full == [
        "audit-2026-01-02T00-00-00.000.log.gz", "audit-2026-01-03T00-00-00.000.log.gz",
    ]  # fmt: skip
    assert (
        json.loads(gzip.decompress((tmp_path / full[0]).read_bytes()))["auditID"]
        == EVENT["auditID"]
    )


@contextlib.contextmanager
def files_up_to(size):
    """In the block, files take no more bytes, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def readable(path):
    """Return the ids of the events in the lines of a log that can be read."""
    for line in path.read_text().splitlines():
        with contextlib.suppress(ValueError):
            yield json.loads(line)["auditID"]


@pytest.mark.parametrize("next_writer", ["same", "new", "other"])
@pytest.mark.parametrize("again", [0, 1, 100])
def test_every_event_that_a_full_disk_takes_can_be_read(tmp_path, again, next_writer):
    """Whatever room is left for it: a part of an event does not spoil the next one, not that of
    another worker either."""
    size = len(json.dumps(EVENT, separators=(",", ":"))) + 1
    for room in range(size + 1):
        path, taken = tmp_path / f"{room}.log", ["1"]
        log, other = auditfiles.AuditFile(path), auditfiles.AuditFile(path)
        log.append(EVENT)
        with files_up_to(size + room):
            if room < size:
                with pytest.raises(OSError, match="File too large"):
                    log.append({**EVENT, "auditID": "2"})
            else:
                log.append({**EVENT, "auditID": "2"})
                taken.append("2")
        with files_up_to(path.stat().st_size + again), contextlib.suppress(OSError):
            log.append({**EVENT, "auditID": "3"})
        if next_writer == "new":
            log.close()
            log = auditfiles.AuditFile(path)
        writers = [log, other] if next_writer != "other" else [other, log]
        for number, writer in enumerate(writers, 4):
            writer.append({**EVENT, "auditID": str(number)})
            writer.close()
        found = [each for each in readable(path) if each in (*taken, "4", "5")]
        assert found == [*taken, "4", "5"], room  # 2: but for its end


@pytest.mark.parametrize("renamer", [0, 1])
def test_a_part_of_an_event_stays_in_the_file_that_is_renamed(tmp_path, renamer):
    moment, settings = datetime(2026, 1, 1, tzinfo=UTC), auditfiles.Settings(max_megabytes=1)
    path = tmp_path / "audit.log"
    workers = [auditfiles.AuditFile(path, settings, lambda: moment) for _ in range(2)]
    workers[0].append({**EVENT, "requestURI": "x" * 600_000})
    with files_up_to(700_000), pytest.raises(OSError, match="File too large"):
        workers[0].append({**EVENT, "auditID": "2", "requestURI": "x" * 200_000})
    workers[renamer].append({**EVENT, "auditID": "3", "requestURI": "x" * 600_000})
    workers[1 - renamer].append({**EVENT, "auditID": "4"})
    for worker in workers:
        worker.close()
    full, current = sorted(tmp_path.iterdir())
    assert [list(readable(each)) for each in (full, current)] == [["1"], ["3", "4"]]


WRITES = """
import sys
from pathlib import Path
from inkube.apiserver.http import auditfiles

log = auditfiles.AuditFile(Path(sys.argv[1]), auditfiles.Settings(max_megabytes=1))
print(flush=True)
sys.stdin.readline()
for number in range(300):
    log.append({"auditID": f"{sys.argv[2]}-{number}", "requestURI": "x" * 20_000})
"""


def test_processes_that_share_a_file_lose_no_line_when_they_rename_it(tmp_path):
    path, pipe = tmp_path / "audit.log", subprocess.PIPE
    workers = [
        subprocess.Popen([sys.executable, "-c", WRITES, path, name], stdin=pipe, stdout=pipe)
        for name in "abc"
    ]
    for worker in workers:
        assert worker.stdout is not None
        assert worker.stdout.readline() == b"\n"
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write(b"\n")
        worker.stdin.flush()
    for worker in workers:
        worker.communicate()
    assert [worker.returncode for worker in workers] == [0, 0, 0]
    found = [found for file in tmp_path.iterdir() for found in readable(file)]
    assert sorted(found) == sorted(f"{name}-{number}" for name in "abc" for number in range(300))
    assert max(file.stat().st_size for file in tmp_path.iterdir()) <= 1024 * 1024


def test_a_full_file_that_cannot_be_compressed_remains(tmp_path):
    moments = iter(datetime(2026, 1, day, tzinfo=UTC) for day in range(1, 9))
    settings = auditfiles.Settings(max_megabytes=1, compresses=True)
    log = auditfiles.AuditFile(tmp_path / "audit.log", settings, lambda: next(moments))
    noise = base64.b64encode(random.Random(1).randbytes(760_000)).decode()  # 1.01 MB
    with contextlib.closing(log):
        log.append({**EVENT, "requestURI": noise})
        with files_up_to(100_000):
            log.append({**EVENT, "auditID": "2", "requestURI": "x" * 50_000})
        log.append({**EVENT, "auditID": "3", "requestURI": noise})
    first, second, current = sorted(tmp_path.iterdir())
    assert list(readable(first)) == ["1"]
    assert json.loads(gzip.decompress(second.read_bytes()))["auditID"] == "2"
    assert list(readable(current)) == ["3"]


def test_workers_that_share_a_file_lose_no_line_when_one_renames_it(tmp_path):
    moment, settings = datetime(2026, 1, 1, tzinfo=UTC), auditfiles.Settings(max_megabytes=1)
    path = tmp_path / "audit.log"
    workers = [auditfiles.AuditFile(path, settings, lambda: moment) for _ in range(2)]
    for number in range(12):
        event = {**EVENT, "auditID": str(number), "requestURI": "x" * 300_000}
        workers[number % 2].append(event)
    for worker in workers:
        worker.close()
    files = list(tmp_path.iterdir())
    assert len(files) == 4
    assert all(file.stat().st_size <= 1024 * 1024 for file in files)
    lines = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    assert sorted(int(line["auditID"]) for line in lines) == list(range(12))


@pytest.mark.asyncio
async def test_bodies_of_protobuf_are_logged_as_json(tmp_path, web_of):
    log, policy = tmp_path / "audit.log", tmp_path / "policy.yaml"
    rules = [{"level": "RequestResponse"}]
    head = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy"}
    policy.write_text(yaml.safe_dump({**head, **ONE_STAGE, "rules": rules}))
    media = "application/vnd.kubernetes.protobuf"
    body = envelopes.encode_envelope(config_map("a", x="1"))
    async with APIServer(audit_log=log, audit_policy_file=policy) as server, web_of(server) as web:
        made = await web.ask("POST", MAPS, body, Content_Type=media, Accept=media)
        await web.ask("POST", MAPS, body[:20], Content_Type=media)
    assert made.code == 201
    first, second = map(json.loads, log.read_text().splitlines())
    assert first["requestObject"]["data"] == {"x": "1"}
    assert first["responseObject"]["metadata"]["name"] == "a"
    assert "requestObject" not in second


@pytest.mark.asyncio
async def test_the_reason_of_an_authorization_is_an_annotation(tmp_path, web_of):
    (tmp_path / "tokens").write_text("t,alice,1\n")
    log = tmp_path / "audit.log"
    async with (
        APIServer(
            audit_log=log, token_auth_file=tmp_path / "tokens", authorization_mode="RBAC"
        ) as server,
        web_of(server) as web,
    ):
        await web.ask("GET", "/version", Authorization="Bearer t")
        await web.ask("GET", MAPS, Authorization="Bearer t")
    allowed, forbidden = (json.loads(line)["annotations"] for line in log.read_text().splitlines())
    assert allowed["authorization.k8s.io/decision"] == "allow"
    assert allowed["authorization.k8s.io/reason"].startswith("RBAC: allowed by ClusterRoleBinding")
    assert forbidden == {
        "authorization.k8s.io/decision": "forbid", "authorization.k8s.io/reason": "",
    }  # fmt: skip


async def events_of(folder, options, use, **policy):
    """Return the audit events of a server with this policy, while `use` uses it."""
    log, file = folder / "audit.log", folder / "policy.yaml"
    policy = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", **policy}
    file.write_text(yaml.safe_dump(policy))
    async with APIServer(audit_log=log, audit_policy_file=file, **options) as server:
        await use(server)
    return [json.loads(line) for line in log.read_text().splitlines()]


@pytest.mark.asyncio
async def test_each_stage_of_a_request_is_an_event(tmp_path, web_of):
    tokens = tmp_path / "tokens.csv"
    tokens.write_text('t,ada,1,"system:masters"\n')

    async def use(server):
        async with web_of(server) as web:
            mine = {"Authorization": "Bearer t"}
            await web.ask("GET", f"{MAPS}/a", **mine)
            await web.ask("GET", f"{MAPS}?watch=true&timeoutSeconds=1", **mine)
            await web.ask("GET", f"{MAPS}?watch=true&fieldSelector=x", **mine)
            await web.ask("GET", MAPS, Authorization="Bearer wrong")

    options = {"token_auth_file": tokens, "modules": "none", "authorization_mode": "RBAC"}
    events = await events_of(tmp_path, options, use, rules=[{"level": "RequestResponse"}])
    stages = [(each["verb"], each["stage"], each.get("responseStatus", {}).get("code"))
              for each in events]  # fmt: skip
    assert stages == [
        ("get", "RequestReceived", None),
        ("get", "ResponseComplete", 404),
        ("watch", "RequestReceived", None),
        ("watch", "ResponseStarted", 200),
        ("watch", "ResponseComplete", 200),
        ("watch", "RequestReceived", None),
        ("watch", "ResponseStarted", 400),
        ("watch", "ResponseComplete", 400),
        ("list", "ResponseStarted", 401),
    ]
    received, complete = events[:2]
    assert received["stageTimestamp"] == received["requestReceivedTimestamp"]
    assert received["user"]["username"] == "ada"
    assert "annotations" not in received
    assert received["auditID"] == complete["auditID"]
    refused = events[-1]
    assert (refused["user"], refused["responseStatus"]) == (
        {},
        {
            "metadata": {},
            "code": 401,
            "message": "Unauthorized",
            "reason": "Unauthorized",
            "status": "Failure",
        },
    )


@pytest.mark.asyncio
async def test_bodies_of_yaml_and_patches_are_logged_as_json(tmp_path, web_of):
    patch = [{"op": "add", "path": "/data", "value": {"x": "2"}}]

    async def use(server):
        async with web_of(server) as web:
            body = yaml.safe_dump(config_map("a", x="1"))
            await web.ask("POST", MAPS, body.encode(), **{"Content-Type": "application/yaml"})
            media = {"Content-Type": "application/json-patch+json"}
            await web.ask("PATCH", f"{MAPS}/a", json.dumps(patch).encode(), **media)
            media = {"Content-Type": "application/apply-patch+yaml"}
            await web.ask("PATCH", f"{MAPS}/a?fieldManager=me&force=true", body.encode(), **media)
            await web.ask("PATCH", f"{MAPS}/a?fieldManager=me", b"{", **media)

    rules = [{"level": "Request", "resources": [{"group": "", "resources": ["configmaps/*"]}]}]
    options = {"modules": "none"}
    made, patched, applied, refused = await events_of(
        tmp_path, options, use, rules=rules, **ONE_STAGE
    )
    assert made["requestObject"]["data"] == {"x": "1"}
    assert patched["requestObject"] == patch
    assert applied["requestObject"] == config_map("a", x="1")
    assert refused["responseStatus"]["code"] == 400
    assert "requestObject" not in refused


@contextlib.asynccontextmanager
async def audit_webhook(folder, accept):
    """A running webhook that calls a function with each list of events; the path of its
    kubeconfig."""

    async def answer(request):
        assert request.path_qs == "/audit?timeout=30s"
        code = await accept(await request.json())
        return web.Response(status=code or 200)

    runner = web.ServerRunner(web.Server(answer))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    config = folder / "webhook"
    cluster = {"server": f"http://127.0.0.1:{runner.addresses[0][1]}/audit/?dropped"}
    config.write_text(json.dumps({"clusters": [{"name": "", "cluster": cluster}]}))
    try:
        yield config
    finally:
        await runner.cleanup()


@pytest.mark.asyncio
async def test_a_webhook_receives_events(tmp_path, web_of):
    received = []

    async def accept(events):
        received.append(events)

    async with (
        audit_webhook(tmp_path, accept) as config,
        APIServer(audit_webhook_config_file=config, modules="none") as server,
        web_of(server) as client,
    ):
        await client.ask("GET", f"{MAPS}/a")
        await client.ask("GET", f"{MAPS}/b")
        assert not received, "a batch is not full"
    [events] = received
    assert (events["kind"], events["apiVersion"]) == ("EventList", "audit.k8s.io/v1")
    names = [event["objectRef"]["name"] for event in events["items"]]
    assert names == ["a", "b"]


@pytest.mark.asyncio
async def test_requests_wait_for_a_blocking_webhook_at_their_beginning_and_their_end(
    tmp_path, web_of
):
    policy, seen = tmp_path / "policy", []
    policy.write_text(
        json.dumps(
            {
                "apiVersion": "audit.k8s.io/v1",
                "kind": "Policy",
                "rules": [{"level": "Metadata", "verbs": ["create"]}],
            }
        )
    )

    async def accept(events):
        stored = (await server.client.list("v1/configmaps", "default")).items
        names = [each["metadata"]["name"] for each in stored]
        seen.append((events["items"][0]["stage"], "a" in names))

    async with (
        audit_webhook(tmp_path, accept) as config,
        APIServer(
            audit_webhook_config_file=config,
            audit_webhook_mode="blocking",
            audit_policy_file=policy,
            modules="none",
        ) as server,
        web_of(server) as client,
    ):
        await client.ask("POST", MAPS, config_map("a"))
        assert seen == [("RequestReceived", False), ("ResponseComplete", True)]


@pytest.mark.asyncio
async def test_a_strict_webhook_that_fails_ends_requests(tmp_path, web_of):
    calls = []

    async def accept(events):
        calls.append(events)
        return 403

    policy = tmp_path / "policy"
    rules = [{"level": "Metadata", "verbs": ["create"]}]
    policy.write_text(
        json.dumps({"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": rules})
    )
    async with (
        audit_webhook(tmp_path, accept) as config,
        APIServer(
            audit_webhook_config_file=config,
            audit_webhook_mode="blocking-strict",
            audit_webhook_initial_backoff=0.0,
            audit_policy_file=policy,
            modules="none",
        ) as server,
        web_of(server) as client,
    ):
        answer = await client.ask("POST", MAPS, config_map("a"))
        assert answer.code == 500
        assert b"failed to store audit event" in answer.body
        assert (await client.ask("GET", f"{MAPS}/a")).code == 404
    assert len(calls) >= 5, "each batch is sent five times"


@pytest.mark.asyncio
async def test_events_beyond_the_buffer_are_refused():
    target = Target("http://127.0.0.1:1", ssl.create_default_context(), {})
    sink = AuditWebhook(target, Outgoing(), Batches(mode="blocking", buffer=2))
    sink.append({"auditID": "1"})
    sink.append({"auditID": "2"})
    with pytest.raises(OSError, match="audit buffer queue blocked"):
        sink.append({"auditID": "3"})


@pytest.mark.asyncio
async def test_large_events_lose_their_bodies(tmp_path, web_of):
    options = {
        "audit_log_truncate_enabled": True,
        "audit_log_truncate_max_event_size": 2000,
        "modules": "none",
    }

    async def use(server):
        async with web_of(server) as client:
            await client.ask("POST", MAPS, config_map("small"))
            await client.ask("POST", MAPS, config_map("large", x="x" * 3000))

    rules = [{"level": "Request", "verbs": ["create"]}]
    small, large = await events_of(tmp_path, options, use, rules=rules, **ONE_STAGE)
    assert small["requestObject"]
    assert "requestObject" not in large
    assert large["annotations"]["audit.k8s.io/truncated"] == "true"
    assert large["objectRef"]["name"] == "large"


@pytest.mark.asyncio
async def test_an_event_has_the_id_addresses_and_agent_of_its_request(tmp_path, web_of):
    head = {
        "Audit-ID": "mine-7",
        "X-Forwarded-For": "10.1.2.3, nobody, fd00::7",
        "X-Real-Ip": "10.1.2.3",
        "User-Agent": "a" * 1025,
    }

    async def use(server):
        async with web_of(server) as client:
            answer = await client.ask("GET", f"{MAPS}/a", **head)
            assert answer.headers["Audit-Id"] == "mine-7"

    rules = [{"level": "Metadata", "verbs": ["get"]}]
    [event] = await events_of(tmp_path, {"modules": "none"}, use, rules=rules, **ONE_STAGE)
    assert event["auditID"] == "mine-7"
    assert event["sourceIPs"] == ["10.1.2.3", "fd00::7", "127.0.0.1"]
    assert event["userAgent"] == f"{'a' * 1024}...TRUNCATED"


@pytest.mark.asyncio
async def test_a_slow_request_has_annotations_about_its_time():
    lifetime = Lifetime(asyncio.timeout(60))
    lifetime.wait("mutating-webhook", 0.25)
    lifetime.wait("mutating-webhook", 0.5)
    request = audit.FinishedRequest(requests.parse("GET", MAPS), MAPS, (), "", 200)
    for ago, is_long, told in (
        (0, False, set()),
        (1, True, set()),
        (1, False, {"mutating-webhook", "total"}),
    ):
        received = datetime.now(UTC) - timedelta(seconds=ago)
        context = audit.RequestContext("id", received, lifetime=lifetime, decision="allow")
        finished = request._replace(is_long=is_long)
        annotations = audit.event(finished, context, "Metadata")["annotations"]
        found = {
            name.removeprefix("apiserver.latency.k8s.io/"): value
            for name, value in annotations.items()
            if name.startswith("apiserver.latency")
        }
        assert set(found) == told
    assert found["mutating-webhook"] == "750ms"


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (
            {"omitStages": ["Never"]},
            'omitStages[0]: Invalid value: "Never": allowed stages are Req',
        ),
        ({"rules": [{}]}, "rules[0].level: Required value"),
        ({"rules": [{"level": "None", "nonResourceURLs": ["a"]}]}, "must begin with a '/'"),
        (
            {"rules": [{"level": "None", "nonResourceURLs": ["/*/a"]}]},
            "must be the final character",
        ),
        (
            {"rules": [{"level": "None", "nonResourceURLs": ["/a"], "namespaces": ["b"]}]},
            "rules cannot apply to both regular resources and non-resource URLs",
        ),
        (
            {"rules": [{"level": "None", "resources": [{"resourceNames": ["a"]}]}]},
            "using resourceNames requires at least one resource",
        ),
        ({"rules": [{"level": "None", "resources": [{"group": "A"}]}]}, "resources.group: Invalid"),
        (
            {"rules": [{"level": "None", "namespaces": [False]}]},  # "n" in YAML
            "cannot unmarshal bool into Go struct field PolicyRule.rules.namespaces of type string",
        ),
        (
            {"rules": [{"level": "None", "resources": [{"resources": "pods"}]}]},
            "string into Go struct field GroupResources.rules.resources.resources of type []string",
        ),
        ({"rules": {}}, "object into Go struct field Policy.rules of type []v1.PolicyRule"),
        ({"rules": ["a"]}, "string into Go struct field Policy.rules of type v1.PolicyRule"),
    ],
)
def test_an_invalid_policy_is_refused(tmp_path, change, why):
    file = tmp_path / "policy.yaml"
    policy = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": [{"level": "None"}]}
    file.write_text(yaml.safe_dump({**policy, **change}))
    with pytest.raises(ValueError, match="loading audit policy file: ") as error:
        auditpolicy.read_policy(file)
    assert why in str(error.value)


@pytest.mark.asyncio
async def test_objects_of_requests_are_as_the_server_reads_them(tmp_path, web_of):
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    review = {"spec": {"resourceAttributes": {"verb": "get"}}}
    pods = f"{MAPS.rpartition('/')[0]}/pods"
    level = {"rules": [{"level": "RequestResponse"}], "omitStages": ["RequestReceived"]}
    created, reviewed, other, deleted, refused, begun, ended, unsaid = await asked(
        tmp_path,
        web_of,
        level,
        ("POST", pods, pod),
        ("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review),
        ("POST", MAPS, {"kind": "Secret", "apiVersion": "v1", "metadata": {"name": "a"}}),
        ("DELETE", f"{pods}/p", {"gracePeriodSeconds": 0}),
        ("POST", MAPS, {"metadata": {"name": 7}}),
        ("GET", f"{MAPS}?watch=true&resourceVersion=abc", None),
        ("GET", "/openapi/v2", None),
    )
    head = created["requestObject"]["kind"], created["requestObject"]["apiVersion"]
    assert head == ("Pod", "v1")
    assert created["requestObject"]["spec"]["restartPolicy"] == "Always"
    assert "uid" not in created["requestObject"]["metadata"]
    assert reviewed["requestObject"]["status"] == {"allowed": False}
    assert "requestObject" not in other
    assert "requestObject" not in refused
    assert deleted["requestObject"] == {
        "kind": "DeleteOptions",
        "apiVersion": "meta.k8s.io/__internal",
        "gracePeriodSeconds": 0,
    }
    assert [begun["stage"], ended["stage"]] == ["ResponseStarted", "ResponseComplete"]
    assert begun["responseObject"] == ended["responseObject"]
    assert begun["responseStatus"]["status"] == "Failure"
    assert "responseObject" not in unsaid  # it is no object of a kind


@pytest.mark.asyncio
async def test_a_status_of_success_is_the_status_of_the_event(tmp_path, web_of):
    path = "/api/v1/nodes"
    made, gone = await asked(
        tmp_path,
        web_of,
        {"rules": [{"level": "Metadata"}]},
        ("POST", path, {"metadata": {"name": "n"}}),
        ("DELETE", f"{path}/n", None),
    )
    assert made["responseStatus"] == {"metadata": {}, "code": 201}
    assert gone["responseStatus"]["status"] == "Success"
    assert gone["responseStatus"]["details"]["name"] == "n"


@pytest.mark.asyncio
async def test_an_empty_stream_begins_once(tmp_path, web_of):
    spec = {"containers": [{"name": "c", "image": "i"}]}
    pods = f"{MAPS.rpartition('/')[0]}/pods"
    _, *log = await asked(
        tmp_path,
        web_of,
        {"rules": [{"level": "Metadata"}], "omitStages": ["RequestReceived"]},
        ("POST", pods, {"metadata": {"name": "p"}, "spec": spec}),
        ("GET", f"{pods}/p/log", None),
    )
    assert [each["stage"] for each in log] == ["ResponseStarted", "ResponseComplete"]


@pytest.mark.asyncio
async def test_generated_names_are_not_names_of_requests(tmp_path, web_of):
    made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "a-"}}
    [event] = await asked(tmp_path, web_of, None, ("POST", MAPS, made))
    assert event["responseStatus"]["code"] == 201
    assert "name" not in event["objectRef"]
