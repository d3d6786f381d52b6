"""Admission plugins that are off by default, and the file that configures plugins.

The answers are those of kube-apiserver 1.36.2 to the same requests.
"""

import asyncio
import json
import textwrap

import pytest
from steppedclocks import SteppedClock

from inkube import APIServer, StatusError
from inkube.apiserver.admission import names
from inkube.apiserver.client import InProcessClient
from inkube.apiserver.registry import ADMIN, LatePlugin, User

NAMESPACES = "v1/namespaces"
NODE = User("system:node:a", groups=("system:nodes", "system:authenticated"))


def started(*plugins, **options):
    return APIServer(enable_admission_plugins=plugins, controllers=False, modules="none", **options)


def pod(name="p", namespace="default", **spec):
    spec = {"containers": [{"name": "c", "image": "x:1"}], **spec}
    meta = {"name": name, "namespace": namespace, **spec.pop("metadata", {})}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}


def config_map(name="m", namespace="default", **meta):
    meta = {"name": name, "namespace": namespace, **meta}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta}


async def annotate(server, name, **notes):
    notes = {f"scheduler.alpha.kubernetes.io/{key}": value for key, value in notes.items()}
    patch = {"metadata": {"annotations": notes}}
    await server.client.patch(NAMESPACES, name, patch=patch)


async def refused(call, code=403):
    with pytest.raises(StatusError) as error:
        await call
    assert error.value.code == code
    return error.value.message


WITHOUT_EFFECT = {
    "AlwaysAdmit": "it admits everything, as in kube-apiserver",
    "ClusterTrustBundleAttest": "ClusterTrustBundles are not served",
    "JobValidation": "its feature gate is off",
    "PodGroupProtection": "PodGroups are not served",
    "PodGroupWorkloadExists": "PodGroups are not served",
}
"""Plugins that change nothing, and why. Upstream's do not either with these groups and gates."""


@pytest.mark.parametrize("name", sorted(names.KNOWN - names.UNSUPPORTED.keys()))
async def test_an_enabled_plugin_acts_or_is_known_to_have_no_effect(name, tmp_path):
    async with started(name, admission_control_config_file=configured(tmp_path, RATES)) as server:
        chain = server.parts.core.registry.chain
        acting = {plugin.name for plugin in chain.plugins}
        for plugin in (one for one in chain.plugins if isinstance(one, LatePlugin)):
            assert plugin.plugin().name == plugin.name
    assert (name in acting) is (name not in WITHOUT_EFFECT)


async def test_an_unsupported_plugin_or_configuration_ends_the_start():
    with pytest.raises(ValueError, match='plugin "ImagePolicyWebhook": no config specified'):
        async with started("ImagePolicyWebhook"):
            pass
    with pytest.raises(ValueError, match='plugin "EventRateLimit": limits'):
        async with started("EventRateLimit"):
            pass


async def test_always_pull_images():
    async with started("AlwaysPullImages") as server:
        made = await server.client.create(
            pod(
                initContainers=[{"name": "i", "image": "y", "imagePullPolicy": "Never"}],
                volumes=[{"name": "v", "image": {"reference": "z", "pullPolicy": "Never"}}],
            )
        )
        spec = made["spec"]
        assert spec["containers"][0]["imagePullPolicy"] == "Always"
        assert spec["initContainers"][0]["imagePullPolicy"] == "Always"
        assert spec["volumes"][0]["image"]["pullPolicy"] == "Always"


async def test_namespaces_are_provided():
    async with started("NamespaceAutoProvision") as server:
        dry = server.client.create(config_map(namespace="nope"), dry_run=True)
        assert await refused(dry, 404) == 'namespaces "nope" not found'
        made = await asyncio.gather(
            *(server.client.create(config_map(f"m{n}", "nope")) for n in range(3))
        )
        assert {each["metadata"]["namespace"] for each in made} == {"nope"}
        assert (await server.client.get(NAMESPACES, "nope"))["status"]["phase"] == "Active"


async def test_namespaces_exist_without_the_lifecycle():
    off = {"disable_admission_plugins": ["NamespaceLifecycle"]}
    async with started(**off) as server:
        await server.client.create(config_map(namespace="nope"))
    async with started("NamespaceExists", **off) as server:
        refusal = await refused(server.client.create(config_map(namespace="nope")), 404)
        assert refusal == 'namespaces "nope" not found'


