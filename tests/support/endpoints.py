"""HTTPS servers as endpoints of webhooks."""

import base64
from contextlib import asynccontextmanager

from aiohttp import web

from inkube.apiserver.auth import certificates, tls

_CERTIFICATE = certificates.make_server()
BUNDLE = base64.b64encode(_CERTIFICATE.authority).decode()
"""The caBundle of a configuration that trusts these servers."""
LEAF = base64.b64encode(_CERTIFICATE.chain).decode()
"""The bundle as envtest writes it: the server's certificate itself, without its issuer."""


@asynccontextmanager
async def serving(handler, certificate=_CERTIFICATE, **settings):
    """The URL at which a handler of aiohttp requests is served."""
    runner = web.ServerRunner(web.Server(handler, **settings))
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls.context(certificate))
    await site.start()
    yield f"https://127.0.0.1:{runner.addresses[0][1]}"
    await runner.cleanup()


def configuration(client_config, kind="Validating", operations=("*",), **changes):
    """The configuration of a webhook for ConfigMaps; `changes` are other members of the webhook."""
    rule = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "resources": ["configmaps"],
        "operations": [*operations],
    }
    webhook = {
        "name": "ear.example.com",
        "clientConfig": client_config,
        "rules": [rule],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        **changes,
    }
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": f"{kind}WebhookConfiguration",
        "metadata": {"name": f"{kind.lower()}.example.com"},
        "webhooks": [webhook],
    }
