"""An OpenID issuer that runs in the process of a test."""

import contextlib
import json
import ssl
import time
from collections.abc import AsyncIterator
from typing import Any

import jwt
import trustme
from aiohttp import web
from cryptography.hazmat.primitives.asymmetric import ec

BY_CLAIM = {"username": {"claim": "sub", "prefix": "corp:"}}


class Issuer:
    """An OpenID issuer with one key at a time, which counts how often its keys are fetched."""

    def __init__(self) -> None:
        self.fetched = 0
        self.is_broken = False
        """Whether requests for its keys fail."""
        self.key_set = b""
        """The set of keys that was fetched last."""
        self.url = self.authority = ""
        self.answers: dict[str, tuple[str, str]] = {}
        """The texts at further paths, with the token that a client must show."""
        self.rotate("first")

    def rotate(self, key_id: str) -> None:
        self.key, self.key_id = ec.generate_private_key(ec.SECP256R1()), key_id

    def token(self, **claims: Any) -> str:
        made = {
            "iss": self.url, "aud": ["kubernetes"], "sub": "7", "exp": time.time() + 600, **claims,
        }  # fmt: skip
        return jwt.encode(made, self.key, "ES256", headers={"kid": self.key_id})

    async def configuration(self, _request: web.Request) -> web.Response:
        return web.json_response({"issuer": self.url, "jwks_uri": f"{self.url}/keys"})

    async def answer(self, request: web.Request) -> web.Response:
        token, text = self.answers[request.path]
        if request.headers.get("Authorization", "").removeprefix("Bearer ") != token:
            return web.Response(status=403)
        return web.Response(text=text)

    async def keys(self, _request: web.Request) -> web.Response:
        if self.is_broken:
            return web.Response(status=500)
        self.fetched += 1
        key = jwt.algorithms.ECAlgorithm.to_jwk(self.key.public_key(), as_dict=True)
        keys = [{"kty": "oct"}, {**key, "kid": self.key_id}]
        self.key_set = json.dumps({"keys": keys}).encode()
        return web.Response(body=self.key_set, content_type="application/json")


@contextlib.asynccontextmanager
async def running() -> AsyncIterator[Issuer]:
    """A running issuer, with the authority of its certificate."""
    made, authority = Issuer(), trustme.CA()
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    app = web.Application()
    app.router.add_get("/.well-known/openid-configuration", made.configuration)
    app.router.add_get("/keys", made.keys)
    app.router.add_get("/{path}", made.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
    made.url = f"https://127.0.0.1:{runner.addresses[0][1]}"
    made.authority = authority.cert_pem.bytes().decode()
    yield made
    await runner.cleanup()


def configuration(issuer: Issuer, **members: Any) -> dict[str, Any]:
    """Return the configuration of a server that accepts tokens of an issuer."""
    described = {
        "url": issuer.url,
        "audiences": ["kubernetes", "other"],
        "audienceMatchPolicy": "MatchAny",
        "certificateAuthority": issuer.authority,
    }
    return {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "AuthenticationConfiguration",
        "jwt": [{"issuer": described, "claimMappings": BY_CLAIM, **members}],
    }