async def test_node_selectors_of_namespaces(tmp_path):
    file = configured(
        tmp_path,
        """
        - name: PodNodeSelector
          configuration:
            podNodeSelectorPluginConfig:
              clusterDefaultNodeSelector: env=y
              narrow: env=y
        """,
    )
    async with started("PodNodeSelector", admission_control_config_file=file) as server:
        for name in ("own", "narrow"):
            await server.client.create(
                {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
            )
        await annotate(server, "own", **{"node-selector": "env=x"})
        made = await server.client.create(pod(namespace="own", nodeSelector={"a": "b"}))
        assert made["spec"]["nodeSelector"] == {"env": "x", "a": "b"}
        assert (await server.client.create(pod()))["spec"]["nodeSelector"] == {"env": "y"}
        assert "conflicts with its namespace node label selector" in await refused(
            server.client.create(pod("q", "own", nodeSelector={"env": "z"}))
        )
        assert "conflict with its namespace whitelist" in await refused(
            server.client.create(pod("q", "narrow", nodeSelector={"a": "b"}))
        )


async def test_tolerations_of_namespaces():
    async with started("PodTolerationRestriction") as server:
        await annotate(server, "default", defaultTolerations='[{"key":"k","operator":"Exists"}]')
        found = (await server.client.create(pod()))["spec"]["tolerations"]
        assert [each["key"].rpartition("/")[2] for each in found] == [
            "not-ready",
            "unreachable",
            "k",
        ]
        await annotate(server, "default", tolerationsWhitelist='[{"operator":"Exists","key":"k"}]')
        assert await refused(server.client.create(pod("q")), 500) == (
            "pod tolerations (possibly merged with namespace default tolerations) conflict with "
            "its namespace whitelist"
        )
        await annotate(server, "default", tolerationsWhitelist="no list")
        assert "tolerationsWhitelist" in await refused(server.client.create(pod("q")), 500)


async def test_tolerations_for_extended_resources():
    async with started("ExtendedResourceToleration") as server:
        container = {"name": "c", "image": "x", "resources": {"limits": {"a.b/c": "1", "cpu": "1"}}}
        found = (await server.client.create(pod(containers=[container])))["spec"]["tolerations"]
        assert found[-1] == {"key": "a.b/c", "operator": "Exists", "effect": "NoSchedule"}
        assert len(found) == 3


async def test_topologies_of_required_anti_affinity():
    async with started("LimitPodHardAntiAffinityTopology") as server:

        def affine(key):
            term = {"topologyKey": key, "labelSelector": {"matchLabels": {"a": "b"}}}
            return pod(
                affinity={
                    "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
                }
            )

        assert await refused(server.client.create(affine("zone"))) == (
            'pods "p" is forbidden: affinity.PodAntiAffinity.RequiredDuringScheduling has '
            "TopologyKey zone but only key kubernetes.io/hostname is allowed"
        )
        await server.client.create(affine("kubernetes.io/hostname"))


async def test_external_addresses_of_services():
    async with started("DenyServiceExternalIPs") as server:
        service = {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "x", "namespace": "default"},
            "spec": {"ports": [{"port": 80}]},
        }
        made = await server.client.create(service)
        made["spec"]["externalIPs"] = ["1.2.3.4"]
        text = 'services "x" is forbidden: Use of external IPs is denied by admission control'
        assert await refused(server.client.update(made)) == text


async def test_owners_need_rights(tmp_path):
    (tmp_path / "tokens").write_text("alice,alice,1\n")
    async with started(
        "OwnerReferencesPermissionEnforcement",
        authorization_mode="RBAC",
        token_auth_file=tmp_path / "tokens",
    ) as server:
        rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create", "delete"]}]
        await server.client.create(role("Role", rules=rules))
        reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"}
        subject = {"kind": "User", "name": "alice", "apiGroup": reference["apiGroup"]}
        await server.client.create(role("RoleBinding", roleRef=reference, subjects=[subject]))
        client = acting(server, User("alice", groups=("system:authenticated",)))
        owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "1"}
        await client.create(config_map("free", ownerReferences=[owner]))
        blocking = [{**owner, "blockOwnerDeletion": True}]
        assert await refused(client.create(config_map("o", ownerReferences=blocking))) == (
            'configmaps "o" is forbidden: cannot set blockOwnerDeletion if an ownerReference '
            "refers to a resource you can't set finalizers on: , <nil>"
        )
        stranger = acting(server, User("bob", groups=("system:authenticated",)))
        assert "cannot set an ownerRef on a resource you can't delete" in await refused(
            stranger.create(config_map("o", ownerReferences=[owner]))
        )


