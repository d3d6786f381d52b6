"""HTTPS servers that webhooks are sent to."""

import base64
from contextlib import asynccontextmanager

from aiohttp import web

from inkube.apiserver.auth import certificates, tls

_CERTIFICATE = certificates.make()
BUNDLE = base64.b64encode(_CERTIFICATE.authority).decode()
"""The caBundle of a configuration that trusts them."""
LEAF = base64.b64encode(_CERTIFICATE.chain).decode()
"""As envtest writes it: the very certificate that is served, and nothing of who signed it."""


@asynccontextmanager
async def serving(handler, certificate=_CERTIFICATE):
    """The URL at which a handler of aiohttp requests answers."""
    runner = web.ServerRunner(web.Server(handler))
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls.context(certificate))
    await site.start()
    yield f"https://127.0.0.1:{runner.addresses[0][1]}"
    await runner.cleanup()
