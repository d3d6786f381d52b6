"""The folder of assets that replaces kube-apiserver's and etcd's binaries for envtest and
similar."""

import asyncio
import base64
import contextlib
import json
import signal
import subprocess
import sys
from pathlib import Path

import aiohttp
import pytest
import pytest_asyncio
from aiohttp import web
from endpoints import LEAF, serving
from patience import SECONDS
from ports import free_port
from starters import Envtest, Jenvtest, cpu_seconds

import inkube

HOME = str(Path(inkube.__path__[0]).absolute().parent)
HERE = "/api/v1/namespaces/default"
CONFIG_MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}


@pytest.fixture(scope="module")
def assets(tmp_path_factory):
    """A folder of assets, written by the command."""
    folder = tmp_path_factory.mktemp("assets") / "bin"
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("PYTHONPATH", HOME)
        done = written(folder)
        assert (done.returncode, done.stdout) == (0, f"{folder}\n"), done.stderr
        yield folder


def written(folder):
    return subprocess.run(
        [sys.executable, "-m", "inkube", "envtest-assets", str(folder)],
        capture_output=True, text=True, check=False, timeout=SECONDS,
    )  # fmt: skip


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def envtest(assets, tmp_path_factory):
    """A running envtest."""
    made = Envtest(assets, tmp_path_factory.mktemp("envtest"))
    try:
        assert json.loads(await made.start_etcd())["health"] == "true"
        assert await made.start_api() == "ok"
        yield made
    finally:
        await made.kill()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def admin(envtest):
    async with envtest.user() as made:
        yield made


async def asked(session, method, path, body=None):
    async with session.request(method, path, json=body) as answer:
        return answer.status, await answer.json(content_type=None)


@pytest.mark.asyncio(loop_scope="module")
async def test_a_user_of_envtests_authority_may_do_what_their_group_may(envtest, admin):
    assert (await asked(admin, "GET", HERE))[0] == 200
    async with envtest.user("nobody", "") as nobody:
        code, refused = await asked(nobody, "GET", f"{HERE}/configmaps")
    assert code == 403
    assert 'User "nobody" cannot list resource "configmaps"' in refused["message"]


@pytest.mark.asyncio(loop_scope="module")
async def test_tokens_are_of_the_issuer_given_and_signed_with_its_key(envtest, admin):
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "runner"}}
    assert (await asked(admin, "POST", f"{HERE}/serviceaccounts", account))[0] == 201
    code, answer = await asked(admin, "POST", f"{HERE}/serviceaccounts/runner/token", {})
    assert code == 201
    token = answer["status"]["token"]
    claims = json.loads(base64.urlsafe_b64decode(token.split(".")[1] + "=="))
    assert (claims["iss"], claims["aud"]) == (f"{envtest.url}/", [f"{envtest.url}/"])
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview"}
    path = "/apis/authentication.k8s.io/v1/tokenreviews"
    code, review = await asked(admin, "POST", path, {**body, "spec": {"token": token}})
    assert review["status"]["user"]["username"] == "system:serviceaccount:default:runner"
    code, found = await asked(admin, "GET", "/.well-known/openid-configuration")
    assert found["issuer"] == f"{envtest.url}/"


@pytest.mark.asyncio(loop_scope="module")
async def test_addresses_of_services_are_from_the_range_given(admin):
    code, own = await asked(admin, "GET", f"{HERE}/services/kubernetes")
    assert (code, own["spec"]["clusterIP"]) == (200, "10.0.0.1")
    taken = set()
    for number in range(20):
        service = {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": f"s{number}"},
            "spec": {"ports": [{"port": 80}]},
        }
        code, made = await asked(admin, "POST", f"{HERE}/services", service)
        assert code == 201
        taken.add(made["spec"]["clusterIP"])
    assert len(taken) == 20
    assert all(address.startswith("10.0.0.") for address in taken)