def role(kind, **members):
    meta = {"name": "r", "namespace": "default"}
    return {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": meta, **members}


class Acting(InProcessClient):
    """A client whose requests pass admission as those of another user."""

    def __init__(self, server, user):
        core = server.parts.core
        super().__init__(core.registry, core.resources)
        self._user = user

    def _request(self, *args, **options):
        return super()._request(*args, **options)._replace(user=self._user)


acting = Acting
RATES = """
- name: EventRateLimit
  configuration:
    apiVersion: eventratelimit.admission.k8s.io/v1alpha1
    kind: Configuration
    limits:
    - {type: Server, qps: 1, burst: 1}
"""


def configured(folder, plugins):
    head = "apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\nplugins:\n"
    (folder / "admission.yaml").write_text(head + textwrap.dedent(plugins).lstrip("\n"))
    return folder / "admission.yaml"


def event(name):
    involved = {"kind": "Pod", "namespace": "default", "name": "p"}
    return {
        "apiVersion": "v1", "kind": "Event", "metadata": {"name": name, "namespace": "default"},
        "involvedObject": involved,
    }  # fmt: skip


@pytest.mark.parametrize("step", [-7200, 0, 7200])
async def test_rates_of_events(tmp_path, step):
    clock = SteppedClock()
    file = configured(tmp_path, RATES)
    async with started("EventRateLimit", admission_control_config_file=file, clock=clock) as server:
        await server.client.create(event("a"))
        clock.step(step)
        assert await refused(server.client.create(event("b")), 429) == (
            "Too many requests: limit reached on type Server for key "
        )
        clock.advance(1)
        await server.client.create(event("b"))


async def test_defaults_and_exemptions_of_pod_security(tmp_path):
    file = configured(
        tmp_path,
        """
        - name: PodSecurity
          configuration:
            apiVersion: pod-security.admission.config.k8s.io/v1
            kind: PodSecurityConfiguration
            defaults: {enforce: restricted, enforce-version: latest}
            exemptions: {namespaces: [kube-system]}
        """,
    )
    async with started(admission_control_config_file=file) as server:
        assert 'violates PodSecurity "restricted:latest"' in await refused(
            server.client.create(pod())
        )
        await server.client.create(pod(namespace="kube-system"))
        patch = {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "privileged"}}}
        await server.client.patch(NAMESPACES, "default", patch=patch)
        await server.client.create(pod())


async def test_decisions_of_pod_security_are_counted_and_audited(tmp_path, web_of):
    prefix, log = "pod-security.kubernetes.io/", tmp_path / "audit"
    file = configured(
        tmp_path,
        """
        - name: PodSecurity
          configuration:
            apiVersion: pod-security.admission.config.k8s.io/v1
            kind: PodSecurityConfiguration
            exemptions: {namespaces: [kube-public], runtimeClasses: [sandbox]}
        """,
    )
    options = {"admission_control_config_file": file, "audit_log": log}
    async with started(**options) as server, web_of(server) as web:

        async def created(made, place="api/v1/namespaces/{namespace}/pods"):
            await web.ask("POST", "/" + place.format_map(made["metadata"]), made)
            notes = json.loads(log.read_text().splitlines()[-1])["annotations"]
            return {
                key.removeprefix(prefix): text
                for key, text in notes.items()
                if key.startswith(prefix)
            }

        assert await created(pod("a")) == {"enforce-policy": "privileged:latest"}
        assert await created(pod("b", "kube-public")) == {"exempt": "namespace"}
        for name, labels in (
            ("audited", {"audit": "baseline", "audit-version": "v1.30"}),
            (
                "enforced",
                {"enforce": "baseline", "enforce-version": "v1.99", "audit": "restricted"},
            ),
        ):
            labels = {f"{prefix}{key}": value for key, value in labels.items()}
            meta = {"name": name, "labels": labels}
            await web.ask("POST", "/api/v1/namespaces", {"metadata": meta})
        violation = "host namespaces (hostNetwork=true)"
        would = f'would violate PodSecurity "baseline:v1.30": {violation}'
        assert await created(pod("c", "audited", hostNetwork=True)) == {
            "enforce-policy": "privileged:latest",
            "audit-violations": would,
        }
        template = {"metadata": {"labels": {"a": "b"}}, "spec": pod(hostNetwork=True)["spec"]}
        spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
        meta = {"name": "d", "namespace": "audited"}
        made = await created(
            {"metadata": meta, "spec": spec}, "apis/apps/v1/namespaces/{namespace}/deployments"
        )
        assert made == {"audit-violations": would}
        denied = await created(pod("e", "enforced", hostNetwork=True))
        assert denied["enforce-policy"] == "baseline:v1.99"
        assert denied["audit-violations"].startswith('would violate PodSecurity "restricted:')
        sandbox = {"metadata": {"name": "sandbox"}, "handler": "h"}
        await web.ask("POST", "/apis/node.k8s.io/v1/runtimeclasses", sandbox)
        assert await created(pod("f", "enforced", runtimeClassName="sandbox")) == {
            "exempt": "runtimeClass"
        }
        numbers = server.parts.core.samples.numbers
        counted = {key[1:]: numbers[key] for key in numbers if key[0].startswith("pod_security_")}
    assert counted == {
        ("allow", "privileged", "latest", "enforce", "create", "pod", ""): 2,
        ("deny", "baseline", "v1.30", "audit", "create", "pod", ""): 1,
        ("deny", "baseline", "v1.30", "audit", "create", "controller", ""): 1,
        ("deny", "baseline", "future", "enforce", "create", "pod", ""): 1,
        ("deny", "restricted", "latest", "audit", "create", "pod", ""): 1,
        ("create", "pod", ""): 2,
    }


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "- {name: PodSecurity, configuration: {kind: Other}}",
            "expected PodSecurityConfiguration",
        ),
        ("- {name: Priority, configuration: {}}", '"Priority" cannot be configured'),
        (RATES.replace("burst: 1", "burst: 0"), "limits\\[0\\].burst: Invalid value: 0"),
    ],
    ids=["kind", "unsupported", "limit"],
)
async def test_a_configuration_that_cannot_be_followed_ends_the_start(tmp_path, text, told):
    with pytest.raises(ValueError, match=told):
        async with started(admission_control_config_file=configured(tmp_path, text)):
            pass
    missing = started(admission_control_config_file=tmp_path / "none")
    with pytest.raises(ValueError, match="unable to read admission control configuration"):
        async with missing:
            pass


