"""Tokens of a GitHub App: signed with its private key, checked with the public key alone."""

import base64
import json

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from inkube.controllers.provisioning.outside.clients import appkeys
from inkube.controllers.provisioning.outside.hosts import KeyRefused


def private(key):
    pem, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    return key.private_bytes(pem, form, serialization.NoEncryption()).decode()


def public(key):
    pem, form = serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    return key.public_key().public_bytes(pem, form).decode()


KEY = rsa.generate_private_key(65537, 2048)
CURVE = ec.generate_private_key(ec.SECP256R1())
TOKEN = appkeys.sign("7", private(KEY), 1000.5)


def test_a_token_names_the_app_and_lives_less_than_ten_minutes():
    head, claims, _ = TOKEN.split(".")
    assert json.loads(base64.urlsafe_b64decode(head + "==")) == {"alg": "RS256", "typ": "JWT"}
    told = json.loads(base64.urlsafe_b64decode(claims + "=="))
    assert told == {"iss": "7", "iat": 940, "exp": 1540}


def test_the_public_key_accepts_the_token():
    assert appkeys.is_signed_by(TOKEN, public(KEY))


@pytest.mark.parametrize(
    "token", [TOKEN.rpartition(".")[0] + ".", "a.b.c", "", TOKEN[:-6] + "AAAA"]
)
def test_a_token_of_another_key_is_rejected(token):
    assert not appkeys.is_signed_by(token, public(KEY))


@pytest.mark.parametrize("pem", [private(KEY), public(CURVE), "nonsense", ""])
def test_an_invalid_public_key_rejects_every_token(pem):
    assert not appkeys.is_signed_by(TOKEN, pem)


@pytest.mark.parametrize("pem", [private(CURVE), public(KEY), "nonsense"])
def test_an_invalid_private_key_is_an_error(pem):
    with pytest.raises(KeyRefused):
        appkeys.sign("7", pem, 1000)