@pytest.mark.asyncio(loop_scope="module")
async def test_there_are_no_controllers(admin):
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "doomed"}}
    path = "/api/v1/namespaces/doomed"
    assert (await asked(admin, "POST", "/api/v1/namespaces", namespace))[0] == 201
    assert (await asked(admin, "DELETE", path))[0] == 200
    code, found = await asked(admin, "GET", path)
    assert (code, found["status"]["phase"]) == (200, "Terminating")
    found["spec"]["finalizers"] = []
    assert (await asked(admin, "PUT", f"{path}/finalize", found))[0] == 200
    assert (await asked(admin, "GET", path))[0] == 404


@pytest.mark.asyncio(loop_scope="module")
async def test_a_webhook_whose_authority_is_its_serving_certificate_is_called(admin):
    heard = []

    async def answer(request):
        review = await request.json()
        heard.append(review["request"]["name"])
        allowed = {"uid": review["request"]["uid"], "allowed": True}
        return web.json_response({**review, "response": allowed})

    async with serving(answer) as url:
        hook = {
            "name": "ear.example.com",
            "clientConfig": {"url": url, "caBundle": LEAF},
            "rules": [
                {
                    "apiGroups": [""],
                    "apiVersions": ["v1"],
                    "resources": ["secrets"],
                    "operations": ["CREATE"],
                }
            ],
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        }
        head = {"apiVersion": "admissionregistration.k8s.io/v1", "metadata": {"name": "ear"}}
        body = {**head, "kind": "ValidatingWebhookConfiguration", "webhooks": [hook]}
        path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
        assert (await asked(admin, "POST", path, body))[0] == 201
        secret = {**CONFIG_MAP, "kind": "Secret"}
        assert (await asked(admin, "POST", f"{HERE}/secrets", secret))[0] == 201
    assert heard == ["a"]


@pytest.mark.asyncio(loop_scope="module")
async def test_subresources_that_operators_post_to_are_there(admin):
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "a", "image": "b"}]},
    }
    assert (await asked(admin, "POST", f"{HERE}/pods", pod))[0] == 201
    target = {"target": {"kind": "Node", "name": "n"}, "metadata": {"name": "p"}}
    binding = {"apiVersion": "v1", "kind": "Binding", **target}
    assert (await asked(admin, "POST", f"{HERE}/pods/p/binding", binding))[0] == 201
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}}
    assert (await asked(admin, "POST", f"{HERE}/pods/p/eviction", eviction))[0] == 201
    path = "/apis/certificates.k8s.io/v1/certificatesigningrequests/none/approval"
    code, refused = await asked(admin, "GET", path)
    assert (code, refused["details"]["name"]) == (404, "none")


@pytest.mark.asyncio(loop_scope="module")
async def test_a_replica_set_gets_no_labels_from_its_template(admin):
    labels = {"app": "a"}
    containers = [{"name": "a", "image": "b"}]
    replica_set = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": "r"},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": containers}},
        },
    }
    path = "/apis/apps/v1/namespaces/default/replicasets"
    code, made = await asked(admin, "POST", path, replica_set)
    assert code == 201
    assert "labels" not in made["metadata"]


@pytest.mark.asyncio(loop_scope="module")
async def test_a_dry_run_create_may_have_a_resource_version(admin):
    body = {**CONFIG_MAP, "metadata": {"name": "dry", "resourceVersion": "3"}}
    assert (await asked(admin, "POST", f"{HERE}/configmaps?dryRun=All", body))[0] == 201
    assert (await asked(admin, "GET", f"{HERE}/configmaps/dry"))[0] == 404