async def test_seconds_of_default_tolerations():
    async with started(
        default_not_ready_toleration_seconds=10, default_unreachable_toleration_seconds=20
    ) as server:
        found = (await server.client.create(pod()))["spec"]["tolerations"]
        assert [each["tolerationSeconds"] for each in found] == [10, 20]


async def test_nodes_change_only_what_is_their_own():
    async with started("NodeRestriction") as server:
        for name in ("a", "b"):
            await server.client.create(
                {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}
            )
        await server.client.create(pod("mine", nodeName="a"))
        await server.client.create(pod("theirs", nodeName="b"))
        node = acting(server, NODE)
        await node.patch("v1/nodes", "a", patch={"metadata": {"labels": {"kubernetes.io/os": "l"}}})
        restricted = {"metadata": {"labels": {"node-restriction.kubernetes.io/x": "1"}}}
        assert await refused(node.patch("v1/nodes", "a", patch=restricted)) == (
            'nodes "a" is forbidden: is not allowed to modify labels: '
            "node-restriction.kubernetes.io/x"
        )
        assert await refused(node.patch("v1/nodes", "b", patch={"metadata": {}})) == (
            'nodes "b" is forbidden: node "a" is not allowed to modify node "b"'
        )
        assert "can only delete pods with spec.nodeName set to itself" in await refused(
            node.delete("v1/pods", "theirs", "default")
        )
        await node.delete("v1/pods", "mine", "default")
        assert "can only create mirror pods" in await refused(node.create(pod("new", nodeName="a")))
        await acting(server, ADMIN).patch("v1/nodes", "b", patch=restricted)
        source = {"spec": {"configSource": {"configMap": {}}}}
        assert await refused(node.patch("v1/nodes", "a", patch=source)) == (
            'nodes "a" is forbidden: node "a" is not allowed to update configSource to a new '
            "non-nil configSource"
        )
        await server.client.create(pod("status", nodeName="a"))
        claim = {"resourceClaimName": "c", "requestMappings": []}
        changed = {"status": {"extendedResourceClaimStatus": claim}}
        assert "cannot update extended resource claim status" in await refused(
            node.patch("v1/pods", "status", "default", patch=changed, subresource="status")
        )


async def test_mirror_pods_name_no_objects_of_the_api():
    def volume(**source):
        return {"volumes": [{"name": "v", **source}]}

    cases = {
        "serviceaccounts": {"serviceAccountName": "default"},
        "secrets": {"imagePullSecrets": [{"name": "s"}]},
        "configmaps": volume(configMap={"name": "c"}),
        "resourceclaims": {"resourceClaims": [{"name": "c", "resourceClaimName": "d"}]},
        "csidrivers (via CSI volumes)": volume(csi={"driver": "d.x.io"}),
        "persistentvolumeclaims": volume(persistentVolumeClaim={"claimName": "c"}),
        "serviceaccounts (via projected volumes)": volume(
            projected={"sources": [{"serviceAccountToken": {"path": "t"}}]}
        ),
    }
    async with started("NodeRestriction") as server:
        made = await server.client.create(
            {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}}
        )
        owner = {"apiVersion": "v1", "kind": "Node", "name": "a", "uid": made["metadata"]["uid"]}

        def mirror(**spec):
            body = pod("m", nodeName="a", **spec)
            body["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "x"}
            body["metadata"]["ownerReferences"] = [{**owner, "controller": True}]
            return body

        node = acting(server, NODE)
        for named, spec in cases.items():
            assert await refused(node.create(mirror(**spec))) == (
                f'pods "m" is forbidden: node "a" can not create pods that reference {named}'
            )
        await node.create(mirror(**volume(hostPath={"path": "/"})))
