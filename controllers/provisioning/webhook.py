"""`repositories/NAME/webhook`: receives GitHub's events of a repository.

Requests are authenticated only by their signature with the secret of the webhook; a login is not
required. See GitHub's "Webhook events and payloads" and "Validating webhook deliveries".
"""

import hashlib
import hmac
import json
from http import HTTPStatus
from typing import Any

from inkube.client import Object, ignoring
from inkube.controllers.provisioning import hooks, places
from inkube.controllers.provisioning.jobs import sync
from inkube.controllers.provisioning.outside import urls
from inkube.controllers.provisioning.types import GROUP, Repository
from inkube.kinds import (
    Environment,
    Key,
    Question,
    Reason,
    Reply,
    Run,
    StatusError,
    Subresource,
    status,
)

_OPENING = ("opened", "reopened", "synchronize")


async def _serve(question: Question, env: Environment) -> Reply:
    key = Key(question.namespace, question.name)
    obj = await sync.stored(env, Repository, key)
    if obj is None:
        raise status.not_found(GROUP, Repository.gvr.resource, question.name)
    run = Run(obj, env, model=Repository)
    try:
        secret = await hooks.secret_of(run.object, run)
    finally:
        await run.memo.close()
    if run.object.status.webhook is None or secret is None:
        raise status.bad_request("webhooks are not enabled")
    _verify(question, secret)
    event = question.headers.get("X-GitHub-Event", "")
    if event == "ping":
        return _reply(question, HTTPStatus.OK, {"added": "ping received"})
    payload = _payload(question)
    await _note(obj, env)
    if event == "push":
        return await _on_push(question, run.object, payload, env)
    if event == "pull_request":
        return await _on_pull_request(question, run.object, payload, env)
    raise StatusError(
        HTTPStatus.NOT_IMPLEMENTED, Reason.NOT_IMPLEMENTED, f"unsupported webhook event: {event}"
    )


webhook = Subresource("webhook", _serve, kind="WebhookResponse", verbs=("create",), is_open=True)


def _verify(question: Question, secret: str) -> None:
    expected = hmac.new(secret.encode(), question.body, hashlib.sha256).hexdigest()
    given = question.headers.get("X-Hub-Signature-256", "")
    if not hmac.compare_digest(f"sha256={expected}".encode(), given.encode()):
        raise StatusError(HTTPStatus.UNAUTHORIZED, Reason.UNAUTHORIZED, "invalid signature")


def _payload(question: Question) -> dict[str, Any]:
    try:
        found = json.loads(question.body)
    except ValueError as error:
        raise status.bad_request("invalid payload: not JSON") from error
    if not isinstance(found, dict):
        raise status.bad_request("invalid payload: not an object")
    return found


async def _on_push(
    question: Question, repository: Repository, payload: dict[str, Any], env: Environment
) -> Reply:
    _same_repository(repository, payload)
    branch, options = places.configured_branch(repository), repository.spec.sync
    if payload.get("ref") != f"refs/heads/{branch}" or options is None or not options.enabled:
        return _reply(question, HTTPStatus.OK, {})
    spec = {"action": "pull", "repository": question.name, "pull": {"incremental": True}}
    await _create_job(sync.job_name(question.name, "sync"), question, spec, env)
    return _reply(question, HTTPStatus.ACCEPTED, {"job": spec})


async def _on_pull_request(
    question: Question, repository: Repository, payload: dict[str, Any], env: Environment
) -> Reply:
    _same_repository(repository, payload)
    proposed = _map(payload.get("pull_request"))
    base = _map(proposed.get("base")).get("ref")
    is_elsewhere = base is not None and base != places.configured_branch(repository)
    if payload.get("action") not in _OPENING or is_elsewhere:
        return _reply(question, HTTPStatus.OK, {})
    head, number = _map(proposed.get("head")), proposed.get("number", payload.get("number"))
    if not isinstance(number, int) or isinstance(number, bool):
        raise status.bad_request("invalid payload: the pull request has no number")
    about = {
        "ref": str(head.get("ref") or ""),
        "pr": number,
        "hash": str(head.get("sha") or ""),
        "url": str(proposed.get("html_url") or ""),
    }
    spec = {"action": "pr", "repository": question.name, "pr": about}
    await _create_job(sync.job_name(question.name, f"pr-{number}"), question, spec, env)
    return _reply(question, HTTPStatus.ACCEPTED, {"job": spec})


def _same_repository(repository: Repository, payload: dict[str, Any]) -> None:
    """Reject events of other repositories, because several repositories can share a secret. Raises
    StatusError 400."""
    name = _map(payload.get("repository")).get("full_name")
    remote = repository.spec.remote
    if name is None or remote is None:
        return
    if str(name).lower() != urls.path_of(urls.normalised(remote.url)).lower():
        raise status.bad_request("repository mismatch")


async def _create_job(name: str, question: Question, spec: Object, env: Environment) -> None:
    with ignoring(Reason.ALREADY_EXISTS):  # the waiting job includes this change
        await env.client.create(sync.job(name, question.namespace, spec))


async def _note(obj: Object, env: Environment) -> None:
    metadata = obj["metadata"]
    change = {"metadata": {"uid": metadata["uid"]}, "status": {"webhook": {}}}
    change["status"]["webhook"]["lastEvent"] = sync.now(env)
    await env.client.patch(
        Repository.gvr, metadata["name"], metadata["namespace"], patch=change, subresource="status"
    )


def _reply(question: Question, code: int, members: Object) -> Reply:
    head = {"kind": "WebhookResponse", "apiVersion": question.api_version, "code": int(code)}
    return Reply({**head, **members}, code=int(code))


def _map(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
