"""The admission plugin ServiceAccount: it requires a pod's account to exist, and mounts its
token."""

import asyncio

import pytest
from patience import SECONDS

from inkube import APIServer
from inkube.apiserver import cli
from inkube.apiserver.admission import accounts
from inkube.apiserver.configuration import Options
from inkube.schemas.status import StatusError

PODS, ACCOUNTS = "v1/pods", "v1/serviceaccounts"
PATH = "/var/run/secrets/kubernetes.io/serviceaccount"


@pytest.fixture
async def server():
    async with APIServer(enable_admission_plugins=["ServiceAccount"]) as made:
        yield made


def account(name="builder", **members):
    meta = {"name": name, "namespace": "default", **members.pop("metadata", {})}
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta, **members}


def pod(name="p", **spec):
    spec = {"containers": [{"name": "main", "image": "x"}], **spec}
    meta = {"name": name, "namespace": "default", **spec.pop("metadata", {})}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}


async def refused(server, obj):
    with pytest.raises(StatusError) as error:
        await server.client.create(obj)
    assert error.value.code == 403
    return error.value.message


async def test_an_account_that_is_not_there_is_refused(server):
    assert await refused(server, pod(serviceAccountName="none")) == (
        'pods "p" is forbidden: error looking up service account default/none: serviceaccount '
        '"none" not found'
    )


async def test_a_pod_that_names_none_gets_default_and_its_token(server):
    spec = (await server.client.create(pod(initContainers=[{"name": "i", "image": "x"}])))["spec"]
    assert (spec["serviceAccountName"], spec["serviceAccount"]) == ("default", "default")
    [volume] = spec["volumes"]
    assert volume["name"].startswith("kube-api-access-")
    mount = {"name": volume["name"], "readOnly": True, "mountPath": PATH}
    assert spec["containers"][0]["volumeMounts"] == [mount]
    assert spec["initContainers"][0]["volumeMounts"] == [mount]
    assert volume["projected"] == {
        "sources": [
            {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
            {
                "configMap": {
                    "name": "kube-root-ca.crt",
                    "items": [{"key": "ca.crt", "path": "ca.crt"}],
                }
            },
            {
                "downwardAPI": {
                    "items": [
                        {
                            "path": "namespace",
                            "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"},
                        }
                    ]
                }
            },
        ],
        "defaultMode": 420,
    }


@pytest.mark.parametrize(
    ("of_account", "of_pod", "mounts"),
    [(None, None, True), (False, None, False), (False, True, True), (True, False, False)],
)
async def test_the_pod_decides_whether_a_token_is_mounted_before_the_account(
    server, of_account, of_pod, mounts
):
    await server.client.create(account(automountServiceAccountToken=of_account))
    made = pod(serviceAccountName="builder", automountServiceAccountToken=of_pod)
    spec = (await server.client.create(made))["spec"]
    assert ("volumes" in spec) is mounts


async def test_a_mount_for_the_token_that_the_pod_has_stays(server):
    own = {"name": "tokens", "mountPath": PATH}
    containers = [{"name": "main", "image": "x", "volumeMounts": [own]}]
    volumes = [{"name": "tokens", "emptyDir": {}}]
    spec = (await server.client.create(pod(containers=containers, volumes=volumes)))["spec"]
    assert [volume["name"] for volume in spec["volumes"]] == ["tokens"]
    assert spec["containers"][0]["volumeMounts"] == [own]


