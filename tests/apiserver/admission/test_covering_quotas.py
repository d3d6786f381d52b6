"""Resources that need a quota, by the configuration of ResourceQuota.

Follows TestQuotaLimitedResourceDenial and TestQuotaLimitService of Kubernetes, and CheckRequest of
its plugin ResourceQuota.
"""

import pytest

from inkube import APIServer, StatusError

CONFIGURATION = """
apiVersion: apiserver.config.k8s.io/v1
kind: AdmissionConfiguration
plugins:
- name: ResourceQuota
  configuration:
    apiVersion: apiserver.config.k8s.io/v1
    kind: ResourceQuotaConfiguration
    limitedResources:
    - resource: pods
      matchContains: [pods]
      matchScopes:
      - {scopeName: PriorityClass, operator: In, values: [high]}
    - resource: services
      matchContains: [services.nodeports]
"""


def configured(tmp_path, text=CONFIGURATION):
    path = tmp_path / "admission.yaml"
    path.write_text(text)
    return path


def made(kind, name, spec):
    meta = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": kind, "metadata": meta, "spec": spec}


def pod(name="p", **spec):
    return made("Pod", name, {"containers": [{"name": "c", "image": "i"}], **spec})


async def test_a_limited_resource_needs_a_quota(tmp_path):
    async with APIServer(admission_control_config_file=configured(tmp_path)) as server:
        client = server.client
        with pytest.raises(StatusError, match="insufficient quota to consume: count/pods,pods"):
            await client.create(pod())
        hard = {"pods": "10"}
        await client.create(made("ResourceQuota", "some", {"hard": hard}))
        await server.settled()
        with pytest.raises(StatusError, match=r"insufficient quota to consume: count/pods$"):
            await client.create(pod())
        hard = {"count/pods": "10"}
        await client.create(made("ResourceQuota", "others", {"hard": hard}))
        await server.settled()
        await client.create(pod())
        await client.create(made("Service", "inside", {"ports": [{"port": 80}]}))
        outside = {"type": "NodePort", "ports": [{"port": 80}]}
        with pytest.raises(StatusError, match=r"quota to consume: services\.nodeports"):
            await client.create(made("Service", "outside", outside))


async def test_a_limited_scope_needs_a_quota_with_that_scope(tmp_path):
    async with APIServer(admission_control_config_file=configured(tmp_path)) as server:
        client = server.client
        meta = {"name": "high"}
        group = "scheduling.k8s.io/v1"
        await client.create(
            {"apiVersion": group, "kind": "PriorityClass", "metadata": meta, "value": 5}
        )
        hard = {"pods": "9", "count/pods": "9"}
        await client.create(made("ResourceQuota", "all", {"hard": hard}))
        await server.settled()
        await client.create(pod("low"))
        with pytest.raises(StatusError) as error:
            await client.create(pod("first", priorityClassName="high"))
        why = "insufficient quota to match these scopes: [{PriorityClass In [high]}]"
        assert (error.value.code, error.value.message) == (500, why)
        scope = {"scopeName": "PriorityClass", "operator": "Exists"}
        spec = {"hard": hard, "scopeSelector": {"matchExpressions": [scope]}}
        await client.create(made("ResourceQuota", "high", spec))
        await server.settled()
        await client.create(pod("second", priorityClassName="high"))


async def test_a_limit_without_a_resource_ends_the_start(tmp_path):
    text = CONFIGURATION.replace("resource: services", "apiGroup: apps")
    why = r'"ResourceQuota": limitedResources\[1\].resource: Required value'
    with pytest.raises(ValueError, match=why):
        await APIServer(admission_control_config_file=configured(tmp_path, text)).__aenter__()