@pytest.mark.skipif(sys.platform != "linux", reason="CPU time of others is read from /proc")
async def test_the_assets_start_about_as_fast_as_inkube_serve(assets, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPYCACHEPREFIX", str(tmp_path / "bytecode"))  # as installed
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "")
    envtest = Envtest(assets, tmp_path)
    shims, servers = [], []
    try:
        await envtest.start_etcd()
        for number in range(4):  # the first starts compile modules
            await envtest.start_api()
            shims.append(await cpu_at_rest(envtest.processes["kube-apiserver"]))
            await envtest.end("kube-apiserver")
            for file in envtest.data.iterdir():
                file.unlink()
            port = free_port()
            arguments = ["--port", port, "--data", tmp_path / f"{number}.db", "--no-fsync"]
            config = ["--kubeconfig", tmp_path / "config"]
            script = envtest.assets.parent / "serve"
            if not script.exists():
                script.write_text(f'#!/bin/sh\nexec {sys.executable} -m inkube serve "$@"\n')
                script.chmod(0o755)
            await envtest.begin("../serve", *arguments, *config)
            await envtest.until_ok("../serve", f"http://127.0.0.1:{port}/readyz", 0.1)
            servers.append(await cpu_at_rest(envtest.processes["../serve"]))
            await envtest.end("../serve")
    finally:
        await envtest.kill()
    # 1.15 to 1.25 on an idle machine; beside other programs, which share its caches, up to 1.4
    assert sum(shims[1:]) <= 1.6 * sum(servers[1:])


async def cpu_at_rest(process):
    """Return the seconds of processor time of an idle process, read when it no longer increases."""
    used = cpu_seconds(process)
    while True:
        await asyncio.sleep(0.2)
        before, used = used, cpu_seconds(process)
        if used == before:
            return used


RBAC = "/apis/rbac.authorization.k8s.io/v1"
IMPERSONATOR = {
    "clusterroles": {
        "metadata": {"name": "impersonator"},
        "rules": [
            {"verbs": ["impersonate:user-info"], "apiGroups": ["authentication.k8s.io"],
             "resources": ["users"]},
            {"verbs": ["impersonate-on:user-info:list", "list"], "apiGroups": [""],
             "resources": ["configmaps"]},
        ],
    },
    "clusterrolebindings": {
        "metadata": {"name": "impersonator"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole",
                    "name": "impersonator"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group",
                      "name": "system:authenticated"}],
    },
}  # fmt: skip
"""Any user may list ConfigMaps as any other, by constrained impersonation."""


async def impersonated(envtest):
    """Return the code for a user who acts as another user."""
    async with (
        envtest.user("agent", "") as agent,
        agent.get(f"{HERE}/configmaps", headers={"Impersonate-User": "jane"}) as answer,
    ):
        return answer.status


async def test_envtest_starts_restarts_and_stops_them(assets, tmp_path):
    envtest = Envtest(assets, tmp_path)
    try:
        await envtest.start_etcd()
        await envtest.start_api()
        async with envtest.user() as admin:
            assert (await asked(admin, "POST", f"{HERE}/configmaps", CONFIG_MAP))[0] == 201
            for plural, obj in IMPERSONATOR.items():
                assert (await asked(admin, "POST", f"{RBAC}/{plural}", obj))[0] == 201
        assert await impersonated(envtest) == 200
        assert await envtest.end("kube-apiserver") == 0
        gates = "AllAlpha=true,ConstrainedImpersonation=false"
        await envtest.start_api(**{"feature-gates": gates})
        assert await impersonated(envtest) == 403
        assert "NOT SUPPORTED here, without effect: --feature-gates=AllAlpha=true" in envtest.log(
            "kube-apiserver"
        )
        async with envtest.user("other") as admin:
            assert (await asked(admin, "GET", f"{HERE}/configmaps/a"))[0] == 200
        assert await envtest.end("kube-apiserver") == 0
        assert await envtest.end("etcd") == 0
    finally:
        await envtest.kill()
    assert "Traceback" not in envtest.log("kube-apiserver") + envtest.log("etcd")
    assert not list(tmp_path.rglob("*kubeconfig*"))


async def test_jenvtest_starts_restarts_and_stops_them(assets, tmp_path):
    jenvtest = Jenvtest(assets, tmp_path)
    try:
        await jenvtest.start_etcd()
        assert await jenvtest.start_api() == "ok"
        code, text = await jenvtest.kubectl("get", "ns", "default")
        assert code == 0, text
        code, text = await jenvtest.kubectl("create", "configmap", "a")
        assert code == 0, text
        assert await jenvtest.end("kube-apiserver", signal.SIGKILL) == -signal.SIGKILL
        await jenvtest.start_api()
        code, text = await jenvtest.kubectl("get", "configmap", "a", "-o", "name")
        assert (code, text) == (0, "configmap/a\n")
        assert await jenvtest.end("kube-apiserver", signal.SIGKILL) == -signal.SIGKILL
        assert await jenvtest.end("etcd") == 0
    finally:
        await jenvtest.kill()