async def test_pull_secrets_are_the_account_s_unless_the_pod_has_its_own(server):
    await server.client.create(account(imagePullSecrets=[{"name": "registry"}]))
    made = await server.client.create(pod(serviceAccountName="builder"))
    assert made["spec"]["imagePullSecrets"] == [{"name": "registry"}]
    other = pod("q", serviceAccountName="builder", imagePullSecrets=[{"name": "own"}])
    made = await server.client.create(other)
    assert made["spec"]["imagePullSecrets"] == [{"name": "own"}]


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        (
            {"volumes": [{"name": "v", "secret": {"secretName": "s"}}]},
            (
                'volume with secret.secretName="s" is not allowed because service account builder '
                "does not reference that secret"
            ),
        ),
        (
            {
                "containers": [
                    {
                        "name": "main",
                        "image": "x",
                        "envFrom": [{"secretRef": {"name": "s"}}],
                    }
                ]
            },
            (
                'container main with envFrom referencing secret.secretName="s" is not allowed '
                "because service account builder does not reference that secret"
            ),
        ),
        (
            {
                "initContainers": [
                    {
                        "name": "i",
                        "image": "x",
                        "env": [
                            {
                                "name": "E",
                                "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}},
                            }
                        ],
                    }
                ]
            },
            (
                'init container i with envVar E referencing secret.secretName="s" is not allowed '
                "because service account builder does not reference that secret"
            ),
        ),
        (
            {"imagePullSecrets": [{"name": "s"}]},
            (
                'imagePullSecrets[0].name="s" is not allowed because service account builder does '
                "not reference that imagePullSecret"
            ),
        ),
    ],
)
async def test_an_account_may_limit_the_secrets_of_its_pods(server, spec, why):
    notes = {"annotations": {"kubernetes.io/enforce-mountable-secrets": "true"}}
    await server.client.create(account(metadata=notes))
    made = pod(serviceAccountName="builder", **spec)
    assert await refused(server, made) == f'pods "p" is forbidden: {why}'


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({"serviceAccountName": "default"}, "may not reference service accounts"),
        ({"volumes": [{"name": "v", "secret": {"secretName": "s"}}]}, "may not reference secrets"),
        ({"imagePullSecrets": [{"name": "s"}]}, "may not reference secrets"),
    ],
)
async def test_a_mirror_pod_is_left_as_it_is(server, spec, why):
    notes = {"annotations": {"kubernetes.io/config.mirror": "x"}}
    made = await server.client.create(pod("ok", metadata=notes, nodeName="n"))
    assert "serviceAccountName" not in made["spec"]
    assert why in await refused(server, pod(metadata=notes, nodeName="n", **spec))


async def test_pods_of_a_new_namespace_need_not_wait_for_its_account(server):
    for number in range(5):
        name = f"n{number}"
        space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        await server.client.create(space)
        made = pod()
        made["metadata"]["namespace"] = name
        assert (await server.client.create(made))["spec"]["serviceAccountName"] == "default"


@pytest.mark.parametrize("is_made", [True, False], ids=["in time", "never"])
async def test_a_pod_waits_for_the_account_default_and_for_no_other(monkeypatch, is_made):
    assert 0.9 <= accounts.PATIENCE <= 9 * 0.2, "nine pauses of 100 to 199 ms, as upstream"
    monkeypatch.setattr(accounts, "PATIENCE", SECONDS if is_made else 0.0)
    async with APIServer(enable_admission_plugins=["ServiceAccount"], controllers=False) as server:
        assert "not found" in await refused(server, pod(serviceAccountName="none"))
        if is_made:
            waiting = asyncio.create_task(server.client.create(pod()))
            await server.client.create(account("default"))
            assert (await waiting)["spec"]["serviceAccountName"] == "default"
        else:
            assert 'serviceaccount "default" not found' in await refused(server, pod())


async def test_pods_need_no_account_if_the_plugin_is_off_or_disabled():
    async with APIServer() as server:
        made = await server.client.create(pod(serviceAccountName="none"))
        assert "volumes" not in made["spec"]
    async with APIServer(
        enable_admission_plugins=["ServiceAccount"], disable_admission_plugins=["ServiceAccount"]
    ) as server:
        await server.client.create(pod(serviceAccountName="none"))


@pytest.mark.parametrize(
    ("flags", "asked"),
    [
        ([], False),
        (["--workloads"], True),
        (["--enable-admission-plugins", "Priority,ServiceAccount"], True),
        (["--workloads", "--disable-admission-plugins", "ServiceAccount"], False),
    ],
)
def test_the_command_line_requires_accounts_with_workloads_or_the_plugin(flags, asked):
    given = cli.serve.make_context("serve", ["--in-memory", *flags]).params
    others = ("kubeconfig", "workers", "verbose", "quiet", "log_format", "reload", "source")
    options = Options(**cli._values({k: v for k, v in given.items() if k not in others}))
    assert options.requires_accounts is asked


@pytest.mark.parametrize(
    "options",
    [Options(enable_admission_plugins=["Odd"]), Options(disable_admission_plugins=["Odd"])],
)
async def test_names_that_no_plugin_has_are_refused(options):
    with pytest.raises(ValueError, match='admission-control plugin "Odd" is unknown'):
        async with APIServer(options):
            pass
