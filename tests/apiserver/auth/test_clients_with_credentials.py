"""Client libraries authenticate with the kubeconfig that a server with users writes."""

import asyncio
from pathlib import Path

import kubernetes
import pytest

from inkube.apiserver.access import kubeconfig
from inkube.apiserver.server import APIServer, Options

_CONFIG_MAP = kubernetes.client.V1ConfigMap(metadata=kubernetes.client.V1ObjectMeta(name="a"))


def ask(config: Path) -> tuple[str, int]:
    """Return the user name and the status code of a create, as the official Python client sees
    them."""
    with kubernetes.config.new_client_from_config(str(config)) as api:
        review = kubernetes.client.AuthenticationV1Api(api).create_self_subject_review(
            kubernetes.client.V1SelfSubjectReview()
        )
        core = kubernetes.client.CoreV1Api(api)
        made = core.create_namespaced_config_map("default", _CONFIG_MAP)
        assert made.metadata.uid
        return str(review.status.user_info.username), len(core.list_namespace().items)


@pytest.mark.parametrize("tls", [True, False], ids=["tls", "plain"])
async def test_the_official_client_uses_the_kubeconfig(
    token_file: Path, tmp_path: Path, tls: bool
) -> None:
    options = Options(token_auth_file=token_file, authorization_mode="RBAC", tls=tls)
    async with APIServer(options) as server:
        config = tmp_path / "kubeconfig"
        kubeconfig.write(config, server.kubeconfig())
        assert config.stat().st_mode & 0o077 == 0
        name, namespaces = await asyncio.to_thread(ask, config)
    assert name == "system:admin"
    assert namespaces >= 4