async def test_a_missing_certificate_is_made_in_its_folder(assets, tmp_path, monkeypatch):
    envtest = Envtest(assets, tmp_path)
    try:
        await envtest.start_etcd()
        envtest.write_certificates()
        for name in ("apiserver.crt", "apiserver.key"):
            (envtest.certificates / name).unlink()
        monkeypatch.setattr(envtest, "write_certificates", lambda: None)
        await envtest.start_api()
        made = (envtest.certificates / "apiserver.crt").read_bytes()
        assert (envtest.certificates / "apiserver.key").stat().st_mode & 0o077 == 0
        envtest.authority.certificate = made
        async with envtest.user() as admin:
            assert (await asked(admin, "GET", HERE))[0] == 200
    finally:
        await envtest.kill()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((), "Error: --etcd-servers must be specified\n"),
        (("serve",), 'Error: "kube-apiserver" does not take any arguments, got ["serve"]\n'),
        (
            ("--profiling=perhaps",),
            'flag: strconv.ParseBool: parsing "perhaps": invalid syntax\n',
        ),
        (("--secure-port",), "Error: flag needs an argument: --secure-port\n"),
        (
            ("--etcd-servers", "http://127.0.0.1:1", "--authorization-mode=Anything"),
            'authorization-mode "Anything" is not a valid mode\n',
        ),
        (
            ("--etcd-servers", "http://127.0.0.1:1", "--disable-admission-plugins=Anything"),
            'disable-admission-plugins plugin "Anything" is unknown\n',
        ),
    ],
    ids=["no etcd", "an argument", "no truth", "no value", "mode", "plugin"],
)
async def test_unsupported_flags_of_the_assets_are_one_line_and_an_exit_code(
    assets, tmp_path, arguments, told
):
    code, text = await Envtest(assets, tmp_path).run("kube-apiserver", *arguments)
    assert code == 1
    assert text.endswith(told)


async def test_a_server_that_is_no_etcd_of_the_assets_is_refused(assets, tmp_path):
    async def answer(request):
        return web.Response(status=404)

    runner = web.ServerRunner(web.Server(answer))
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        envtest = Envtest(assets, tmp_path)
        code, text = await envtest.run("kube-apiserver", "--etcd-servers", url)
    finally:
        await runner.cleanup()
    assert code == 1
    assert "is no etcd of `inkube envtest-assets`" in text


async def test_the_replacement_of_etcd_serves_nothing_but_version_and_health(assets, tmp_path):
    envtest = Envtest(assets, tmp_path)
    try:
        await envtest.start_etcd()
        async with aiohttp.ClientSession(envtest.etcd) as http:
            async with http.get("/version") as answer:
                assert (await answer.json())["etcdserver"].startswith("3.6.")
            async with http.get("/v3/kv/range") as answer:
                assert answer.status == 404
            async with http.post("/health") as answer:
                assert answer.status == 405
            async with http.get("/health", headers={"X": "x" * 20_000}) as answer:
                assert answer.status == 431
            with contextlib.suppress(aiohttp.ClientError):
                async with http.get("/health", headers={"X": "x" * 200_000}) as answer:
                    assert answer.status == 431
    finally:
        await envtest.kill()


def test_a_folder_with_real_binaries_is_not_changed(tmp_path):
    (tmp_path / "etcd").write_bytes(b"\x7fELF")
    done = written(tmp_path)
    assert done.returncode == 1
    assert "was not written by inkube" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["etcd"]


def test_bytecode_is_kept_where_python_may_not_write_it_beside_its_sources(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", HOME)
    assert written(tmp_path / "bin").returncode == 0
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    command = [str(tmp_path / "bin" / "kube-apiserver"), "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.startswith("Kubernetes v1.")
    assert any((tmp_path / "bin" / ".compiled").rglob("kubeapi.*.pyc"))
